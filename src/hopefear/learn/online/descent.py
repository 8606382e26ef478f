"""Stochastic subgradient descent with averaging, and its learning rate.  [xu2011]

Takes initial weights, then one subgradient of the loss at a time, and returns the weights, or their
mean over all updates, in double precision.

    w -= eta_t (lambda w + g)            eta_t = eta_0 (1 + a eta_0 t)^-c

A feature that is in no subgradient keeps its weight: lambda would shrink it although nothing was
learned about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.weights import SparseVector, Weights

FloatArray = NDArray[np.float64]
Ids = NDArray[np.uint64]


@dataclass(frozen=True)
class Rate:
    """The learning rate of [xu2011]; c is 1 for plain descent and 3/4 for averaged weights."""

    first: float  # eta_0
    decay: float  # a
    power: float  # c

    def at(self, update: int) -> float:
        """Return eta_t."""
        return float(self.first * (1.0 + self.decay * self.first * update) ** -self.power)


class Descent:
    """Weights during descent; the cost of a step is linear in the features moved so far."""

    def __init__(self, base: Weights, state: Mapping[str, Any] | None = None) -> None:
        """Take the weights of features that have not moved yet, and a saved state."""
        state = state or {}
        self.base = base
        self.ids: Ids = np.asarray(state.get("ids", ()), np.uint64)  # of moved features; ascending
        self.now: FloatArray = np.asarray(state.get("now", ()), np.float64)
        self.mean: FloatArray = np.asarray(state.get("mean", ()), np.float64)
        self.updates = int(state.get("updates", 0))

    def state(self) -> dict[str, Any]:
        """Return the state that the constructor takes."""
        return {"ids": self.ids, "now": self.now, "mean": self.mean, "updates": self.updates}

    def weights(self, ids: Ids) -> Weights:
        """Take ascending ids of features and return their weights."""
        values = self.base.table.gather(ids)
        _, requested, moved = np.intersect1d(ids, self.ids, assume_unique=True, return_indices=True)
        values[requested] = self.now[moved]
        return Weights(SparseVector(ids, values.astype(np.float32)))

    def step(self, subgradient: SparseVector, rate: float, l2: float) -> Ids:
        """Make one update and return the ids of features that moved for the first time."""
        new = np.setdiff1d(subgradient.ids, self.ids, assume_unique=True)
        if len(new):
            self._begin(new)
        moved = np.searchsorted(self.ids, subgradient.ids)
        self.updates += 1
        with np.errstate(over="ignore", invalid="ignore"):  # checked by `diverged`
            self.now *= 1.0 - rate * l2
            self.now[moved] -= rate * subgradient.values.astype(np.float64)
            self.mean += (self.now - self.mean) / self.updates
        return new

    @property
    def diverged(self) -> bool:
        """Whether a weight exceeds single precision, which the search of lattices uses."""
        return not bool((np.abs(self.now) <= np.finfo(np.float32).max).all())

    def _begin(self, new: Ids) -> None:
        ids = np.concatenate([self.ids, new])
        values = self.base.table.gather(new)
        order = np.argsort(ids)
        self.ids = ids[order]
        self.now = np.concatenate([self.now, values])[order]
        self.mean = np.concatenate([self.mean, values])[order]

    def result(self, *, average: bool) -> Weights:
        """Return the last weights, or the mean of the weights after each update."""
        weights = self.base.copy()
        values = self.mean if average else self.now
        for id, value in zip(self.ids.tolist(), values.tolist(), strict=True):
            weights[id] = value
        return weights
