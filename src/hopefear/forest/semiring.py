"""Semirings in Python: arbitrary sums over derivations.

`fold` computes, for every node, the sum over its incoming edges of the edge's value times the
values of its tails. It is meant for tests, counting and experiments; the common semirings (best
score, log sum, expectations) are implemented in the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from hopefear._engine import Forest
from hopefear.forest.score import Roots, roots_of

T = TypeVar("T")


@dataclass(frozen=True)
class Semiring(Generic[T]):
    """A semiring: `plus` with neutral element `zero`, `times` with neutral element `one`.

    Both operations must be associative; `times` need not be commutative.
    """

    zero: T
    one: T
    plus: Callable[[T, T], T]
    times: Callable[[T, T], T]


COUNTING: Semiring[int] = Semiring(0, 1, lambda a, b: a + b, lambda a, b: a * b)
BOOLEAN: Semiring[bool] = Semiring(False, True, lambda a, b: a or b, lambda a, b: a and b)
TROPICAL: Semiring[float] = Semiring(-math.inf, 0.0, max, lambda a, b: a + b)
LOG: Semiring[float] = Semiring(
    -math.inf, 0.0, lambda a, b: float(np.logaddexp(a, b)), lambda a, b: a + b
)
# Sets of strings (tuples of words) with union and concatenation; needs the argument `word`.
STRINGS: Semiring[frozenset[tuple[str, ...]]] = Semiring(
    frozenset(),
    frozenset([()]),
    lambda a, b: a | b,
    lambda a, b: frozenset(x + y for x in a for y in b),
)


def fold(
    forest: Forest,
    semiring: Semiring[T],
    values: Sequence[T] | Callable[[int], T] | None = None,
    *,
    word: Callable[[str], T] | None = None,
    roots: Roots | None = None,
) -> T:
    """Return the sum, over the derivations of the roots, of the product of their edges' values.

    `values` has one value per edge, or is a function of the edge (default: `semiring.one`). An
    edge's factors are its value, then its tails in order. With `word`, which maps a target word to
    a value, they are its value, then the words and tails of its target side from left to right.
    """
    return _total(semiring, node_values(forest, semiring, values, word=word), forest, roots)


def node_values(
    forest: Forest,
    semiring: Semiring[T],
    values: Sequence[T] | Callable[[int], T] | None = None,
    *,
    word: Callable[[str], T] | None = None,
) -> list[T]:
    """Return the sum over the derivations of each node (arguments as for `fold`)."""
    if values is not None and not callable(values) and len(values) != forest.edges:
        raise ValueError(f"{len(values)} values for {forest.edges} edges")
    tails, tail_begin = forest.tails.tolist(), forest.tail_begin.tolist()
    target, target_begin = forest.target.tolist(), forest.target_begin.tolist()
    node_edges = forest.node_edges.tolist()
    result: list[T] = []
    for node in range(forest.nodes):
        total = semiring.zero
        for edge in range(node_edges[node], node_edges[node + 1]):
            product = _edge_value(semiring, values, edge)
            parts = [result[tail] for tail in tails[tail_begin[edge] : tail_begin[edge + 1]]]
            if word is not None:
                symbols = target[target_begin[edge] : target_begin[edge + 1]]
                parts = [
                    word(forest.vocabulary.word(s)) if s >= 0 else parts[-1 - s] for s in symbols
                ]
            for part in parts:
                product = semiring.times(product, part)
            total = semiring.plus(total, product)
        result.append(total)
    return result


def count(forest: Forest, *, roots: Roots | None = None) -> int:
    """Return the exact number of derivations of the roots."""
    return fold(forest, COUNTING, roots=roots)


def strings(forest: Forest, *, roots: Roots | None = None) -> frozenset[tuple[str, ...]]:
    """Return the set of all target strings, as tuples of words; for small forests."""
    return fold(forest, STRINGS, word=lambda w: frozenset([(w,)]), roots=roots)


def _edge_value(semiring: Semiring[T], values: Any, edge: int) -> T:
    if values is None:
        return semiring.one
    value: T = values(edge) if callable(values) else values[edge]
    return value


def _total(semiring: Semiring[T], values: list[T], forest: Forest, roots: Roots | None) -> T:
    total = semiring.zero
    for root in np.unique(roots_of(forest, roots)).tolist():
        total = semiring.plus(total, values[root])
    return total
