"""The systems of a report: run directories, and their heaviest features.

Takes directories of `hopefear tune` and returns a `ComparedSystem` for each, or for each group of
runs that differ only in their seed: a directory made with `tune --runs N` is a group, and `group=N`
makes one of every N consecutive directories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.learn.loop.run import RunDirectory
from hopefear.model.run import Run


@dataclass
class ComparedSystem:
    """One or more runs that differ only in their seed, with a name for the page."""

    name: str
    runs: list[Run] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The index of the run with the best tuning score, whose weights are shown."""
        return max(range(len(self.runs)), key=lambda number: (self.runs[number].quality, -number))

    @property
    def shown(self) -> Run:
        """The run that represents the system."""
        return self.runs[self.best]


def read_systems(
    paths: Sequence[Path], *, names: Sequence[str] = (), group: int = 1
) -> list[ComparedSystem]:
    """Read run directories and return their systems, in order."""
    if not paths:
        raise OptionError("no run directory; give one or more directories of 'hopefear tune'")
    if len(paths) % group:
        raise OptionError(
            f"--runs {group}: {len(paths)} directories do not divide into groups of {group}; give "
            "the same number of runs for each system"
        )
    parts = [list(paths[i : i + group]) for i in range(0, len(paths), group)]
    if names and len(names) != len(parts):
        raise OptionError(
            f"--names: {len(names)} names for {len(parts)} systems; give one for each"
        )
    return [
        ComparedSystem(name, [run for path in part for run in Run(path).members])
        for name, part in zip(names or unique_names(parts), parts, strict=True)
    ]


def unique_names(groups: Sequence[Sequence[Path]]) -> list[str]:
    """The shortest ends of the paths that are all different, one for each group."""
    paths = [group[0].resolve().parts for group in groups]
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]


# -- features --


@dataclass(frozen=True)
class FeatureWeights:
    """The weight of a feature in the shown run of each system."""

    name: str
    final: list[float]  # the chosen weight
    shares: list[float]  # of the sum of the absolute learned weights
    #: The share by iteration; None if the weight is fixed.
    path: list[list[float] | None]


def heaviest(systems: Sequence[ComparedSystem], count: int) -> list[FeatureWeights]:
    """The `count` features with the largest share of the weights in any system, in that order."""
    histories = [_History(system.shown) for system in systems]
    shares: dict[str, float] = {}
    for history in histories:
        for name, value in history.weights.top(count + len(history.fixed)):
            share = 0.0 if name in history.fixed else abs(value) / history.norm(history.weights)
            shares[name] = max(shares.get(name, 0.0), share)
    names = sorted(shares, key=lambda name: (-shares[name], name))[:count]
    paths = [history.paths(names) for history in histories]
    return [
        FeatureWeights(
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
        # Weights that do not change, such as that of unknown words, are often very large.
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
        """Whether the weights of an iteration exist; users may delete them to save space."""
        return self.directory.weights_path(iteration).is_file()

    def norm(self, weights: Weights) -> float:
        """The sum of the absolute learned weights."""
        return max(weights.norm(1) - sum(map(abs, self.fixed.values())), 1e-30)

    def paths(self, names: Sequence[str]) -> dict[str, list[float] | None]:
        """The shares of features in each iteration."""
        shares: dict[str, list[float]] = {name: [] for name in names}
        for record in self.run.records:
            if self._has(record["iteration"]):
                weights = self.directory.load_weights(record["iteration"])
                norm = self.norm(weights)
                for name in names:
                    shares[name].append(weights[name] / norm)
        return {name: None if name in self.fixed else path for name, path in shares.items()}
