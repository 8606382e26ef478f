"""Tuning runs as objects: the contents of a run directory, finished or not.

Takes the directory of one run of `hopefear tune`, or of several with different seeds (`--runs N`),
and returns a `Run`: configuration, iterations, chosen weights, and the report of the command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hopefear.base.console import html_table
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike
from hopefear.base.weights import Weights
from hopefear.learn.loop.base import Outcome, summary
from hopefear.learn.loop.run import (
    CHECKPOINT,
    CONFIG_FILE,
    METRICS_FILE,
    STATE_FILE,
    WEIGHTS_FILE,
    Record,
    RunDirectory,
    read_config,
    read_metrics,
)
from hopefear.learn.loop.runs import together
from hopefear.metrics import Metric, create

_SCORES = ("score", "bleu", "length_ratio")
_MORE_NUMBERS = ("heldout_score", "decode_seconds", "optimise_seconds")


class Run:
    """A tuning run: its configuration, its finished iterations, the chosen weights.

    Of several runs with different seeds in one directory (`members`), it represents the chosen one.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        if not (self.path / CONFIG_FILE).is_file():
            raise InputError(
                f"{self.path}: has no {CONFIG_FILE}; expected the directory of a run, as made by "
                "'hopefear tune -o RUN'"
            )
        self.config: dict[str, Any] = read_config(self.path / CONFIG_FILE)
        #: The decoded iterations, which have a score.
        self.records: list[Record]
        self.finished: bool
        self._state: Mapping[str, Any] = {}
        #: The runs of a recipe's steps, as far as they have begun; empty without a recipe.
        self.steps: list[Run] = []
        count = self.config.get("runs", 1)
        self.members: list[Run] = [self]
        if count == 1 and "recipe" in self.config:
            self._read_steps()
            return
        if count > 1:
            self.members = [self._member(number) for number in range(1, count + 1)]
            self.records = [
                {"run": number, **record}
                for number, run in enumerate(self.members, 1)
                for record in run.records
            ]
            self.finished = all(run.finished for run in self.members)
            return
        self.records = [record for record in self._read_records() if "score" in record]
        if not self.records:
            raise InputError(
                f"{self.path}: no iteration is finished yet; wait, or tune with --resume"
            )
        if (self.path / CHECKPOINT / STATE_FILE).is_file():
            self._state = RunDirectory(self.path).read_state() or {}
        self.finished = self._state.get("phase") == "finished"

    def _member(self, number: int) -> Run:
        path = self.path / f"run-{number}"
        if not (path / CONFIG_FILE).is_file():
            raise InputError(f"{path}: this run has not begun yet; wait, or tune with --resume")
        return Run(path)

    def _read_steps(self) -> None:
        """Read the runs of a recipe's steps; the records are theirs, numbered in order."""
        names = self.config["recipe"]["steps"]
        self.records = []
        for name in names:
            if not (self.path / name / CONFIG_FILE).is_file():
                break
            try:
                step = Run(self.path / name)
            except InputError:
                if self.steps:  # its first iteration is not finished yet
                    break
                raise
            self.steps.append(step)
        if not self.steps:
            raise InputError(f"{self.path}: no step has begun yet; wait, or tune with --resume")
        for step in self.steps:
            first = len(self.records)
            for record in step.records:
                moved = {**record, "step": step.path.name}
                moved["iteration"] = first + step.records.index(record)
                if "mean_of" in record:
                    moved["mean_of"] = [first + number for number in record["mean_of"]]
                self.records.append(moved)
        self.config = {**self.steps[-1].config, **self.config}
        self.finished = len(self.steps) == len(names) and self.steps[-1].finished

    @cached_property
    def best_step(self) -> Run:
        """The run of a recipe's step whose weights were chosen; before the end, the last step."""
        results = self.config["recipe"]["results"]
        final = [step for step in self.steps if step.path.name in results]
        if not self.finished:
            return self.steps[-1]
        return max(final, key=lambda step: (step.quality, self.steps.index(step)))

    def chosen_weights(self) -> Weights:
        """Return the weights of the best step or run, of which this run consists."""
        return (self.best_step if self.steps else self.best_member).weights

    def _read_records(self) -> list[Record]:
        path = self.path / METRICS_FILE
        records = read_metrics(path) if path.is_file() else []
        for number, record in enumerate(records, 1):
            # The last iteration may not be decoded yet.
            required = ("iteration", *(_SCORES if "score" in record else ()))
            for key in (*required, *(key for key in _MORE_NUMBERS if key in record)):
                value = record.get(key)
                if value is None or not math.isfinite(value):
                    raise InputError(
                        f"{path}:{number}: {key} is {value!r}, expected a finite number; tune "
                        "again, the file is damaged"
                    )
        return records

    # -- configuration --

    @cached_property
    def metric(self) -> Metric:
        """The metric that was optimised."""
        options = dict(self.config.get("metric", {"name": "bleu"}))
        return create(options.pop("name"), options)

    @property
    def tuner(self) -> str:
        """The name of the tuner, or of the recipe."""
        if "recipe" in self.config:
            return f"recipe {self.config['recipe']['name']}"
        return str(self.config.get("tuner", {}).get("name", "?"))

    def file(self, key: str) -> list[Path]:
        """The paths of an input of the run, such as `dev`, as they were at the time."""
        places = self.config.get("files", {}).get(key, [])
        return [Path(places)] if isinstance(places, str) else [Path(place) for place in places]

    # -- the chosen weights --

    @cached_property
    def best_member(self) -> Run:
        """The run whose weights were chosen; a single run itself."""
        if len(self.members) == 1:
            return self.members[0]
        if (self.path / WEIGHTS_FILE).is_file():
            chosen = (self.path / WEIGHTS_FILE).read_bytes()
            for run in self.members:
                if (run.path / WEIGHTS_FILE).read_bytes() == chosen:
                    return run
        return max(self.members, key=lambda run: run.quality)  # the first of ties

    @cached_property
    def best(self) -> Record:
        """The record of the chosen weights; before the run is finished, the best record."""
        if self.best_member is not self:
            return self.best_member.best
        if self.steps:
            at = self.best_step.records.index(self.best_step.best)
            name = self.best_step.path.name
            return [record for record in self.records if record["step"] == name][at]
        if self.finished:
            chosen = self._state.get("chosen")
            for record in self.records:
                if record["iteration"] == chosen:
                    return record
        heldout = any("heldout_score" in record for record in self.records)
        return max((r for r in self.records if not heldout or "heldout_score" in r), key=self._gain)

    def _gain(self, record: Record) -> float:
        """The quality that iterations are compared by; higher is better."""
        value = float(record["heldout_score"] if "heldout_score" in record else record["score"])
        return self.metric.quality(value)

    @property
    def best_iteration(self) -> int:
        """The number of the chosen iteration; one past the last if they are a mean."""
        return int(self.best["iteration"])

    @property
    def dev_bleu(self) -> float:
        """BLEU of the chosen weights on the development set."""
        return float(self.best["bleu"])

    @property
    def dev_score(self) -> float:
        """The score that was optimised, of the chosen weights on the development set."""
        return float(self.best["score"])

    @cached_property
    def weights(self) -> Weights:
        """The chosen weights."""
        if self.steps and not (self.path / WEIGHTS_FILE).is_file():
            return self.best_step.weights
        return Weights.load(self.path / WEIGHTS_FILE)

    @property
    def which(self) -> str:
        """The chosen iteration in words, such as `3 of 10`."""
        records = self.best_member.records
        single = [record for record in records if "mean_of" not in record] or records
        last = max(record["iteration"] for record in single)
        parts = self.best.get("mean_of")
        if parts:
            return f"mean of {parts[0]} to {parts[-1]}"
        return f"{self.best['iteration']} of {last}"

    @property
    def chosen(self) -> int:
        """The index of the chosen record in `records`."""
        return self.records.index(self.best)

    @property
    def quality(self) -> float:
        """The quality that runs are compared by; higher is better."""
        return self._gain(self.best)

    @property
    def seconds(self) -> list[float]:
        """Seconds of learning and decoding up to the end of each iteration."""
        total, ends = 0.0, []
        for record in self.records:
            total += record.get("decode_seconds", 0.0) + record.get("optimise_seconds", 0.0)
            ends.append(total)
        return ends

    # -- reports and tables --

    def report(self) -> dict[str, Any]:
        """The report of the run, as printed by `hopefear tune --json`."""
        head = {"tuner": self.tuner, "run": str(self.path)}
        if "recipe" in self.config:
            head["recipe"] = self.config["recipe"]["name"]
        if self.best_member is self:
            return head | self._summary()
        reports = [run._summary() for run in self.members]
        return head | together(reports, self.members.index(self.best_member))

    def _summary(self) -> dict[str, Any]:
        if self.steps:
            return self._summary_of_steps()
        stopped = str(self._state.get("stopped", "not finished"))
        # The summary does not use the weights, which may be millions.
        return summary(Outcome(self.records, self.chosen, self.quality, stopped, Weights()))

    def _summary_of_steps(self) -> dict[str, Any]:
        parts = [step._summary() for step in self.steps]
        report = dict(parts[self.steps.index(self.best_step)])
        report["best_iteration"] = self.best_iteration
        if "mean_of" in self.best:
            report["mean_of"] = self.best["mean_of"]
        report["iterations"] = max(r["iteration"] for r in self.records if "mean_of" not in r)
        for key in ("seconds", "decode_seconds", "optimise_seconds"):
            report[key] = round(sum(part[key] for part in parts), 3)
        report["warnings"] = [text for part in parts for text in part["warnings"]]
        report["best_step"] = self.best_step.path.name
        report["steps"] = [
            {"step": step.path.name, "tuner": step.tuner, "run": str(step.path), **part}
            for step, part in zip(self.steps, parts, strict=True)
        ]
        return report

    def __repr__(self) -> str:
        several = f"{len(self.members)} runs of " if len(self.members) > 1 else ""
        state = "" if self.finished else ", not finished"
        return (
            f"Run({str(self.path)!r}: {several}{self.tuner} for {self.metric.title}, "
            f"dev {self.dev_score:.2f}, iteration {self.which}{state})"
        )

    def _repr_html_(self) -> str:
        header, rows = iteration_table(self.config, self.records)
        return html_table(rows, header, repr(self))


