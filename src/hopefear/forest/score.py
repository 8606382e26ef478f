"""Common arguments of inference: one score per edge, and the roots.

Scores come from weights (w.f of each edge) or are given directly; -inf forbids an edge; NaN and
+inf are errors. To call several functions under the same weights, compute `edge_scores` once.
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
    """Return w.f of every edge, in double precision."""
    return _engine.edge_scores(forest, weights.table)


def scores_of(forest: Forest, weights: Weights | None, scores: ArrayLike | None) -> Scores:
    """Return the given scores, or else the edge scores under the weights."""
    if (weights is None) == (scores is None):
        raise TypeError("give either weights or scores")
    if weights is not None:
        return edge_scores(forest, weights)
    return np.ascontiguousarray(scores, np.float64)


def useful_scores(forest: Forest, scores: Scores, roots: NDArray[np.uint32]) -> Scores:
    """Return the scores with -inf for the edges that no derivation of the roots uses.

    Decoders keep many nodes that never reach the goal; with these scores they are not expanded.
    """
    if len(scores) != forest.edges:
        raise ValueError(f"{len(scores)} scores for a forest of {forest.edges} edges")
    return np.where(_engine.useful_edges(forest, roots), scores, -np.inf)


def roots_of(forest: Forest, roots: Roots | None) -> NDArray[np.uint32]:
    """Return the given roots as an array; by default the goal, or nothing if there is no goal."""
    if roots is None:
        return np.array([] if forest.goal is None else [forest.goal], np.uint32)
    nodes = np.asarray(roots if isinstance(roots, np.ndarray) else list(roots))
    if nodes.size and (nodes.min() < 0 or nodes.max() >= forest.nodes):
        raise ValueError(f"roots {nodes.tolist()}: expected nodes below {forest.nodes}")
    return np.ascontiguousarray(nodes, np.uint32)
