"""The upper envelope of a forest along a direction in weight space, for MERT.
[macherey2008, kumar2009]

With the weights w + x * direction every derivation's score is a line in x. The envelope says which
derivation is the best one for each x, exactly, over all derivations of the forest. Where it is
enough to know which derivations these are, for many directions, `best_on_lines` is faster.
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
    """From `start` (the first: -inf) to the next one's, `derivation` is the best.

    Its score at x is intercept + slope * x; the derivation's own `score` is the one at x = 0.
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
    """Segments from left to right, slopes ascending; none if there is no derivation.

    `slopes` gives one slope per edge in place of a direction. Of derivations with equal slope only
    the one with the largest intercept can occur. The bare numbers, without making derivations, are
    `hopefear._engine.Envelope`.
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
    """The derivations that are best at some w + x * direction with |x| <= reach, each once.

    The first is the best one at w itself; no derivation at all gives an empty list. What is best by
    rounding only may be missing.
    """
    if not 0 < reach < float("inf"):
        raise ValueError(f"a reach of {reach}: expected a finite number above 0")
    tables = [direction.table for direction in directions]
    values = scores_of(forest, weights, scores)
    return _engine.best_on_lines(forest, values, tables, reach, roots_of(forest, roots))
