"""Forests, and a builder that makes them from Python; decoders build theirs in the engine.

`Forest` (an engine class) is immutable; its arrays are numpy views without copies. The incoming
edges of node n are `node_edges[n] .. node_edges[n + 1]`; tails come before heads; nodes that never
reach the goal are included. A derivation of a node is one of its incoming edges with a derivation
of each tail. A node without incoming edges has no derivation, so the first node of a lattice needs
an edge without tails.

The features of an edge are those of a row, which all uses of a rule at a span share, plus the
edge's own features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, Forest, RawForestBuilder, Vocabulary
from hopefear.base.weights import FeatureNames

__all__ = ["Derivation", "Forest", "ForestBuilder", "Vocabulary", "bin_nodes"]

_MAX_POSITION = 1 << 24  # of a source word; larger numbers are errors
Features = Mapping[str, float] | Mapping[int, float]  # by name or by 64-bit id


class ForestBuilder:
    """Collects nodes and edges in any order; `finish` sorts them and returns the forest.

    Nodes keep their numbers unless they are out of topological order (see `node_numbers`). Edges
    are sorted by head, then in the order in which they were added, in which inference breaks ties
    (see `edge_order`). Several forests can share a vocabulary and feature names.
    """

    def __init__(
        self, *, vocabulary: Vocabulary | None = None, names: FeatureNames | None = None
    ) -> None:
        self.vocabulary = vocabulary if vocabulary is not None else Vocabulary()
        self.names = names if names is not None else FeatureNames()
        self._raw = RawForestBuilder(self.vocabulary, self.names)
        self._numbers: dict[str | int, int] = {}  # feature -> local number

    def node(
        self,
        *,
        covered: int | None = None,
        coverage: Iterable[int] = (),
        span: tuple[int, int] | None = None,
        symbol: str | None = None,
    ) -> int:
        """Add a node with its labels and return its number.

        `covered` is the number of covered source words (default: the size of `coverage`),
        `coverage` their positions.
        """
        positions = sorted(set(coverage))
        begin, end = span if span is not None else (-1, -1)
        count = len(positions) if covered is None else covered
        for position, minimum in (
            (count, 0),
            (begin, -1),
            (end, -1),
            *((p, -1) for p in positions[-1:]),
        ):
            if not isinstance(position, int) or not minimum <= position < _MAX_POSITION:
                value = repr(position)[:40]
                raise ValueError(f"{value}, expected a source position below {_MAX_POSITION:,}")
        if positions and positions[0] < 0:
            raise ValueError(f"coverage {positions[0]}, expected source positions from 0")
        bits = np.zeros(positions[-1] // 64 + 1 if positions else 0, np.uint64)
        for position in positions:
            bits[position // 64] |= np.uint64(1 << (position % 64))
        number = -1 if symbol is None else self.vocabulary.intern(symbol)
        return self._raw.node(count, begin, end, number, bits)

    def row(self, features: Features, *, share: bool = True) -> int:
        """Add a row of features that edges can refer to and return its number.

        With `share`, an equal row is reused.
        """
        return self._raw.row(*self._entries(features), share)

    def edge(
        self,
        head: int,
        tails: Sequence[int] = (),
        target: Sequence[str | int] | None = None,
        *,
        features: Features | None = None,
        row: int | None = None,
        rule: int = -1,
    ) -> int:
        """Add an edge and return its number.

        `target` consists of words and indices into `tails` (default: all tails in order).
        `features` are the edge's own features, `row` is the row that it shares.
        """
        if target is None:
            target = range(len(tails))
        symbols = [
            self.vocabulary.intern(symbol) if isinstance(symbol, str) else self._slot(symbol)
            for symbol in target
        ]
        entries = self._entries(features or {})
        return self._raw.edge(head, list(tails), symbols, row, *entries, rule)

    def finish(self, goal: int | None = None, *, id: str = "") -> Forest:
        """Return the forest and empty the builder; raises `ValueError` if there is a cycle."""
        forest = self._raw.finish(goal, id)
        self._numbers.clear()
        return forest

    @property
    def nodes(self) -> int:
        """Number of nodes added."""
        return self._raw.nodes

    @property
    def edge_order(self) -> NDArray[np.uint32]:
        """For each edge of the last finished forest, the number that `edge` returned."""
        return self._raw.edge_order

    @property
    def node_numbers(self) -> NDArray[np.uint32]:
        """For each number that `node` returned, the node's number in the last finished forest."""
        return self._raw.node_numbers

    @staticmethod
    def _slot(tail: int) -> int:
        if tail < 0:
            raise ValueError(f"slot {tail}, expected an index into the tails, from 0")
        return -1 - int(tail)

    def _entries(self, features: Features) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        numbers = [self._number(feature) for feature in features]
        with np.errstate(over="ignore"):  # overflow gives infinity, which the engine rejects
            values = np.array(list(features.values()), np.float32)
        return np.array(numbers, np.uint32), values

    def _number(self, feature: str | int) -> int:
        number = self._numbers.get(feature)
        if number is None:
            id = self.names.intern(feature) if isinstance(feature, str) else feature
            number = self._numbers[feature] = self._raw.feature(id)
        return number


def bin_nodes(forest: Forest, covered: int) -> NDArray[np.uint32]:
    """Return the nodes that cover `covered` source words: a bin of phrase search, for `roots`."""
    return np.flatnonzero(forest.covered == covered).astype(np.uint32)
