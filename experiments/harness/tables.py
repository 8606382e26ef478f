"""Finished runs, their scores, and the tables of a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.corpora import Corpus
from harness.results import markdown
from hopefear.metrics import create
from hopefear.metrics.significance import approximate_randomization
from hopefear.metrics.tokenizing import tokenized

if TYPE_CHECKING:
    from harness.runner import Runner


@dataclass
class Finished:
    """A finished run."""

    path: Path  # the run directory
    report: dict[str, Any]  # of tuning
    output: list[str]  # translations of the test set, tokenised for scoring

    def records(self) -> list[dict[str, Any]]:
        """Returns the records of metrics.jsonl, one for each iteration."""
        lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def cpu_seconds(self) -> float:
        """Returns CPU seconds per iteration, of decoding and learning together."""
        keys = ("optimise_cpu_seconds", "decode_cpu_seconds")
        each = [sum(record.get(key, 0.0) for key in keys) for record in self.records()[1:]]
        return float(np.mean(each or [0.0]))

    def total_cpu_seconds(self) -> float:
        """Returns the CPU seconds of the whole run."""
        keys = ("optimise_cpu_seconds", "decode_cpu_seconds")
        return sum(record.get(key, 0.0) for record in self.records() for key in keys)


def _mean(form: Callable[[float], str], value: Callable[[Finished], float]) -> Column:
    return lambda runs: form(float(np.mean([value(run) for run in runs])))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _updated(runs: Sequence[Finished]) -> str:
    """Returns the percentage of pairs with an update, in the first and the last iteration."""
    ends = [[run.records()[at] for run in runs] for at in (1, -1)]
    if not all("examples" in record for records in ends for record in records):
        return "-"
    shares = [np.mean([100 * r["updates"] / r["examples"] for r in records]) for records in ends]
    return f"{shares[0]:.0f}, {shares[1]:.0f}"


def _pairs(runs: Sequence[Finished]) -> str:
    """Returns the number of pairs that forced decoding derived."""
    counts = [run.records()[-1].get("examples") for run in runs]
    return "-" if None in counts else f"{np.mean(counts):,.0f}"


Column = Callable[[Sequence[Finished]], str]
COLUMNS: dict[str, Column] = {
    "iterations": _mean("{:.1f}".format, lambda run: run.report["iterations"]),
    "best": _mean("{:.1f}".format, lambda run: run.report["best_iteration"]),
    "CPU s": _mean(_number, Finished.total_cpu_seconds),
    "CPU s per iteration": _mean(_number, Finished.cpu_seconds),
    "learning s": _mean(_number, lambda run: run.report["optimise_seconds"]),
    "length": _mean("{:.3f}".format, lambda run: run.report["length_ratio"]),
    "derived pairs": _pairs,
    "% updated": _updated,
    "spread": _mean("{:.1f}".format, lambda run: run.records()[-1].get("spread", 0.0)),
    "features": _mean(_number, lambda run: run.report["active_features"]),
}


@dataclass
class Scores:
    """Scores of one test set: `bleu`, `first` (BLEU with the first reference), `chrf`, `ter`."""

    corpus: Corpus
    files: Sequence[Path]
    counted: dict[tuple[str, Path], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = [path.read_text(encoding="utf-8").splitlines() for path in self.files]
        self.references = [tokenized(column, self.corpus.tokenize) for column in columns]
        names = {"bleu": "bleu", "first": "bleu", "chrf": "chrf", "ter": "ter"}
        self.metrics = {kind: create(name) for kind, name in names.items()}
        everything = list(zip(*self.references, strict=True))
        only = [(line,) for line in self.references[0]]
        self.prepared = {
            kind: metric.prepare(only if kind == "first" else everything)
            for kind, metric in self.metrics.items()
        }

    def statistics(self, kind: str, run: Finished) -> Any:
        """Returns the sentence statistics of a run's output, computed once."""
        key = (kind, run.path)
        if key not in self.counted:
            self.counted[key] = self.prepared[kind].statistics(run.output)
        return self.counted[key]

    def shown(self, kind: str, run: Finished) -> float:
        """Returns the corpus score of a run as it is printed."""
        return float(self.metrics[kind].shown(self.statistics(kind, run).sum(axis=0)))

    def p_value(self, kind: str, ours: Sequence[Finished], theirs: Sequence[Finished]) -> str:
        """Returns the p-value of the difference of two rows, over as many runs as both have."""
        pairs = min(len(ours), len(theirs))
        if not pairs:
            return "-"
        samples = [[self.statistics(kind, run) for run in runs[:pairs]] for runs in (ours, theirs)]
        value = approximate_randomization(self.metrics[kind], *samples).p_value
        return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def title_of(corpus: Corpus, system: str) -> str:
    """Returns the first cell of a table."""
    return f"{corpus.title}, {system}"


def table(runner: Runner, corpus: Corpus, system: str) -> str:
    """Returns the table of a corpus and system, of all finished runs."""
    study = runner.study
    score = Scores(corpus, runner.part(corpus, "test")[1:])
    runs = {s.label: runner.finished(corpus, system, s) for s in study.settings}
    against = {s.label: study.compared(s) for s in study.settings}
    kinds = ["bleu", *["first"] * (len(score.references) > 1), *["chrf"] * study.chrf, "ter"]
    head = ["runs", "dev BLEU", "test BLEU", "deviation", "p"]
    for kind in kinds[1:]:
        head += [{"chrf": "chrF", "ter": "TER"}.get(kind, kind), "p"]
    head += study.columns
    lines = []
    for label, finished in runs.items():
        if not finished:
            lines.append([label, "0", *["-"] * (len(head) - 1)])
            continue
        dev = np.mean([run.report["dev_bleu"] for run in finished])
        cells = [label, str(len(finished)), f"{dev:.2f}"]
        for kind in kinds:
            shown = [score.shown(kind, run) for run in finished]
            cells.append(f"{np.mean(shown):.2f}")
            if kind == "bleu":
                cells.append(f"{np.std(shown, ddof=1):.2f}" if len(finished) > 1 else "-")
            theirs = runs.get(against[label], [])  # absent if --settings leaves it out
            cells.append("-" if theirs is finished else score.p_value(kind, finished, theirs))
        lines.append(cells + [COLUMNS[name](finished) for name in study.columns])
    return markdown([title_of(corpus, system), *head], lines)
