"""Forests and how to make them by hand; decoders make them in the engine.

`Forest` (the engine's) is immutable; its arrays are numpy views without copies. The incoming
edges of node n are `node_edges[n] .. node_edges[n + 1]`, tails come before heads, and nodes that
never reach the goal are there too. A derivation of a node is one of its incoming edges with a
derivation of each tail; a node without incoming edges has none, so a lattice's first node needs
an edge without tails.

The features of an edge are a row, shared by all uses of a rule at a span, plus its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, Forest, RawForestBuilder, Vocabulary
from hopefear.base.weights import FeatureNames

__all__ = ["Derivation", "Forest", "ForestBuilder", "Vocabulary", "bin_nodes"]

_MOST_WORDS = 1 << 24  # of a sentence; a position beyond is a mistake
Features = Mapping[str, float] | Mapping[int, float]  # by name or by 64-bit id


class ForestBuilder:
    """Collects nodes and edges in any order; `finish` sorts them and makes the forest.

    Nodes keep their numbers unless they are out of topological order (see `node_numbers`); edges
    are sorted by head and otherwise stay in the order of adding, in which inference breaks ties
    (see `edge_order`). Vocabulary and names may be shared with other forests.
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
        """A node and its labels: covered source positions (and how many), span, symbol."""
        positions = sorted(set(coverage))
        begin, end = span if span is not None else (-1, -1)
        count = len(positions) if covered is None else covered
        for place, least in (
            (count, 0),
            (begin, -1),
            (end, -1),
            *((p, -1) for p in positions[-1:]),
        ):
            if not isinstance(place, int) or not least <= place < _MOST_WORDS:
                shown = repr(place)[:40]
                raise ValueError(f"{shown}, expected a source position below {_MOST_WORDS:,}")
        if positions and positions[0] < 0:
            raise ValueError(f"coverage {positions[0]}, expected source positions from 0")
        bits = np.zeros(positions[-1] // 64 + 1 if positions else 0, np.uint64)
        for position in positions:
            bits[position // 64] |= np.uint64(1 << (position % 64))
        number = -1 if symbol is None else self.vocabulary.intern(symbol)
        return self._raw.node(count, begin, end, number, bits)

    def row(self, features: Features, *, share: bool = True) -> int:
        """A row of features for edges to refer to; with `share` an equal one is used again."""
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
        """An edge; `target` has words and the numbers of tails, by default the tails in order.

        `features` are the edge's own, `row` the shared ones.
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
        """The forest; the builder is empty afterwards. A cycle is a `ValueError`."""
        forest = self._raw.finish(goal, id)
        self._numbers.clear()
        return forest

    @property
    def nodes(self) -> int:
        return self._raw.nodes

    @property
    def edge_order(self) -> NDArray[np.uint32]:
        """For each edge of the forest last finished its number in order of adding."""
        return self._raw.edge_order

    @property
    def node_numbers(self) -> NDArray[np.uint32]:
        """For each node in order of adding its number in the forest last finished."""
        return self._raw.node_numbers

    @staticmethod
    def _slot(tail: int) -> int:
        if tail < 0:
            raise ValueError(f"slot {tail}, expected the number of a tail, from 0")
        return -1 - int(tail)

    def _entries(self, features: Features) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        numbers = [self._number(feature) for feature in features]
        with np.errstate(over="ignore"):  # infinity, which the engine refuses
            values = np.array(list(features.values()), np.float32)
        return np.array(numbers, np.uint32), values

    def _number(self, feature: str | int) -> int:
        number = self._numbers.get(feature)
        if number is None:
            id = self.names.intern(feature) if isinstance(feature, str) else feature
            number = self._numbers[feature] = self._raw.feature(id)
        return number


def bin_nodes(forest: Forest, covered: int) -> NDArray[np.uint32]:
    """The nodes that cover so many source words: a bin of phrase search, as `roots`."""
    return np.flatnonzero(forest.covered == covered).astype(np.uint32)
