"""The upper envelope of a forest along a direction in weight space, for MERT.
[macherey2008, kumar2009]

With the weights w + x * direction, the score of each derivation is a line in x. The envelope gives
the best derivation for each x, exactly, over all derivations of the forest. `best_on_lines` is
faster where only the set of these derivations is needed, for many directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest.score import Roots, roots_of, scores_of


class Segment(NamedTuple):
    """An interval of x and the derivation that is best in it.

    The interval begins at `start` (-inf for the first segment) and ends at the next segment's
    start. The score at x is intercept + slope * x; `derivation.score` is the score at x = 0.
    """

    start: float
    slope: float
    intercept: float
    derivation: Derivation


def envelope(
    forest: Forest,
    weights: Weights | None = None,
    direction: Weights | SparseVector | None = None,
    *,
    scores: ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    roots: Roots | None = None,
) -> list[Segment]:
    """Take a forest, weights and a direction; return the segments from left to right.

    Slopes ascend; the list is empty if the forest has no derivation. `slopes` gives one slope per
    edge instead of a direction. Of derivations with equal slope, only the one with the largest
    intercept can occur. `hopefear._engine.Envelope` gives the numbers without the derivations.
    """
    if (direction is None) == (slopes is None):
        raise TypeError("give either direction or slopes")
    if isinstance(direction, SparseVector):
        direction = Weights(direction)
    values = scores_of(forest, weights, scores)
    lines = _engine.Envelope(
        forest,
        values,
        np.ascontiguousarray(scores_of(forest, direction, slopes)),
        roots_of(forest, roots),
    )
    parts = zip(
        lines.starts.tolist(), lines.slopes.tolist(), lines.intercepts.tolist(), strict=True
    )
    return [Segment(*part, lines.derivation(i)) for i, part in enumerate(parts)]


def best_on_lines(
    forest: Forest,
    weights: Weights | None = None,
    directions: Sequence[Weights] = (),
    *,
    reach: float,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> list[Derivation]:
    """Return the derivations that are best at some w + x * direction with |x| <= reach, each once.

    The first one is the best at w. The list is empty if the forest has no derivation. A derivation
    that is best only up to rounding may be missing.
    """
    if not 0 < reach < float("inf"):
        raise ValueError(f"a reach of {reach}: expected a finite number above 0")
    tables = [direction.table for direction in directions]
    values = scores_of(forest, weights, scores)
    return _engine.best_on_lines(forest, values, tables, reach, roots_of(forest, roots))
