"""Lattices decoded once (Wisniewski & Yvon 2013): table 1 and figures 1, 3 and 4.

    python experiments/lattice_svm.py lattice-svm --run --write     # quality and time
    python experiments/lattice_svm.py lattice-svm-curves --run --write     # with figures

Multi30k fr-en and Bible zh-en. The curves follow plain and averaged descent over 4,200 updates:
the structured loss (figure 1), BLEU in the lattices and on the test set, with MERT's as a line
(figure 3), BLEU and the linear score that is learned from (figure 4), of one seed; they keep the
lattices, about 300 MB a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from harness import COLUMNS, RESULTS, Corpus, Finished, Runner, Scores, Setting, Sizes, Study, main
from harness.calls import translate

from hopefear.analysis.plot import Series, line_plot
from hopefear.base.threads import in_order
from hopefear.base.weights import Weights
from hopefear.forest import ForestFile, viterbi
from hopefear.learn.online.lattice_svm import LatticeSvm, objective
from hopefear.learn.online.margin import LinearLoss
from hopefear.metrics import create

CORPORA = ("fr-en", "zh-en")
MERT = Setting("MERT", "mert")
NAME = "lattice-svm"
TABLE = Study(
    NAME,
    "lattice-svm and MERT (Wisniewski & Yvon 2013, table 1)",
    [
        MERT,
        Setting("batch MIRA", "batch-mira"),
        Setting("averaged, n-grams up to 4", NAME),
        Setting("averaged, words only", NAME, ("order=1",)),
        Setting("plain descent", NAME, ("average=false",)),
    ],
    corpora=CORPORA,
    sizes=Sizes(dev=400),
    iterations=10,
    columns=("iterations", "decodings", "CPU s decoding", "CPU s learning"),
    text="Dev BLEU of the last three rows is that of the lattices, not of a new search.",
    page=NAME,
)
STEP = 100  # updates between two points of a curve
CURVE = (f"every={STEP}",)
KEPT = ("--keep-pool", "--patience", "0", "--tolerance", "0")
CURVES = Study(
    "lattice-svm-curves",
    "Learning curves (Wisniewski & Yvon 2013, figures 1, 3 and 4)",
    [
        Setting("averaged", NAME, CURVE, KEPT),
        Setting("plain", NAME, (*CURVE, "average=false"), KEPT),
    ],
    corpora=CORPORA,
    sizes=Sizes(dev=400),
    iterations=40,
    seeds=1,
    columns=("decodings",),
    text="".join(
        f"\n\n![{name}, {corpus}](lattice-svm-{name}-{corpus}.svg)"
        for name in ("loss", "bleu", "linear")
        for corpus in CORPORA
    ),
    page=NAME,
)


def decodings(runs: Sequence[Finished]) -> str:
    """Returns the mean number of decodings of the dev set; others decode in every iteration."""
    counts = [run.report.get("decodings", run.report["iterations"] + 1) for run in runs]
    return f"{np.mean(counts):.1f}"


def cpu(phase: str, runs: Sequence[Finished]) -> str:
    """Returns the mean CPU seconds of a phase."""
    key = f"{phase}_cpu_seconds"
    return f"{np.mean([sum(r.get(key, 0.0) for r in run.records()) for run in runs]):.1f}"


COLUMNS["decodings"] = decodings
COLUMNS["CPU s decoding"] = partial(cpu, "decode")
COLUMNS["CPU s learning"] = partial(cpu, "optimise")


class Curve:
    """Curves of a run's iterations: scores of its lattices, and of the decoded test set."""

    def __init__(self, runner: Runner, corpus: Corpus, setting: Setting, run: Finished) -> None:
        self.runner, self.corpus, self.setting, self.run = runner, corpus, setting, run
        self.count = len(run.records())
        self.forests = ForestFile(run.path / "checkpoint" / "pool" / "01.forests")
        columns = [path.read_text("utf-8").splitlines() for path in runner.part(corpus, "dev")[1:]]
        self.references = [list(row) for row in zip(*columns, strict=True)]

    def updates(self, iteration: int) -> float:
        """Returns the number of updates before an iteration."""
        return float(LatticeSvm().first + STEP * (iteration - 1))

    def weights(self, iteration: int) -> Weights:
        """Returns the weights after an iteration."""
        return Weights.load(self.run.path / "iterations" / f"{iteration:02d}.tsv")

    def losses(self) -> list[tuple[float, float]]:
        """Returns the objective (eq. 5) over all lattices."""
        tuner, loss = LatticeSvm(), LinearLoss(self.references, LatticeSvm().order)
        made = (
            loss.lattice(forest, number, self.weights(1), density=tuner.density)
            for number, forest in enumerate(self.forests)
        )
        lattices = [lattice for lattice in made if lattice is not None]
        return [
            (self.updates(i), objective(lattices, self.weights(i), tuner.l2))
            for i in range(1, self.count)
        ]

    def linear(self) -> list[tuple[float, float]]:
        """Returns the linear score of the best translations, 100 per reference word at most."""
        metric = create("linear-ngram", {"clip": False})
        prepared = metric.prepare(self.references)

        def value(iteration: int) -> float:
            weights = self.weights(iteration)
            best = in_order(lambda forest: viterbi(forest, weights), self.forests)
            texts = ["" if derivation is None else derivation.text for derivation in best]
            return 100 * float(metric.corpus_score(prepared.statistics(texts)))

        return [(self.updates(i), value(i)) for i in range(1, self.count)]

    def lattice_bleu(self) -> list[tuple[float, float]]:
        """Returns BLEU on the lattices by the number of updates."""
        records = self.run.records()
        return [(self.updates(i), records[i]["bleu"]) for i in range(1, self.count)]

    def test_bleu(self) -> list[tuple[float, float]]:
        """Returns BLEU on the test set by the number of updates; translates on demand."""
        source, *references = self.runner.part(self.corpus, "test")
        score = Scores(self.corpus, references)
        found = []
        for i in range(1, self.count, max(1, self.count // 10)):
            output = self.run.path / f"test-{i:02d}.txt"
            if not output.exists():
                model = self.runner.model(self.corpus, "phrase", self.setting.train)
                weights = self.run.path / "iterations" / f"{i:02d}.tsv"
                self.runner.call(translate, output, self.corpus, model, weights, source)
            lines = output.read_text("utf-8").splitlines()
            run = Finished(output, self.run.report, lines)
            found.append((self.updates(i), score.shown("bleu", run)))
        return found


def mert_line(runner: Runner, corpus: Corpus, curve: Curve) -> dict[str, list[tuple[float, float]]]:
    """Returns a line at MERT's mean test BLEU, if the table has runs with the same sizes."""
    study = replace(runner.study, iterations=TABLE.iterations)
    runs = replace(runner, study=study).finished(corpus, "phrase", MERT)
    if not runs:
        return {}
    score = Scores(corpus, runner.part(corpus, "test")[1:])
    value = float(np.mean([score.shown("bleu", run) for run in runs]))
    return {"MERT, test": [(curve.updates(i), value) for i in (1, curve.count - 1)]}


def figures(runner: Runner, write: bool) -> None:
    """Write the figures beside the page."""
    if not write:
        return
    for corpus, system in runner.tasks():
        loss: dict[str, list[tuple[float, float]]] = {}
        bleu: dict[str, list[tuple[float, float]]] = {}
        linear: dict[str, list[tuple[float, float]]] = {}
        for setting in runner.study.settings:
            finished = runner.finished(corpus, system, setting)
            if not finished:
                continue
            curve = Curve(runner, corpus, setting, finished[0])
            loss[setting.label] = curve.losses()
            bleu[f"{setting.label}, lattices"] = curve.lattice_bleu()
            bleu[f"{setting.label}, test"] = curve.test_bleu()
            bleu |= mert_line(runner, corpus, curve)
            if setting is runner.study.settings[0]:
                linear = {"BLEU": curve.lattice_bleu(), "linear score": curve.linear()}
        if loss:
            draw(corpus, "loss", "structured loss", loss)
            draw(corpus, "bleu", "BLEU", bleu)
            draw(corpus, "linear", "BLEU, linear score", linear)


def draw(corpus: Corpus, name: str, unit: str, series: Series) -> None:
    """Writes a plot of BLEU or a loss by the number of updates to the pages of results."""
    ys = [y for points in series.values() for _, y in points]
    path = RESULTS / f"lattice-svm-{name}-{corpus.name}.svg"
    limits = (float(np.floor(min(ys))), float(np.ceil(max(ys))))
    plot = line_plot({corpus.title: series}, "updates", unit, log_x=False, y_range=limits)
    path.write_text(plot, encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main([TABLE, replace(CURVES, after=figures)], __doc__)
