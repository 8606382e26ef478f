"""What run directories say: systems, their runs, the iterations, the heaviest features.

Goes in: directories of `hopefear tune`. Comes out: a `System` for each, or for each group of runs
that differ in their seed only: a directory made with `tune --runs N` is such a group, and
`group=N` takes N directories in a row as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
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
from hopefear.metrics import Metric, create

_SCORES = ("score", "bleu", "length_ratio")
_MORE_NUMBERS = ("heldout_score", "decode_seconds", "optimise_seconds")


@dataclass
class Run:
    """One run: its configuration and its finished iterations."""

    path: Path
    config: dict[str, Any]
    records: list[Record]  # those that were decoded, so that they have a score
    finished: bool
    chosen_iteration: int | None = None  # of a finished run

    @classmethod
    def read(cls, path: Path) -> Run:
        if not (path / CONFIG_FILE).is_file():
            raise InputError(
                f"{path}: no {CONFIG_FILE} in it; expected the directory of a run, as "
                "'hopefear tune -o RUN' makes it"
            )
        config = read_config(path / CONFIG_FILE)
        records = read_metrics(path / METRICS_FILE) if (path / METRICS_FILE).is_file() else []
        for number, record in enumerate(records, 1):
            # The last iteration may have been learned and not been decoded yet.
            wanted = ("iteration", *(_SCORES if "score" in record else ()))
            for key in (*wanted, *(key for key in _MORE_NUMBERS if key in record)):
                value = record.get(key)
                if value is None or not math.isfinite(value):
                    raise InputError(
                        f"{path / METRICS_FILE}:{number}: {key} is {value!r}, expected a number; "
                        "is this what 'hopefear tune' wrote?"
                    )
        decoded = [record for record in records if "score" in record]
        if not decoded:
            raise InputError(f"{path}: no iteration is finished yet; wait, or tune with --resume")
        state = (
            RunDirectory(path).read_state() if (path / CHECKPOINT / STATE_FILE).is_file() else {}
        )
        finished = (state or {}).get("phase") == "finished"
        chosen = (state or {}).get("chosen") if finished else None
        if all(record["iteration"] != chosen for record in decoded):
            chosen = None
        return cls(path, config, decoded, finished, chosen)

    @cached_property
    def metric(self) -> Metric:
        """What it was tuned for."""
        options = dict(self.config.get("metric", {"name": "bleu"}))
        return create(options.pop("name"), options)

    @property
    def tuner(self) -> str:
        return str(self.config.get("tuner", {}).get("name", "?"))

    @cached_property
    def best(self) -> Record:
        """The record whose weights were chosen, as the run says; while it goes on, the best one."""
        if self.chosen_iteration is not None:
            return next(r for r in self.records if r["iteration"] == self.chosen_iteration)
        heldout = any("heldout_score" in record for record in self.records)
        return max((r for r in self.records if not heldout or "heldout_score" in r), key=self._gain)

    def _gain(self, record: Record) -> float:
        """What iterations are compared by; higher is better."""
        value = float(record["heldout_score"] if "heldout_score" in record else record["score"])
        return self.metric.quality(value)

    @property
    def which(self) -> str:
        """The chosen iteration in words."""
        own = [record for record in self.records if "mean_of" not in record] or self.records
        last = max(record["iteration"] for record in own)
        parts = self.best.get("mean_of")
        if parts:
            return f"mean of {parts[0]} to {parts[-1]}"
        return f"{self.best['iteration']} of {last}"

    @property
    def chosen(self) -> int:
        """Its place among the records."""
        return self.records.index(self.best)

    @property
    def quality(self) -> float:
        """What runs of a group are compared by; higher is better."""
        return self._gain(self.best)

    @property
    def seconds(self) -> list[float]:
        """Time of learning and decoding up to the end of each iteration."""
        total, found = 0.0, []
        for record in self.records:
            total += record.get("decode_seconds", 0.0) + record.get("optimise_seconds", 0.0)
            found.append(total)
        return found

    @cached_property
    def weights(self) -> Weights:
        """The chosen ones."""
        return Weights.load(self.path / WEIGHTS_FILE)

    def file(self, key: str) -> list[Path]:
        """Files that the run was made with, where they were then."""
        places = self.config.get("files", {}).get(key, [])
        return [Path(places)] if isinstance(places, str) else [Path(place) for place in places]


@dataclass
class System:
    """Runs that differ in their seed only; `name` is how the page calls it."""

    name: str
    runs: list[Run] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The number of the run that did best where it was tuned: its weights are shown."""
        return max(range(len(self.runs)), key=lambda number: (self.runs[number].quality, -number))

    @property
    def shown(self) -> Run:
        return self.runs[self.best]


