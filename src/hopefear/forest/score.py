"""What every inference function begins with: one score per edge, and the roots.

Scores come from weights (w.f of each edge) or are given directly; -inf forbids an edge, NaN and
+inf are refused. Whoever asks several questions under the same weights computes `edge_scores`
once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.weights import Weights

Roots = Iterable[int] | NDArray[np.uint32]
Scores = NDArray[np.float64]


def edge_scores(forest: Forest, weights: Weights) -> Scores:
    """w.f of every edge, in double."""
    return _engine.edge_scores(forest, weights.table)


def scores_of(forest: Forest, weights: Weights | None, scores: ArrayLike | None) -> Scores:
    """The scores that a caller means: his own, or those under his weights."""
    if (weights is None) == (scores is None):
        raise TypeError("give either weights or scores")
    if weights is not None:
        return edge_scores(forest, weights)
    return np.ascontiguousarray(scores, np.float64)


def useful_scores(forest: Forest, scores: Scores, roots: NDArray[np.uint32]) -> Scores:
    """The scores with edges forbidden that no derivation of the roots uses.

    Search keeps many nodes that never reach the goal; whoever splits nodes need not split those.
    """
    if len(scores) != forest.edges:
        raise ValueError(f"{len(scores)} scores for a forest of {forest.edges} edges")
    return np.where(_engine.useful_edges(forest, roots), scores, -np.inf)


def roots_of(forest: Forest, roots: Roots | None) -> NDArray[np.uint32]:
    """The roots that a caller means: his own, or the goal if there is one."""
    if roots is None:
        return np.array([] if forest.goal is None else [forest.goal], np.uint32)
    nodes = np.asarray(roots if isinstance(roots, np.ndarray) else list(roots))
    if nodes.size and (nodes.min() < 0 or nodes.max() >= forest.nodes):
        raise ValueError(f"roots {nodes.tolist()}: expected nodes below {forest.nodes}")
    return np.ascontiguousarray(nodes, np.uint32)
