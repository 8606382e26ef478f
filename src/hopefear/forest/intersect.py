"""The derivations of a forest that yield a given string, or a prefix, and the others.  [yu2013]

Goes in: a forest and a target. Comes out: a forest with just those derivations; or per root the
best derivation that yields something else. Nodes are split by the part of the target that they
yield (`expand` with a string automaton), so a good derivation that search had recombined with a bad
one, or the other way round, is found.
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

    forest: Forest  # its goal is what the old one became, if that was a root and yields the target
    roots: NDArray[np.uint32]
    edges: NDArray[np.uint32]  # of each edge the old one
    nodes: NDArray[np.uint32]  # of each node the old one

    def derivation(self, forest: Forest, found: Derivation, scores: ArrayLike) -> Derivation:
        """A derivation of this forest as one of the old one, under the old edges' scores."""
        return derivation_of(forest, self.edges[found.edges], scores)


def derivation_of(forest: Forest, edges: ArrayLike, scores: ArrayLike) -> Derivation:
    """The derivation of a forest with these edges, in pre-order."""
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
    """The derivations of the roots that yield the target, or with `prefix` any prefix of it.

    With `prefix` a root may become several nodes, one for each prefix (the empty one is one too).
    Only what these derivations use is kept; edges with score -inf are forbidden.
    """
    nodes = roots_of(forest, roots)
    allowed = np.zeros(forest.edges) if scores is None else scores_of(forest, None, scores)
    useful = useful_scores(forest, allowed, nodes)
    made, places = _split(forest, useful, target, others=False, limit=limit)
    wanted = _accepted(made, places, target, prefix) & np.isin(made.nodes, nodes)
    chosen = np.flatnonzero(wanted).astype(np.uint32)
    mask = _engine.useful_edges(made.forest, chosen)
    kept = select(made.forest, mask)
    # select() renumbers: used nodes in their old order.
    used = np.zeros(made.forest.nodes, np.bool_)
    used[made.forest.heads[mask]] = True
    numbers = np.cumsum(used) - 1
    return Intersection(
        _with_goal(kept, [int(numbers[n]) for n in chosen if made.nodes[n] == forest.goal]),
        numbers[chosen].astype(np.uint32),
        made.edges[mask],
        made.nodes[used],
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
    """For each root its best derivation that does not yield the target (no prefix of it).

    None for a root all of whose derivations yield it.
    """
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    useful = useful_scores(forest, values, nodes)
    made, places = _split(forest, useful, target, others=True, limit=limit)
    others = ~_accepted(made, places, target, prefix) & np.isin(made.nodes, nodes)
    best: dict[int, int] = {}  # the first of a node's states is its best one
    for node in np.flatnonzero(others).tolist():
        best.setdefault(int(made.nodes[node]), node)
    found = _engine.viterbi_each(
        made.forest, made.scores, np.fromiter(best.values(), np.uint32, len(best))
    )
    derivations = {
        node: derivation_of(forest, made.edges[derivation.edges], values)
        for node, derivation in zip(best, found, strict=True)
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
    words = split_words(target) if isinstance(target, str) else list(target)
    parts, places = _engine.split_by_string(forest, scores, words, others, limit)
    return Expanded(*parts), places.reshape(-1, 2)


def _accepted(
    made: Expanded, places: NDArray[np.int32], target: str | Sequence[str], prefix: bool
) -> NDArray[np.bool_]:
    """Of each new node whether its string is the target, or a prefix of it."""
    length = len(split_words(target) if isinstance(target, str) else target)
    begins: NDArray[np.bool_] = places[:, 0] == 0  # the first occurrence of a prefix
    whole: NDArray[np.bool_] = begins & (places[:, 1] == length)
    return begins if prefix else whole


def _with_goal(forest: Forest, goals: list[int]) -> Forest:
    return forest.with_goal(goals[0] if len(goals) == 1 else None)
