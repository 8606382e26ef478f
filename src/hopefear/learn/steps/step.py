"""The contract of steps: what was chosen goes in, a change of the weights comes out.

The loss is always the hinge between hypotheses of a sentence and the one that is learned towards,

    H(y) = [cost(y) - cost(y+)] - [s(y+) - s(y)],

whatever selection chose them (`selection.py`); a step says how far and along what the weights move.
So every selection goes with every step. Features have local numbers here, one numbering for all
sentences of a minibatch (`MarginProblem`), and M is the diagonal of rates (`rates.py`).
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
    """What steps are told. C and D are the largest sums of multipliers of a sentence."""

    C: float = 0.01
    B: float = 1.0  # relative margin: the largest difference of scores
    D: float = 0.01
    constraints: int = 10  # of the k-best step: of each list
    ridge: float = 0.0  # r of AROW, else 0
    tolerance: float = 1e-4  # to which quadratic programmes are solved, in units of cost
    rounds: int = 100  # of a cutting plane, at most


@dataclass(frozen=True)
class MarginProblem:
    """One sentence: its hypotheses, of which two are chosen."""

    scores: FloatArray  # of the model, before any change
    gains: FloatArray  # minus the cost
    features: Any  # a row for each hypothesis: an array, or a sparse matrix
    towards: int
    away: int
    # The selection of `away` once more, with other scores: gamma s + beta cost (eq. 3.3).
    choose_away: Callable[[FloatArray], int]
    # Numbers of hypotheses by model, by what is learned towards, by what is learned away from,
    # best first, at most so many of each.
    best_lists: Callable[[int], list[NDArray[np.int64]]]
    # Whose scores a bound on their spread looks at; None: all of them.
    bounded: NDArray[np.bool_] | None = None

    def row(self, number: int) -> FloatArray:
        found = self.features[[number]]
        dense: FloatArray = np.asarray(found.toarray() if hasattr(found, "toarray") else found)
        row: FloatArray = dense[0]
        return row

    def direction(self, number: int) -> FloatArray:
        """f(y+) - f(y)."""
        return self.row(self.towards) - self.row(number)

    def scores_after(self, change: FloatArray) -> FloatArray:
        moved: FloatArray = self.scores + self.features @ change
        return moved

    def hinge(self, scores: FloatArray | None = None) -> FloatArray:
        """H of every hypothesis, with these scores or with those before any change."""
        s = self.scores if scores is None else scores
        found: FloatArray = self.gains[self.towards] - self.gains - (s[self.towards] - s)
        return found

    @property
    def loss(self) -> float:
        """The hinge between the two that were chosen; not positive: nothing to learn."""
        t, a = self.towards, self.away
        margin = self.scores[t] - self.scores[a]
        return float(self.gains[t] - self.gains[a] - margin)


class Step(ABC):
    """Base of all steps; they have no state."""

    name: ClassVar[str]
    #: Whether it looks at whole lists; if not, problems have nothing but the two that were chosen.
    lists: ClassVar[bool] = False
    #: Which options it uses besides C.
    uses: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        """v, to be added to the weights; one entry per local feature."""
