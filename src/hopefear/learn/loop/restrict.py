"""Restrictions of weights: fixed weights (`--fix`) and tied weights (`--tie`).

Tuners keep fixed weights themselves (`Task.fixed`); the loop only checks that they did not change.
Tied features are summed into one feature before the tuner is called, and its weight is copied to
each of them afterwards, so that tuners need no support for ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import OptionError, suggestion
from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.pool.candidates import Candidates, FeatureTable
from hopefear.learn.tuner import Pool, Space


@dataclass(frozen=True)
class Restriction:
    """Ids of features with fixed weights, and groups of ids that share one weight."""

    fixed: frozenset[int] = frozenset()
    tied: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()  # messages for the user

    @classmethod
    def parse(cls, fix: Sequence[str], tie: Sequence[str], known: Iterable[str]) -> Restriction:
        """Take the values of `--fix` and `--tie`; `*` in a name matches any `known` names."""
        known = sorted(set(known))
        intern = FeatureNames().intern
        matches = {pattern: _matching(pattern, known, "--fix") for pattern in fix}
        fixed = {intern(name) for names in matches.values() for name in names}
        notes = tuple(
            f"--fix {pattern!r}: holds the {len(names):,} features that have a weight, not new ones"
            for pattern, names in matches.items()
            if "*" in pattern and any(":" in name for name in names)
        )
        tied: list[tuple[int, ...]] = []
        seen: dict[str, str] = {}
        for group in tie:
            names = [name for part in group.split() for name in _matching(part, known, "--tie")]
            names = list(dict.fromkeys(names))
            if len(names) < 2:
                raise OptionError(f"--tie {group!r}: give at least two names in one argument")
            for name in names:
                if name in seen:
                    raise OptionError(
                        f"--tie {group!r}: {name} is tied in {seen[name]!r} too; make one group"
                    )
                seen[name] = group
            ids = tuple(intern(name) for name in names)
            held = [id in fixed for id in ids]
            if any(held) and not all(held):
                raise OptionError(
                    f"--tie {group!r}: {names[held.index(True)]} is fixed and others are not; "
                    "fix all of them or none"
                )
            tied.append(ids)
        return cls(frozenset(fixed), tuple(tied), notes)

    def check_space(self, space: Space) -> None:
        """Raise an error if features are tied but the tuner learns from forests."""
        if self.tied and space != "kbest":
            raise OptionError("--tie needs k-best lists; set the tuner's space to kbest")

    # -- around an optimisation --

    def start(self, weights: Weights) -> tuple[Weights, list[str]]:
        """Return the weights with the mean for tied ones, and a message for each change."""
        started, notes = weights.copy(), []
        for group in self.tied:
            values = [weights[id] for id in group]
            if len(set(values)) > 1:
                mean = sum(values) / len(values)
                notes.append(
                    f"{', '.join(weights.name(id) for id in group)} are tied but start from "
                    f"different weights; they start from their mean, {mean:.6g}"
                )
                for id in group:
                    started[id] = mean
        return started, notes

    def narrow(self, pool: Pool, weights: Weights) -> tuple[Pool, Weights]:
        """Return pool and weights for the tuner: the first feature of a tied group has the sum."""
        if not self.tied:
            return pool, weights
        assert pool.candidates is not None, "see check_space"
        seen = weights.copy()
        for group in self.tied:
            for id in group[1:]:
                seen[id] = 0.0
        seen.drop_zeros()
        return replace(pool, candidates=_tie(pool.candidates, self.tied)), seen

    def widen(self, weights: Weights) -> Weights:
        """Take the tuner's weights and copy those of tied groups to all their features."""
        for group in self.tied:
            for id in group[1:]:
                weights[id] = weights[group[0]]
        return weights


def check_held(held: frozenset[int], before: Weights, after: Weights, tuner: str) -> None:
    """Raise an error if a tuner changed the weight of a feature in `held`."""
    for id in sorted(held):
        if before[id] != after[id]:
            raise RuntimeError(
                f"tuner {tuner} moved the fixed weight of {before.name(id)} from {before[id]:g} "
                f"to {after[id]:g}"
            )


def _matching(pattern: str, known: Sequence[str], option: str) -> list[str]:
    names = [name for name in known if name == pattern]
    if not names and "*" in pattern:
        escaped = pattern.replace("[", "[[]").replace("?", "[?]")  # names may contain these
        names = [name for name in known if fnmatchcase(name, escaped)]
    if not names:
        hint = suggestion(pattern, known)
        if "*" in pattern:
            hint = "a pattern only matches features that have an initial weight"
        raise OptionError(f"{option}: the model has no feature {pattern!r}; {hint}")
    return names


def _tie(candidates: Candidates, tied: Sequence[Sequence[int]]) -> Candidates:
    """Return the candidates with the features of each group summed in a dense column."""
    table = candidates.features
    columns = {int(id): number for number, id in enumerate(table.ids)}
    width = table.dense.shape[1]
    dense: list[NDArray[np.float32]] = [table.dense[:, c] for c in range(width)]
    ids = [int(id) for id in table.ids[:width]]
    gone: set[int] = set()
    for group in tied:
        present = [columns[id] for id in group if id in columns]
        if not present:
            continue
        gone.update(present)
        total = sum(_column(table, c).astype(np.float64) for c in present)
        dense.append(np.asarray(total, dtype=np.float32))
        ids.append(int(group[0]))
    kept = [c for c in range(width) if c not in gone] + list(range(width, len(dense)))
    rest = [c for c in range(width, len(table.ids)) if c not in gone]
    sparse = None
    if table.sparse is not None and rest:
        sparse = table.sparse[:, np.array(rest) - width]
    matrix = np.ascontiguousarray(np.stack([dense[c] for c in kept], axis=1))
    numbers = [ids[c] for c in kept] + [int(table.ids[c]) for c in rest]
    features = FeatureTable(np.array(numbers, np.uint64), matrix, sparse)
    return replace(candidates, features=features)


def _column(table: FeatureTable, number: int) -> Any:
    width = table.dense.shape[1]
    if number < width:
        return table.dense[:, number]
    return table.sparse[:, [number - width]].toarray()[:, 0]