def short_name(iteration: int, mean_of: Sequence[int] | None) -> str:
    """A table's name for the weights of an iteration, or for a mean, such as 'mean 5-8'."""
    return f"mean {mean_of[0]}-{mean_of[-1]}" if mean_of else str(iteration)


def iteration_table(
    config: Mapping[str, Any], records: Sequence[Record]
) -> tuple[list[str], list[list[str]]]:
    """A table of the iterations of a run: its header and its rows."""
    heldout = any("heldout_score" in record for record in records)
    several = any("run" in record for record in records)
    steps = any("step" in record for record in records)
    columns = [
        *([("run", "run", "d")] if several else []),
        *([("step", "step", "s")] if steps else []),
        ("iteration", "iteration", "d"),
        ("score", str(config.get("metric", {}).get("name")), ".2f"),
        *([("heldout_score", "held out", ".2f")] if heldout else []),
        ("length_ratio", "length", ".3f"),
        ("objective", "objective", ".4f"),
        ("change", "change", ".4f"),
        ("candidates", "candidates", ",d"),
        ("active_features", "active", ",d"),
        ("decode_seconds", "decode s", ".1f"),
        ("optimise_seconds", "optimise s", ".1f"),
    ]
    rows = [
        ["-" if record.get(key) is None else format(record[key], form) for key, _, form in columns]
        for record in records
    ]
    for row, record in zip(rows, records, strict=True):
        if "mean_of" in record:
            row[several + steps] = short_name(record["iteration"], record["mean_of"])
    return [title for _, title, _ in columns], rows
