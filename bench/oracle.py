"""How good is the best translation in a forest, and in its k-best lists?  And what does it take?

Oracle BLEU of the whole forest (searched with n-gram matches carried along) against that of 100-,
500- and 50,000-best lists, each chosen by BLEU+1 of the sentence (table 3.2 of eidelman2013), and
CPU time per sentence of that and of hope and fear. Budget: tens of milliseconds for hope and fear
of a sentence of 25 words. Without --model it takes the phrase model, input and reference of the
golden data (../shared or HOPEFEAR_SHARED), and a hierarchical model of their bitext.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
from support.machine import REPOSITORY, SHARED
from support.results import markdown, write_section

from hopefear import forest as hf
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.model.directory import Model
from hopefear.model.translate import TranslateOptions, Translator


def lines(path: Path, count: int) -> list[str]:
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
    """Prints a table; the same as Markdown."""
    metric, corpus = BleuPlusOne(), Bleu()
    prepared = metric.prepare(refs)
    weights = translator.weights
    forests = [
        translator.decoder.decode(translator.read(line).sentence, weights) for line in sources
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
            found = hf.oracle(forest, weights, objective, search=search)
            if found is not None:
                rows.append(found.statistics)
                gains.append(found.gain)
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


def phrase_model(scratch: Path) -> Path:
    """The tuned model of the golden data."""
    ini = SHARED / "golden" / "moses" / "decode" / "moses.ini"
    command("import", ini, "--model", scratch / "phrase")
    return scratch / "phrase"


def hiero_model(scratch: Path) -> Path:
    """A model of the same bitext and its given alignment; it has default weights."""
    folder = SHARED / "golden" / "aligned" / "fr-en"
    for name in ("train.fr", "train.en", "train.gdfa"):
        with gzip.open(folder / f"{name}.gz", "rt", encoding="utf-8") as packed:
            (scratch / name).write_text("".join(islice(packed, 10_000)), encoding="utf-8")
    text = [scratch / "train.fr", scratch / "train.en", "--align", scratch / "train.gdfa"]
    command("train", *text, "--system", "hiero", "--tokenized", "--model", scratch / "hiero")
    return scratch / "hiero"


MODELS = {"phrase": phrase_model, "hiero": hiero_model}


def command(*words: str | Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hopefear", *map(str, words)], check=True, stdout=subprocess.DEVNULL
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--model", type=Path, help="a model directory instead of these systems")
    parser.add_argument("--source", type=Path, help="tokenized sentences")
    parser.add_argument("--refs", type=Path, nargs="+", help="tokenized references")
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="into docs/results.md")
    args = parser.parse_args()
    if args.model is not None and (args.source is None or args.refs is None):
        parser.error("--model needs --source and --refs")
    golden = SHARED / "golden" / "moses" / "decode"
    if args.model is None and not golden.exists():
        print(f"{golden} is not there; give --model, --source and --refs")
        return 0
    sources = lines(args.source or golden / "input.fr", args.sentences)
    texts = [lines(path, args.sentences) for path in args.refs or [golden / "reference.en"]]
    references = [list(group) for group in zip(*texts, strict=True)]
    tables = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in ["model"] if args.model is not None else args.systems:
            model = args.model or MODELS[name](Path(scratch))
            translator = Translator(Model.load(model), options=TranslateOptions(tokenized=True))
            tables.append(show(name, translator, sources, references))
    if args.write:
        text = (
            "## The best translation in a forest\n\nOracle BLEU of whole forests and of k-best "
            "lists, chosen by BLEU+1 of the sentence, and CPU milliseconds per sentence (`python "
            f"bench/oracle.py --sentences {args.sentences} --write`). Multi30k fr-en, one "
            "reference; a tuned phrase model, and a hierarchical one of 10,000 pairs with default "
            "weights.\n\n"
        )
        results = REPOSITORY / "docs" / "results.md"
        write_section(results, "oracle", text + "\n".join(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
