"""Intersection of a forest with a string: the derivations that yield it, or the others.  [yu2013]

Takes a forest and a target; returns a forest with just the derivations that yield the target (or a
prefix of it), or per root the best derivation that yields something else. Nodes are split by the
part of the target that they yield (`expand` with a string automaton), so that derivations are found
even if the search recombined a good one with a bad one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.weights import Weights
from hopefear.forest.expand import Expanded
from hopefear.forest.prune import select
from hopefear.forest.score import Roots, roots_of, scores_of, useful_scores
from hopefear.text.tokenizers.plain import split_words


class Intersection(NamedTuple):
    """A forest whose derivations of `roots` are those that yield the target (or a prefix)."""

    forest: Forest  #: has a goal if the original goal is a root and yields the target
    roots: NDArray[np.uint32]
    edges: NDArray[np.uint32]  #: per edge: the original edge
    nodes: NDArray[np.uint32]  #: per node: the original node

    def derivation(self, forest: Forest, derivation: Derivation, scores: ArrayLike) -> Derivation:
        """Take the original forest, a derivation of the intersection, and original edge scores;
        return the same derivation in the original forest.
        """
        return derivation_of(forest, self.edges[derivation.edges], scores)


def derivation_of(forest: Forest, edges: ArrayLike, scores: ArrayLike) -> Derivation:
    """Take a forest, edges in pre-order and edge scores; return the derivation of these edges."""
    numbers = np.ascontiguousarray(edges, np.uint32)
    return Derivation(forest, numbers, float(np.asarray(scores)[numbers].sum()))


def intersect(
    forest: Forest,
    target: str | Sequence[str],
    *,
    prefix: bool = False,
    roots: Roots | None = None,
    scores: ArrayLike | None = None,
    limit: int = _engine.EXPAND_LIMIT,
) -> Intersection:
    """Return the derivations of the roots that yield the target, or with `prefix` a prefix of it.

    With `prefix`, a root becomes one node for each prefix that it yields (the empty prefix counts).
    Nodes and edges that no such derivation uses are dropped; a score of -inf forbids an edge.
    """
    nodes = roots_of(forest, roots)
    allowed = np.zeros(forest.edges) if scores is None else scores_of(forest, None, scores)
    useful = useful_scores(forest, allowed, nodes)
    split, positions = _split(forest, useful, target, others=False, limit=limit)
    accepted = _accepted(positions, target, prefix) & np.isin(split.nodes, nodes)
    new_roots = np.flatnonzero(accepted).astype(np.uint32)
    mask = _engine.useful_edges(split.forest, new_roots)
    kept = select(split.forest, mask)
    # select() renumbers the nodes that it keeps, in their old order.
    used = np.zeros(split.forest.nodes, np.bool_)
    used[split.forest.heads[mask]] = True
    numbers = np.cumsum(used) - 1
    return Intersection(
        _with_goal(kept, [int(numbers[n]) for n in new_roots if split.nodes[n] == forest.goal]),
        numbers[new_roots].astype(np.uint32),
        split.edges[mask],
        split.nodes[used],
    )


def best_other(
    forest: Forest,
    target: str | Sequence[str],
    weights: Weights | None = None,
    *,
    prefix: bool = False,
    roots: Roots | None = None,
    scores: ArrayLike | None = None,
    limit: int = _engine.EXPAND_LIMIT,
) -> list[Derivation | None]:
    """Return, per root, the best derivation that does not yield the target.

    With `prefix`, the best one that yields no prefix of the target. None for a root that has no
    such derivation.
    """
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    useful = useful_scores(forest, values, nodes)
    split, positions = _split(forest, useful, target, others=True, limit=limit)
    others = ~_accepted(positions, target, prefix) & np.isin(split.nodes, nodes)
    best: dict[int, int] = {}  # original node -> its best state, which is the first
    for node in np.flatnonzero(others).tolist():
        best.setdefault(int(split.nodes[node]), node)
    best_derivations = _engine.viterbi_each(
        split.forest, split.scores, np.fromiter(best.values(), np.uint32, len(best))
    )
    derivations = {
        node: derivation_of(forest, split.edges[derivation.edges], values)
        for node, derivation in zip(best, best_derivations, strict=True)
        if derivation is not None
    }
    return [derivations.get(node) for node in nodes.tolist()]


def _split(
    forest: Forest,
    scores: NDArray[np.float64],
    target: str | Sequence[str],
    *,
    others: bool,
    limit: int,
) -> tuple[Expanded, NDArray[np.int32]]:
    """Return the split forest and, per node, where its string begins and ends in the target."""
    words = split_words(target) if isinstance(target, str) else list(target)
    parts, positions = _engine.split_by_string(forest, scores, words, others, limit)
    return Expanded(*parts), positions.reshape(-1, 2)


def _accepted(
    positions: NDArray[np.int32], target: str | Sequence[str], prefix: bool
) -> NDArray[np.bool_]:
    """Return, per split node, whether its string is the target (`prefix`: a prefix of it)."""
    length = len(split_words(target) if isinstance(target, str) else target)
    is_prefix: NDArray[np.bool_] = positions[:, 0] == 0  # the first occurrence of a prefix
    is_target: NDArray[np.bool_] = is_prefix & (positions[:, 1] == length)
    return is_prefix if prefix else is_target


def _with_goal(forest: Forest, goals: list[int]) -> Forest:
    return forest.with_goal(goals[0] if len(goals) == 1 else None)
