"""Looks: what is kept of a decoder's answer for a sentence.

A look is made by the process that decoded the sentence, and only its result leaves that process:
the best translation, a k-best list as arrays, or a forest without its useless parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, Forest, collect_rows
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded
from hopefear.forest import forest_from_bytes, forest_to_bytes, kbest, trim, viterbi
from hopefear.learn.pool.feature_selection import fired_in
from hopefear.learn.pool.search_aware import BinRows, Bins, How, words_of
from hopefear.metrics import Metric

R = TypeVar("R")
Ids = NDArray[np.uint64]
Function = Callable[[int, Decoded], R]
_NO_IDS: Ids = np.zeros(0, np.uint64)


class Look(ABC, Generic[R]):
    """What is kept of an answer; a dataclass that can be pickled."""

    @abstractmethod
    def open(self, names: FeatureNames) -> Function[R]:
        """Return the function of a sentence's number and answer; `names`: the decoder's."""

    def ids(self, result: R) -> Ids:
        """Return the features of a result whose names are needed."""
        return _NO_IDS

    def pack(self, result: R) -> Any:
        """Return a result in a form that can be pickled."""
        return result

    def unpack(self, packed: Any, names: FeatureNames) -> R:
        """Return the result that was packed; `names`: takes names of features that came with it."""
        result: R = packed
        return result


@dataclass(frozen=True)
class BestText(Look[str]):
    """The best translation; empty if there is none."""

    weights: Weights

    def open(self, names: FeatureNames) -> Function[str]:
        return lambda number, decoded: _best_text(decoded, self.weights)


def _best_text(decoded: Decoded, weights: Weights) -> str:
    best = viterbi(decoded.forest, weights)
    return "" if best is None else best.text


class ListRows(NamedTuple):
    """A k-best list as arrays, in the form of `collect_rows`, and its strings."""

    keys: Ids
    begin: NDArray[np.int64]
    ids: Ids
    values: NDArray[np.float32]
    texts: Sequence[str]

    @classmethod
    def of(cls, derivations: Sequence[Derivation]) -> ListRows:
        """Collect the rows of a list of derivations."""
        return cls(*collect_rows(derivations), [derivation.text for derivation in derivations])


@dataclass(frozen=True)
class BestList(Look[ListRows]):
    """A k-best list."""

    weights: Weights
    k: int
    distinct: bool

    def open(self, names: FeatureNames) -> Function[ListRows]:
        return lambda number, decoded: ListRows.of(
            kbest(decoded.forest, self.weights, self.k, distinct=self.distinct)
        )

    def ids(self, result: ListRows) -> Ids:
        return result.ids


class BinLists(NamedTuple):
    """The candidates of all bins of a sentence, those of the last bin as a k-best list."""

    rows: BinRows
    words: int  # the number of bins
    best: ListRows


@dataclass(frozen=True)
class BestBins(Look[BinLists]):
    """A k-best list, and the beams of all other bins."""

    weights: Weights
    k: int
    distinct: bool
    how: How
    future: bool
    untranslated: frozenset[int]
    metric: Metric  # `pool_metric`
    references: Sequence[Sequence[str]]

    def open(self, names: FeatureNames) -> Function[BinLists]:
        bins = Bins(self.how, self.future, names, self.untranslated)
        prepared = self.metric.prepare(self.references)

        def look(number: int, decoded: Decoded) -> BinLists:
            forest = decoded.forest
            rows = bins.counted(forest, self.weights, decoded.spans, prepared, number)
            best = kbest(forest, self.weights, self.k, distinct=self.distinct)
            return BinLists(rows, words_of(forest), ListRows.of(best))

        return look

    def ids(self, result: BinLists) -> Ids:
        return np.concatenate([result.rows.ids, result.best.ids])


@dataclass(frozen=True)
class BestForest(Look[tuple[str | None, Forest]]):
    """The best translation and the forest without the parts that do not reach the goal."""

    weights: Weights

    def open(self, names: FeatureNames) -> Function[tuple[str | None, Forest]]:
        def look(number: int, decoded: Decoded) -> tuple[str | None, Forest]:
            best = viterbi(decoded.forest, self.weights)
            return None if best is None else best.text, trim(decoded.forest)

        return look

    def pack(self, result: tuple[str | None, Forest]) -> Any:
        return result[0], forest_to_bytes(result[1])

    def unpack(self, packed: Any, names: FeatureNames) -> tuple[str | None, Forest]:
        return packed[0], forest_from_bytes(packed[1], names)


@dataclass(frozen=True)
class BestAndFired(Look[tuple[str, Ids]]):
    """The best translation and the features that are not 0 in the k-best list."""

    weights: Weights
    k: int
    distinct: bool

    def open(self, names: FeatureNames) -> Function[tuple[str, Ids]]:
        def look(number: int, decoded: Decoded) -> tuple[str, Ids]:
            derivations = kbest(decoded.forest, self.weights, self.k, distinct=self.distinct)
            return _best_text(decoded, self.weights), fired_in(derivations)

        return look

    def ids(self, result: tuple[str, Ids]) -> Ids:
        return result[1]
