"""Stochastic subgradient descent with averaging, and its learning rate.  [xu2011]

Goes in: the weights to start from, then one subgradient of the loss after the other. Comes out: the
weights, or their mean over all updates, in double precision.

    w -= eta_t (lambda w + g)            eta_t = eta_0 (1 + a eta_0 t)^-c

A feature that is in no subgradient keeps its weight: lambda alone would shrink it, though nothing
was learned about it.
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
    """Xu's rate: c is 1 for plain descent, 3/4 where weights are averaged."""

    first: float  # eta_0
    decay: float  # a
    power: float  # c

    def at(self, update: int) -> float:
        """eta_t."""
        return float(self.first * (1.0 + self.decay * self.first * update) ** -self.power)


class Descent:
    """Weights on their way; a step costs as much as there are features that moved so far."""

    def __init__(self, base: Weights, state: Mapping[str, Any] | None = None) -> None:
        """`base` has the weights of features that did not move yet."""
        state = state or {}
        self.base = base
        self.ids: Ids = np.asarray(state.get("ids", ()), np.uint64)  # that moved; ascending
        self.now: FloatArray = np.asarray(state.get("now", ()), np.float64)
        self.mean: FloatArray = np.asarray(state.get("mean", ()), np.float64)
        self.updates = int(state.get("updates", 0))

    def state(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {"ids": self.ids, "now": self.now, "mean": self.mean, "updates": self.updates}

    def weights(self, ids: Ids) -> Weights:
        """The weights of these features; ids ascend."""
        values = self.base.table.gather(ids)
        _, here, there = np.intersect1d(ids, self.ids, assume_unique=True, return_indices=True)
        values[here] = self.now[there]
        return Weights(SparseVector(ids, values.astype(np.float32)))

    def step(self, subgradient: SparseVector, rate: float, l2: float) -> Ids:
        """One update; returns the features that moved for the first time."""
        new = np.setdiff1d(subgradient.ids, self.ids, assume_unique=True)
        if len(new):
            self._begin(new)
        moved = np.searchsorted(self.ids, subgradient.ids)
        self.updates += 1
        with np.errstate(over="ignore", invalid="ignore"):  # `diverged` tells
            self.now *= 1.0 - rate * l2
            self.now[moved] -= rate * subgradient.values.astype(np.float64)
            self.mean += (self.now - self.mean) / self.updates
        return new

    @property
    def diverged(self) -> bool:
        """Whether a weight has grown beyond single precision, in which lattices are searched."""
        return not bool((np.abs(self.now) <= np.finfo(np.float32).max).all())

    def _begin(self, new: Ids) -> None:
        ids = np.concatenate([self.ids, new])
        values = self.base.table.gather(new)
        order = np.argsort(ids)
        self.ids = ids[order]
        self.now = np.concatenate([self.now, values])[order]
        self.mean = np.concatenate([self.mean, values])[order]

    def result(self, *, average: bool) -> Weights:
        """The last weights, or the mean of those after each update."""
        found = self.base.copy()
        values = self.mean if average else self.now
        for id, value in zip(self.ids.tolist(), values.tolist(), strict=True):
            found[id] = value
        return found
