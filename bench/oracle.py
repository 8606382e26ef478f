"""How good is the best translation in a forest, and in its k-best lists?  And what does it take?

Oracle BLEU of the whole forest (searched with n-gram matches carried along) against that of 100-,
500- and 50,000-best lists, each chosen by BLEU+1 of the sentence (table 3.2 of eidelman2013), and
CPU time per sentence of that and of hope and fear. Budget: tens of milliseconds for hope and fear
of a sentence of 25 words. Without --model it takes the phrase table, input and reference of the
golden data (../shared or HOPEFEAR_SHARED).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hopefear import forest as hf
from hopefear.cli.main import main as run
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.model import Model
from hopefear.translate import TranslateOptions, Translator

SHARED = Path(os.environ.get("HOPEFEAR_SHARED", Path(__file__).parents[1] / ".." / "shared"))


def lines(path: Path, count: int) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[:count]


def show(translator: Translator, sources: list[str], references: list[list[str]]) -> None:
    metric, corpus = BleuPlusOne(), Bleu()
    prepared = metric.prepare(references)
    forests = [
        translator.decoder.decode(translator.read(line).sentence, translator.weights)
        for line in sources
    ]
    weights = translator.weights
    words = np.mean([len(line.split()) for line in sources])
    edges = np.mean([forest.edges for forest in forests])
    print(f"{len(sources)} sentences of {words:.1f} words, forests of {edges:,.0f} edges\n")
    searches: list[tuple[str, hf.Search]] = [
        ("1-best", hf.Search(kbest=1)),
        ("100-best", hf.Search(kbest=100)),
        ("500-best", hf.Search(kbest=500)),
        ("50,000-best", hf.Search(kbest=50_000)),
        ("forest, beam 20", hf.Search(beam=20)),
        ("forest, beam 50", hf.Search(beam=50)),
        ("forest, beam 200", hf.Search(beam=200, candidates=100)),
        ("the same by length", hf.Search(beam=200, candidates=100, by_length=True)),
    ]
    print(f"{'':20}{'oracle BLEU':>12}{'BLEU+1':>9}{'ms':>9}{'hope+fear ms':>14}")
    for name, search in searches:
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
        print(f"{name:20}{bleu:12.2f}{100 * np.mean(gains):9.2f}{once:9.1f}{both:14.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", type=Path, help="a model directory; else the golden phrase table"
    )
    parser.add_argument("--source", type=Path, help="tokenized sentences")
    parser.add_argument("--refs", type=Path, nargs="+", help="tokenized references")
    parser.add_argument("--sentences", type=int, default=30)
    args = parser.parse_args()
    golden = SHARED / "golden" / "moses" / "decode"
    if args.model is None and not golden.exists():
        print(f"{golden} is not there; give --model, --source and --refs")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        model = args.model or Path(scratch) / "model"
        if args.model is None and run(["import", str(golden / "moses.ini"), "--model", str(model)]):
            return 1
        sources = lines(args.source or golden / "input.fr", args.sentences)
        texts = [lines(path, args.sentences) for path in args.refs or [golden / "reference.en"]]
        options = TranslateOptions(tokenized=True)
        show(
            Translator(Model.load(model), options=options),
            sources,
            [list(group) for group in zip(*texts, strict=True)],
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
