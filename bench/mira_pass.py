"""What a pass of MIRA over the training text costs, with all features, from Bible zh-en.

A model with word clusters and folds, beam 100 and pop limit 500, one thread; CPU seconds of the
pass for the 27,698 pairs of the whole text, from a part of them. `every edge` has the features of
every edge of a forest, as a pass had until search kept their score alone. Budget: 0.75 of that.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from support import models
from support.figures import Figure, main
from support.machine import OUT

import hopefear
from hopefear.learn.online.mira import Mira

PAIRS = 27_698
TEMPLATES = ["rule-id", "word-edges", "rule-bigrams", "rule-history"]
MOST = 0.75


def seconds(model: Path, examples: int, kbest: int) -> float:
    """CPU seconds of a pass over the whole text."""
    text, references = models.bible_dev(10)  # hardly anything: not what is measured
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        record = models.tune(
            model, dev=text, refs=list(zip(*references, strict=True)), tuner="mira",
            tuner_options={"C": 0.001}, output=Path(folder) / "run", tokenized=True, folds=True,
            max_examples=examples, kbest=kbest, iterations=1, threads=1, templates=TEMPLATES,
            fix=hopefear.Model.load(model).decoder(templates={}).dense,
        )  # fmt: skip
    return float(record["optimise_cpu_seconds"]) * PAIRS / examples


def run(quick: bool) -> list[Figure]:
    model = models.bible(pairs=models.QUICK if quick else None, clusters=100, folds=3)
    examples = 150 if quick else 1000
    collapsed = {kbest: seconds(model, examples, kbest) for kbest in (500, 100)}
    takes = Mira.takes_collapsed
    Mira.takes_collapsed = property(lambda self: False)  # type: ignore[assignment]
    try:
        every = seconds(model, examples, 500)
    finally:
        Mira.takes_collapsed = takes  # type: ignore[method-assign]
    return [
        Figure("pass of MIRA, 100-best lists", collapsed[100], "s"),
        Figure("pass of MIRA, 500-best lists", collapsed[500], "s"),
        Figure("the same, every edge", every, "s"),
        Figure("share of that, 100-best lists", collapsed[100] / every, "x", most=MOST),
    ]


if __name__ == "__main__":
    main(__doc__, run)
