"""Smaller forests: only what derivations use, only what is good enough, only chosen edges.

Results are new forests; the i-th edge of one is the i-th kept edge of the old one. Rows, labels,
words and the goal stay what they are; nodes without any kept edge go, except the goal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.weights import Weights
from hopefear.forest.score import Roots, roots_of, scores_of


def select(forest: Forest, mask: ArrayLike, *, keep_nodes: bool = False) -> Forest:
    """The edges where `mask` (one truth value per edge) is true; `keep_nodes` keeps all nodes."""
    return _engine.select_edges(forest, np.ascontiguousarray(mask, np.bool_), keep_nodes)


def trim(forest: Forest, *, roots: Roots | None = None) -> Forest:
    """Without the edges and nodes that no derivation of the roots uses, whatever the scores."""
    return select(forest, _engine.useful_edges(forest, roots_of(forest, roots)))


def max_marginals(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> NDArray[np.float64]:
    """Per edge the score of the best derivation that uses it, -inf if there is none."""
    values = scores_of(forest, weights, scores)
    return _engine.max_marginals(forest, values, roots_of(forest, roots))


def prune(
    forest: Forest,
    weights: Weights | None = None,
    *,
    margin: float | None = None,
    posterior: float | None = None,
    density: float | None = None,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Forest:
    """Without the edges that are too bad, and what is useless without them.

    `margin`: the best derivation that uses the edge must score at least the best one minus the
    margin. `posterior`: the edge's expected number of uses must be at least so large; the best
    derivation stays in any case. `density`: the margin at which so many edges are left for each
    word of the best derivation, or more where that many are equally good.
    """
    given = {"margin": margin, "posterior": posterior, "density": density}
    chosen = [(name, value) for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise TypeError("give one of margin, posterior and density")
    name, value = chosen[0]
    if not value >= 0:
        raise ValueError(f"prune at {value}: expected a number from 0")
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    if name == "density":
        value = _margin_of(forest, values, nodes, value)
    return select(forest, _engine.prune_mask(forest, values, nodes, value, name != "posterior"))


def _margin_of(
    forest: Forest, scores: NDArray[np.float64], roots: NDArray[np.uint32], density: float
) -> float:
    """The margin that leaves so many edges for each word of the best derivation."""
    best = _engine.viterbi(forest, scores, roots)
    if best is None:
        return 0.0
    through = _engine.max_marginals(forest, scores, roots)
    through = np.sort(through[through > -np.inf])
    first_left_out = len(through) - 1 - int(density * max(1, len(best.words)))
    return max(0.0, best.score - float(through[max(0, first_left_out)]))
