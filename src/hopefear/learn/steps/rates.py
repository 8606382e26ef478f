"""How fast each feature learns: the diagonal metric M of a step.  [eidelman2013]

fixed     M = eta I
adagrad   M_i = eta / sqrt(lambda SUM_{j <= t} g_{j,i}^2)                    (eq. 3.9)  [duchi2011]
arow      M_i = eta / (1 + SUM_{j < t} g_{j,i}^2 / r), and r in the step    [crammer2009]

g is the negative subgradient of the loss, f(y+) - f(y-) of the two that were chosen, summed over
those sentences of a minibatch that have a loss. The sums are a learner's own state.

Differs: errata eq. 3.9: the current gradient is in the sum, a feature whose sum is 0 does not move.
Errata eq. 3.10: lambda is in the step (0.01 makes it ten times as long). AROW steps with Sigma, not
with its root, from Sigma = I. Its C stays: the multiplier is min(C, loss / (g' Sigma g + r)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.steps.step import FloatArray

Ids = NDArray[np.uint64]


class Rate(ABC):
    """Rates of features; `metric` is asked before a step, `end` is called after it."""

    ridge: float = 0.0  # r of AROW

    @abstractmethod
    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        """M, one entry per feature."""

    def end(self, ids: Ids, gradient: FloatArray) -> None:  # noqa: B027 (may be left as it is)
        """The step was taken."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        if state:
            raise ValueError(f"a fixed rate has no state, but was given {sorted(state)}")


class FixedRate(Rate):
    def __init__(self, eta: float) -> None:
        self.eta = eta

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        return np.full(len(ids), self.eta)


class _Sums(Rate):
    """Sums of squares, for any number of features: the engine's table."""

    def __init__(self) -> None:
        self._sums = Weights()

    def _add(self, ids: Ids, gradient: FloatArray) -> None:
        there = np.flatnonzero(gradient)
        squares = np.square(gradient[there]).astype(np.float32)
        self._sums.add(SparseVector(ids[there], squares))

    def state(self) -> dict[str, Any]:
        vector = self._sums.vector()
        return {"ids": vector.ids, "sums": vector.values}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._sums = Weights(
            SparseVector(
                np.ascontiguousarray(state["ids"], np.uint64),
                np.ascontiguousarray(state["sums"], np.float32),
            )
        )


class AdaGrad(_Sums):
    def __init__(self, eta: float, lambda_: float) -> None:
        super().__init__()
        self.eta, self.lambda_ = eta, lambda_

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        self._add(ids, gradient)
        sums = self._sums.table.gather(ids)
        found = np.zeros(len(ids))
        np.divide(self.eta, np.sqrt(self.lambda_ * sums), out=found, where=sums > 0)
        return found


class DenseAdaGrad(AdaGrad):
    """AdaGrad for the given features; all others have one fixed rate.

    Dense features have very different scales, sparse ones are mostly 0 or 1, and the first step of
    AdaGrad is equally long for all: rare features would have large weights at once.
    """

    def __init__(self, eta: float, lambda_: float, others: float, dense: frozenset[int]) -> None:
        super().__init__(eta, lambda_)
        self.others, self._dense = others, np.array(sorted(dense), np.uint64)

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        found, own = np.full(len(ids), self.others), np.isin(ids, self._dense)
        found[own] = super().metric(ids[own], gradient[own])
        return found


class Arow(_Sums):
    def __init__(self, eta: float, r: float) -> None:
        super().__init__()
        self.eta, self.ridge = eta, r

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        found: FloatArray = self.eta / (1.0 + self._sums.table.gather(ids) / self.ridge)
        return found

    def end(self, ids: Ids, gradient: FloatArray) -> None:
        self._add(ids, gradient)
