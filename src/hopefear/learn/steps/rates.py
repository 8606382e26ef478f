"""Learning rates of features: the diagonal metric M of a step.  [eidelman2013]

fixed     M = eta I
adagrad   M_i = eta / sqrt(lambda SUM_{j <= t} g_{j,i}^2)                    (eq. 3.9)  [duchi2011]
arow      M_i = eta / (1 + SUM_{j < t} g_{j,i}^2 / r), and r in the step    [crammer2009]

g is the negative subgradient of the loss, f(y+) - f(y-) of the chosen pair, summed over the
sentences of a minibatch with a positive loss. The sums are the state of a learner.

Differs: errata eq. 3.9: the sum includes the current gradient, and a feature whose sum is 0 does
not move. Errata eq. 3.10: the step includes lambda (0.01 makes it ten times as long). AROW uses
Sigma instead of its root, starting from Sigma = I. C still applies: the multiplier is
min(C, loss / (g' Sigma g + r)).
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
    """Learning rates of features; `metric` is called before a step, `end` after it."""

    ridge: float = 0.0  # r of AROW

    @abstractmethod
    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        """Take ids of features and their gradient and return the diagonal of M."""

    def end(self, ids: Ids, gradient: FloatArray) -> None:  # noqa: B027 (optional)
        """Update the state after a step."""

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state` returned."""
        if state:
            raise ValueError(f"a fixed rate has no state, but was given {sorted(state)}")


class FixedRate(Rate):
    """The same constant rate for all features."""

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        return np.full(len(ids), self.eta)


class _Sums(Rate):
    """Rates that depend on sums of squared gradients."""

    def __init__(self) -> None:
        self._sums = Weights()

    def _add(self, ids: Ids, gradient: FloatArray) -> None:
        nonzero = np.flatnonzero(gradient)
        squares = np.square(gradient[nonzero]).astype(np.float32)
        self._sums.add(SparseVector(ids[nonzero], squares))

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
    """Rates inversely proportional to the root of the sum of squared gradients."""

    def __init__(self, eta: float, lambda_: float) -> None:
        super().__init__()
        self.eta, self.lambda_ = eta, lambda_

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        self._add(ids, gradient)
        sums = self._sums.table.gather(ids)
        rates = np.zeros(len(ids))
        np.divide(self.eta, np.sqrt(self.lambda_ * sums), out=rates, where=sums > 0)
        return rates


class DenseAdaGrad(AdaGrad):
    """AdaGrad for dense features, and a fixed rate for all others.

    Dense features have very different scales, but sparse ones are mostly 0 or 1. The first step of
    AdaGrad is equally long for all features, so rare features would have large weights at once.
    """

    def __init__(self, eta: float, lambda_: float, others: float, dense: frozenset[int]) -> None:
        super().__init__(eta, lambda_)
        self.others, self._dense = others, np.array(sorted(dense), np.uint64)

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        rates, dense = np.full(len(ids), self.others), np.isin(ids, self._dense)
        rates[dense] = super().metric(ids[dense], gradient[dense])
        return rates


class Arow(_Sums):
    """The diagonal covariance of AROW."""

    def __init__(self, eta: float, r: float) -> None:
        super().__init__()
        self.eta, self.ridge = eta, r

    def metric(self, ids: Ids, gradient: FloatArray) -> FloatArray:
        rates: FloatArray = self.eta / (1.0 + self._sums.table.gather(ids) / self.ridge)
        return rates

    def end(self, ids: Ids, gradient: FloatArray) -> None:
        self._add(ids, gradient)
