"""Oracle translations of forests and of k-best lists: their BLEU and their cost.

Oracle BLEU of the whole forest (searched with n-gram matches carried along) against that of 100-,
500- and 50,000-best lists, each chosen by BLEU+1 of the sentence (table 3.2 of eidelman2013), and
CPU time per sentence of that and of hope and fear. Budget: tens of milliseconds for hope and fear
of a sentence of 25 words. Without --model it takes the phrase model, input and reference of the
golden data (--data), and a hierarchical model of their bitext.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
from harness import CORPORA, data_folders, markdown, parser, write_section
from harness.calls import Calls, train

from hopefear import forest as hf
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.model.directory import Model
from hopefear.model.importing import import_model
from hopefear.model.translate import TranslateOptions, Translator


def lines(path: Path, count: int) -> list[str]:
    """Returns the first lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()[:count]


SEARCHES = {
    "1-best": hf.Search(kbest=1),
    "100-best": hf.Search(kbest=100),
    "500-best": hf.Search(kbest=500),
    "50,000-best": hf.Search(kbest=50_000),
    "forest, beam 20": hf.Search(beam=20),
    "forest, beam 50": hf.Search(beam=50),
    "forest, beam 200": hf.Search(beam=200, candidates=100),
    "the same by length": hf.Search(beam=200, candidates=100, by_length=True),
}


def show(name: str, translator: Translator, sources: list[str], refs: list[list[str]]) -> str:
    """Print a table; returns it as Markdown."""
    metric, corpus = BleuPlusOne(), Bleu()
    prepared = metric.prepare(refs)
    weights = translator.weights
    forests = [
        translator.decoder.forest(translator.read(line).sentence, weights) for line in sources
    ]
    words = np.mean([len(line.split()) for line in sources])
    edges = np.mean([forest.edges for forest in forests])
    what = f"{name}: {len(sources)} sentences of {words:.1f} words, forests of {edges:,.0f} edges"
    print(f"{what}\n\n{'':20}{'oracle BLEU':>12}{'BLEU+1':>9}{'ms':>9}{'hope+fear ms':>14}")
    table = []
    for title, search in SEARCHES.items():
        rows, gains, start = [], [], time.process_time()
        for i, forest in enumerate(forests):
            objective = hf.Objective.of(metric, prepared, i)
            best = hf.oracle(forest, weights, objective, search=search)
            if best is not None:
                rows.append(best.statistics)
                gains.append(best.gain)
        middle = time.process_time()
        for i, forest in enumerate(forests):
            objective = hf.Objective.of(metric, prepared, i)
            hf.hope_fear(forest, weights, objective, scale=10.0, search=search)
        end = time.process_time()
        bleu = 100 * float(corpus.score(np.sum(rows, axis=0)))
        once, both = (1e3 * t / len(forests) for t in (middle - start, end - middle))
        gain = 100 * np.mean(gains)
        print(f"{title:20}{bleu:12.2f}{gain:9.2f}{once:9.1f}{both:14.1f}", flush=True)
        table.append([title, f"{bleu:.2f}", f"{gain:.2f}", f"{once:.1f}", f"{both:.1f}"])
    print()
    head = [name, "oracle BLEU", "BLEU+1", "ms", "hope and fear, ms"]
    return f"{what}.\n\n{markdown(head, table)}"


def phrase_model(data: Path, scratch: Path) -> Path:
    """Returns the tuned model of the golden data."""
    import_model(data / "golden" / "moses" / "decode" / "moses.ini", scratch / "phrase")
    return scratch / "phrase"


def hiero_model(data: Path, scratch: Path) -> Path:
    """Returns a model of the same bitext and alignment with default weights."""
    corpus = CORPORA["fr-en"]
    files = [*corpus.files["train"], str(corpus.align)]
    made = [scratch / Path(name).stem for name in files]
    for name, plain in zip(files, made, strict=True):
        with gzip.open(data / name, "rt", encoding="utf-8") as packed:
            plain.write_text("".join(islice(packed, 10_000)), encoding="utf-8")
    Calls().call(train, scratch / "hiero", corpus, made, "hiero")
    return scratch / "hiero"


MODELS = {"phrase": phrase_model, "hiero": hiero_model}


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    made.add_argument("--systems", nargs="+", choices=[*MODELS], default=[*MODELS])
    made.add_argument("--model", type=Path, help="a model directory instead of these systems")
    made.add_argument("--source", type=Path, help="tokenized sentences")
    made.add_argument("--refs", type=Path, nargs="+", help="tokenized references")
    made.add_argument("--sentences", type=int, default=30)
    args = made.parse_args()
    if args.model is not None and (args.source is None or args.refs is None):
        made.error("--model needs --source and --refs")
    if args.model is None:
        data_folders(args)
    golden = args.data / "golden" / "moses" / "decode"
    sources = lines(args.source or golden / "input.fr", args.sentences)
    texts = [lines(path, args.sentences) for path in args.refs or [golden / "reference.en"]]
    references = [list(group) for group in zip(*texts, strict=True)]
    tables = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in ["model"] if args.model is not None else args.systems:
            model = args.model or MODELS[name](args.data, Path(scratch))
            translator = Translator(Model.load(model), options=TranslateOptions(tokenized=True))
            tables.append(show(name, translator, sources, references))
    if args.write:
        text = (
            "## Oracle translations of forests and k-best lists\n\n`python experiments/oracle.py "
            f"--sentences {args.sentences} --write`\n\nMulti30k fr-en, one reference; a tuned "
            "phrase model and a hierarchical model of 10,000 pairs with default weights. Oracles "
            "are chosen by BLEU+1 of the sentence; times are CPU milliseconds per sentence.\n\n"
        )
        write_section("oracle", "oracle", text + "\n".join(tables))


if __name__ == "__main__":
    main()
