"""What millions of features cost: memory and seconds of learning, and of the files.

    python bench/scale.py --what stream    # 20 million features through the learning loop
    python bench/scale.py --what sets      # an iteration of maxforce by feature set, Bible zh-en

Stream: an online tuner with AdaGrad and averages whose steps are generated, half of their features
new, with names as long as those of `word-edges`; nothing is decoded, everything else is as in a
run: names, weights, sums, means, checkpoints, the files of each iteration and of the result.
Budget: 20 million features in under 8 GB.

Sets: learning from a part of the text that the model was trained on (once; it is kept in
bench/out), with each template and with all, one thread, one iteration. Budget: with all, 150,000
source words in under 10 minutes on two cores. The last row has the folds' tables in memory, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from support import models
from support.figures import Figure, main, markdown
from support.machine import OUT, best, measured, memory

from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.decode.contract import Decoded, Decoder, Request
from hopefear.forest import ForestBuilder
from hopefear.learn.loop.judge import TuningSet
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.runs import tune
from hopefear.learn.steps.rates import AdaGrad
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task, Update
from hopefear.metrics import create

TEMPLATES = ("rule-id", "word-edges", "rule-bigrams", "rule-history")
TEXT = "a b c d e f g h"
BATCHES = 500
ITERATIONS = 2
FEATURES = 20_000_000
BUDGET_GB, BUDGET_MINUTES, BUDGET_WORDS = 8, 10, 150_000


# -- a stream of steps --


class Silent(Decoder):
    """Gives a longer beginning of the translation for more features, so that BLEU rises."""

    def __init__(self, features: int) -> None:
        self.names = FeatureNames()
        self.features = features

    @property
    def dense(self) -> list[str]:
        return ["words"]

    def answer(self, request: Request) -> Decoded:
        builder = ForestBuilder(names=self.names)
        words = TEXT.split()[: 6 + round(2 * len(request.weights) / self.features)]
        builder.edge(builder.node(), (), words, features={"words": 1.0})
        return Decoded(builder.finish(0))


@dataclass(kw_only=True)
class Stream(OnlineTuner):
    """Steps of new features, and of as many that were there."""

    name: ClassVar[str] = "stream"
    size: int = 0  # new features of a step

    _rate: AdaGrad = field(init=False)

    def begin(self, share: Share) -> None:
        self._rate = AdaGrad(0.01, 1.0)
        self._known: list[Any] = []

    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        first = len(self._known) * self.size
        intern = examples[0].forest.names.intern
        # About as long as names of word-edges: 39 bytes.
        new = [
            intern(f"word-edges:lfa|{n % 9}|{n:08x}|{n % 1000:03d}|{n % 97:012b}")
            for n in range(first, first + self.size)
        ]
        self._known.append(np.array(new, np.uint64))
        old = self._known[int(task.random.integers(len(self._known)))]
        ids = np.unique(np.concatenate([self._known[-1], old]))
        values = task.random.choice(np.array([-1.0, 1.0]), len(ids))
        step = (self._rate.metric(ids, values) * values).astype(np.float32)
        return Update(SparseVector(ids, step), 1)

    def state(self) -> dict[str, Any]:
        return self._rate.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._rate.restore(state)


def stream(features: int) -> list[Figure]:
    OUT.mkdir(exist_ok=True)
    data = TuningSet(["x"] * BATCHES, [[TEXT]] * BATCHES)
    size = features // (BATCHES * ITERATIONS)
    decoder = Silent(features)
    loops: list[OnlineLoop] = []

    def make(place: Any, options: LoopOptions) -> OnlineLoop:
        loops.append(
            OnlineLoop(
                make_tuner=lambda: Stream(size=size),
                decoder=decoder,
                metric=create("bleu"),
                data=TuningSet(["x"], [[TEXT]]),
                training=data,
                start=Weights({"words": 1.0}),
                directory=place,
                options=options,
            )
        )
        return loops[-1]

    options = LoopOptions(iterations=ITERATIONS, patience=0, tolerance=0, average_last=0)
    with tempfile.TemporaryDirectory(prefix="stream.", dir=OUT) as folder:
        run = Path(folder) / "run"
        seconds = best(1, lambda: tune(make, run, {"tuner": {}}, options))
        peak = memory() / 2**30
        (loop,) = loops
        assert loop.mean is not None
        rate = loop.learners[0]
        assert isinstance(rate, Stream)
        count = len(loop.mean)
        tables = {
            "names": decoder.names,
            "weights": loop.current[0].table,
            "their means": loop.mean.table,
            "sums of AdaGrad": rate._rate._sums.table,
        }
        return [
            Figure(f"{count:,} features, peak", peak, "GB", most=BUDGET_GB * features / FEATURES),
            Figure("CPU of the run", seconds, "s"),
            *(Figure(name, held.bytes / count, "bytes each") for name, held in tables.items()),
            *files(run),
        ]


def load(path: Path) -> int:
    return len(Weights.load(path))


def files(run: Path) -> list[Figure]:
    """Size and loading of a run's files, each in a process of its own."""
    figures = []
    for path in (run / "weights.tsv", run / "iterations" / f"{ITERATIONS:02d}.bin"):
        if path.is_file():
            cost = measured(load, path)
            figures += [
                Figure(f"`{path.name}`", path.stat().st_size / 2**20, "MB"),
                Figure(f"`{path.name}`, to load", cost.cpu, "s"),
                Figure(f"`{path.name}`, peak", cost.peak_mb / 1024, "GB"),
            ]
    return figures


# -- feature sets --


def sets(examples: int, train: int) -> None:
    model = models.bible(pairs=train, clusters=200, folds=5)
    settings: list[tuple[str, Sequence[str], bool]] = [
        ("none", (), False),
        *((f"`{name}`", (name,), False) for name in TEMPLATES),
        ("all four", TEMPLATES, False),
        ("all four, `--folds`", TEMPLATES, True),
    ]
    rows = []
    for label, templates, folds in settings:
        record, cost = models.learned(
            model, train, "maxforce", templates=templates, folds=folds, examples=examples
        )
        words, seconds = record["example_words"], record["optimise_cpu_seconds"]
        rows.append(
            (
                label,
                f"{words:,}",
                f"{seconds:.2f}",
                f"{seconds * BUDGET_WORDS / words:.0f}",
                f"{record['active_features']:,}",
                f"{cost.peak_mb / 1024:.2f}",
            )
        )
    head = ("templates", "words", "CPU s", f"of {BUDGET_WORDS:,}", "features", "peak GB")
    print(
        f"An iteration of maxforce on {examples:,} pairs, the model of {train:,}; two cores "
        f"have {120 * BUDGET_MINUTES:,} CPU s in the budget.\n\n{markdown(head, rows)}"
    )


def run(quick: bool) -> list[Figure]:
    figures: list[Figure] = measured(stream, FEATURES // 20 if quick else FEATURES).result
    return figures[:2] if quick else figures


def full(
    *,
    what: tuple[str, ...] = ("stream", "sets"),
    features: int = FEATURES,
    examples: int = 400,
    train: int = 10_000,
) -> None:
    if "stream" in what:
        figures = measured(stream, features).result
        print(markdown(["stream of steps", "", ""], [figure.cells()[:3] for figure in figures]))
    if "sets" in what:
        sets(examples, train)


if __name__ == "__main__":
    main(__doc__, run, full)
