"""The contract of steps.

A step takes the chosen hypotheses of a minibatch and returns a change of the weights. The loss is
the hinge between a hypothesis y of a sentence and y+, the one to move towards,

    H(y) = [cost(y) - cost(y+)] - [s(y+) - s(y)],

for any selection of the two (`online/selection.py`), so that every selection works with every step.
Here features have local numbers, common to all sentences of a minibatch (`MarginProblem`), and M is
the diagonal matrix of learning rates (`rates.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """The settings of steps; C and D bound the sums of a sentence's multipliers."""

    C: float = 0.01
    B: float = 1.0  # relative margin: the largest difference of scores
    D: float = 0.01
    constraints: int = 10  # of the k-best step, from each list
    ridge: float = 0.0  # r of AROW, else 0
    tolerance: float = 1e-4  # of solutions of quadratic programmes, in units of cost
    rounds: int = 100  # maximum for a cutting plane


@dataclass(frozen=True)
class MarginProblem:
    """The hypotheses of a sentence, and the indices of the two chosen ones."""

    scores: FloatArray  # of the model, before any change
    gains: FloatArray  # minus the cost
    features: Any  # a row for each hypothesis: an array, or a sparse matrix
    towards: int
    away: int
    # Takes scores and returns the index of y-: gamma s + beta cost (eq. 3.3).
    choose_away: Callable[[FloatArray], int]
    # Takes a size and returns the indices of the best hypotheses by model score, by the objective
    # of y+, and by that of y-, best first.
    best_lists: Callable[[int], list[NDArray[np.int64]]]
    # Mask of the hypotheses that a bound on the spread of scores applies to; None: all of them.
    bounded: NDArray[np.bool_] | None = None

    def row(self, number: int) -> FloatArray:
        """Return the feature vector of a hypothesis."""
        row = self.features[[number]]
        dense: FloatArray = np.asarray(row.toarray() if hasattr(row, "toarray") else row)
        vector: FloatArray = dense[0]
        return vector

    def direction(self, number: int) -> FloatArray:
        """Return f(y+) - f(y) of a hypothesis y."""
        return self.row(self.towards) - self.row(number)

    def scores_after(self, change: FloatArray) -> FloatArray:
        """Return the model scores after a change of the weights."""
        moved: FloatArray = self.scores + self.features @ change
        return moved

    def hinge(self, scores: FloatArray | None = None) -> FloatArray:
        """Return H of every hypothesis under the given scores, by default those of the model."""
        s = self.scores if scores is None else scores
        hinges: FloatArray = self.gains[self.towards] - self.gains - (s[self.towards] - s)
        return hinges

    @property
    def loss(self) -> float:
        """The hinge of the chosen pair; there is nothing to learn if it is not positive."""
        t, a = self.towards, self.away
        margin = self.scores[t] - self.scores[a]
        return float(self.gains[t] - self.gains[a] - margin)


class Step(ABC):
    """The base class of all steps; they have no state."""

    name: ClassVar[str]
    #: Whether the step uses complete lists; if not, problems contain only the chosen pair.
    lists: ClassVar[bool] = False
    #: The options that the step uses besides C.
    uses: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        """Return the vector to add to the weights; `metric` is the diagonal of M."""
