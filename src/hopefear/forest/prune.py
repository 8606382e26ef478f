"""Subforests: edges that derivations use, edges above a pruning threshold, selected edges.

Results are new forests, whose i-th edge is the i-th kept edge of the old forest. Rows, labels,
words and the goal are unchanged; nodes without a kept edge are removed, except the goal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.weights import Weights
from hopefear.forest.score import Roots, roots_of, scores_of


def select(forest: Forest, mask: ArrayLike, *, keep_nodes: bool = False) -> Forest:
    """Return the forest of the edges where `mask` (one bool per edge) is true.

    With `keep_nodes`, nodes without a kept edge stay.
    """
    return _engine.select_edges(forest, np.ascontiguousarray(mask, np.bool_), keep_nodes)


def trim(forest: Forest, *, roots: Roots | None = None) -> Forest:
    """Return the forest without the edges and nodes that no derivation of the roots uses.

    Scores do not matter.
    """
    return select(forest, _engine.useful_edges(forest, roots_of(forest, roots)))


def max_marginals(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> NDArray[np.float64]:
    """Return, per edge, the score of the best derivation that uses it; -inf if there is none."""
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
    """Return the forest without the edges below a threshold, and those that become useless.

    `margin`: keep an edge if the best derivation that uses it scores at least the best score minus
    the margin. `posterior`: keep an edge if its expected number of uses is at least this; the best
    derivation is always kept. `density`: use the margin that keeps this number of edges per word
    of the best derivation (more if there are ties).
    """
    thresholds = {"margin": margin, "posterior": posterior, "density": density}
    requested = [(name, value) for name, value in thresholds.items() if value is not None]
    if len(requested) != 1:
        raise TypeError("give one of margin, posterior and density")
    name, value = requested[0]
    if not value >= 0:
        raise ValueError(f"{name} {value}: expected a number from 0")
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    if name == "density":
        value = _margin_of(forest, values, nodes, value)
    return select(forest, _engine.prune_mask(forest, values, nodes, value, name != "posterior"))


def _margin_of(
    forest: Forest, scores: NDArray[np.float64], roots: NDArray[np.uint32], density: float
) -> float:
    """Return the margin that keeps `density` edges for each word of the best derivation."""
    best = _engine.viterbi(forest, scores, roots)
    if best is None:
        return 0.0
    edge_bests = _engine.max_marginals(forest, scores, roots)
    edge_bests = np.sort(edge_bests[edge_bests > -np.inf])
    last_pruned = len(edge_bests) - 1 - int(density * max(1, len(best.words)))
    return max(0.0, best.score - float(edge_bests[max(0, last_pruned)]))