def read_systems(
    paths: Sequence[Path], *, names: Sequence[str] = (), group: int = 1
) -> list[System]:
    """The systems of run directories, in their order."""
    if not paths:
        raise OptionError("no run; give one or more directories of 'hopefear tune'")
    if len(paths) % group:
        raise OptionError(
            f"--runs {group}: {len(paths)} directories do not divide into groups of {group}; give "
            "as many runs of each system"
        )
    parts = [list(paths[i : i + group]) for i in range(0, len(paths), group)]
    if names and len(names) != len(parts):
        raise OptionError(
            f"--names: {len(names)} names for {len(parts)} systems; give one for each"
        )
    members = [[run for path in some for run in _members(path)] for some in parts]
    return [
        System(name, [Run.read(path) for path in some])
        for name, some in zip(names or unique_names(parts), members, strict=True)
    ]


def _members(path: Path) -> list[Path]:
    """The runs of a directory that `tune --runs N` made; else the directory itself."""
    config = path / CONFIG_FILE
    runs = read_config(config).get("runs", 1) if config.is_file() else 1
    if runs == 1:
        return [path]
    found = [path / f"run-{number}" for number in range(1, runs + 1)]
    missing = [run for run in found if not (run / CONFIG_FILE).is_file()]
    if missing:
        raise InputError(f"{missing[0]}: this run has not begun yet; wait, or tune with --resume")
    return found


def unique_names(groups: Sequence[Sequence[Path]]) -> list[str]:
    """The last part of each path, or as many parts as it takes to tell them apart."""
    firsts = [group[0].resolve().parts for group in groups]
    for length in range(1, max(map(len, firsts)) + 1):
        found = ["/".join(parts[-length:]) for parts in firsts]
        if len(set(found)) == len(found):
            return found
    return [f"{name} ({number})" for number, name in enumerate(found, 1)]


# -- features --


@dataclass(frozen=True)
class Feature:
    """A feature's weight in the shown run of each system."""

    name: str
    final: list[float]  # as chosen
    shares: list[float]  # of the absolute weights that were learned
    #: The share by iteration; None if its weight was never learned.
    path: list[list[float] | None]


def heaviest(systems: Sequence[System], count: int) -> list[Feature]:
    """Those with the largest share of the learned weights in any system, largest first."""
    histories = [_History(system.shown) for system in systems]
    shares: dict[str, float] = {}
    for history in histories:
        for name, value in history.weights.top(count + len(history.fixed)):
            share = 0.0 if name in history.fixed else abs(value) / history.norm(history.weights)
            shares[name] = max(shares.get(name, 0.0), share)
    names = sorted(shares, key=lambda name: (-shares[name], name))[:count]
    paths = [history.paths(names) for history in histories]
    return [
        Feature(
            name,
            [h.weights[name] for h in histories],
            [h.weights[name] / h.norm(h.weights) for h in histories],
            [path[name] for path in paths],
        )
        for name in names
    ]


class _History:
    """The weights of a run, iteration by iteration."""

    def __init__(self, run: Run) -> None:
        self.run, self.weights = run, run.weights
        self.directory = RunDirectory(run.path)
        # Weights that stay as they were, such as that of unknown words, are often enormous.
        self.fixed: dict[str, float] = {}
        first, last = (run.records[at]["iteration"] for at in (0, -1))
        if first < last and self._has(first) and self._has(last):
            end = self.directory.load_weights(last)
            self.fixed = {
                name: value
                for name, value in self.directory.load_weights(first).items()
                if value != 0 and end[name] == value
            }

    def _has(self, iteration: int) -> bool:
        """Weights of iterations may have been deleted to save room."""
        return self.directory.weights_path(iteration).is_file()

    def norm(self, weights: Weights) -> float:
        """Of those that were learned."""
        return max(weights.norm(1) - sum(map(abs, self.fixed.values())), 1e-30)

    def paths(self, names: Sequence[str]) -> dict[str, list[float] | None]:
        """Shares of features in each iteration."""
        found: dict[str, list[float]] = {name: [] for name in names}
        for record in self.run.records:
            if self._has(record["iteration"]):
                weights = self.directory.load_weights(record["iteration"])
                norm = self.norm(weights)
                for name in names:
                    found[name].append(weights[name] / norm)
        return {name: None if name in self.fixed else path for name, path in found.items()}
