"""Candidate translations in groups, as flat arrays: the data of batch tuners.

A group has the candidates of one sentence, or of a sentence and bin in search-aware tuning, where
several groups may belong to one sentence. Rows of a group are contiguous and in the order in which
they were added; ties of scores go to the first row. A group may be empty.

    w = candidates.vector(weights)              # in the order of candidates.features.ids
    rows = candidates.best(candidates.scores(w))
    metric.score(candidates.total(rows))        # = candidates.corpus_score(metric, w)
    candidates.weights(w, weights)              # Weights; features not among these are kept

`candidate_builder.CandidateBuilder` makes them from the derivations of all iterations, and
`from_arrays` from arrays of another program. Arrays may be memory-mapped: read them in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear._engine import assign_weights, best_rows, gather_weights, row_scores
from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.metrics.metric import Metric

FloatArray = NDArray[np.float64]
StatisticsArray = NDArray[np.int16] | NDArray[np.int32]

_NO_BEGIN = np.zeros(0, np.int64)
_NO_COLUMNS = np.zeros(0, np.int32)
_NO_VALUES = np.zeros(0, np.float32)


@dataclass(frozen=True)
class FeatureTable:
    """Feature vectors of rows: dense columns for frequent features, and a sparse matrix.

    A row's vector is dense[row] for the features ids[:D] and sparse[row] (CSR, or None without
    sparse features) for ids[D:].
    """

    ids: NDArray[np.uint64]  #: (F,): feature ids, dense ones first
    dense: NDArray[np.float32]  #: (rows, D): values of dense features, in C order
    sparse: Any = None  #: (rows, F - D): scipy.sparse.csr_array of float32, or None

    @property
    def rows(self) -> int:
        """The number of candidates."""
        return int(self.dense.shape[0])

    @property
    def columns(self) -> int:
        """The number D of dense features."""
        return int(self.dense.shape[1])

    def arrays(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Return the arrays for the engine: dense, and row starts, columns and values of sparse."""
        if self.sparse is None:
            return self.dense, _NO_BEGIN, _NO_COLUMNS, _NO_VALUES
        return (
            self.dense,
            np.ascontiguousarray(self.sparse.indptr, dtype=np.int64),
            np.ascontiguousarray(self.sparse.indices, dtype=np.int32),
            np.ascontiguousarray(self.sparse.data, dtype=np.float32),
        )

    def dot(self, weights: FloatArray, threads: int = 1) -> FloatArray:
        """Return w.f of every row in double precision; equal rows have equal scores."""
        if len(weights) != len(self.ids):
            raise ValueError(f"{len(weights)} weights for {len(self.ids)} features")
        vector = np.ascontiguousarray(weights, dtype=np.float64)
        return row_scores(*self.arrays(), vector, threads)

    def row(self, row: int) -> FloatArray:
        """Return the vector of a row over all features."""
        vector = np.zeros(len(self.ids))
        vector[: self.columns] = self.dense[row]
        if self.sparse is not None:
            begin, end = self.sparse.indptr[row], self.sparse.indptr[row + 1]
            np.add.at(
                vector, self.columns + self.sparse.indices[begin:end], self.sparse.data[begin:end]
            )
        return vector


@dataclass(frozen=True)
class Candidates:
    """Groups of rows with features and statistics of the metric."""

    begin: NDArray[np.int64]  #: (groups + 1,): rows of group g are begin[g] .. begin[g + 1]
    sentences: NDArray[np.int32]  #: (groups,): the number of the sentence, ascending
    features: FeatureTable
    #: (rows, columns of the metric), not negative; int16 if the sum of two rows fits, else int32.
    #: `total` sums in 64 bits.
    statistics: StatisticsArray
    names: FeatureNames
    #: (groups,): the bin of search-aware tuning; None: one group for each sentence.
    bins: NDArray[np.int32] | None = None

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.begin) - 1

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Mask of the groups of complete translations: all, or the last bin of each sentence."""
        if self.bins is None:
            return np.ones(self.groups, dtype=bool)
        return np.append(self.sentences[1:] != self.sentences[:-1], [True] * (self.groups > 0))

    @property
    def rows(self) -> int:
        """The number of candidates in all groups."""
        return self.features.rows

    def vector(self, weights: Weights) -> FloatArray:
        """Return the weights of these candidates' features, in the order of `features.ids`."""
        vector = gather_weights(weights.table, self.features.ids)
        if not np.isfinite(vector).all():
            wrong = int(np.flatnonzero(~np.isfinite(vector))[0])
            name = self.names.name(int(self.features.ids[wrong]))
            raise InputError(
                f"the weight of {name!r} is {vector[wrong]}, expected a finite number; start from "
                "other weights"
            )
        return vector

    def weights(self, vector: FloatArray, old: Weights) -> Weights:
        """Return a copy of `old` with the weights of these candidates' features set to `vector`.

        Sparse features with weight 0 get no entry unless `old` has one: there may be millions.
        """
        new = old.copy()
        chosen = (vector != 0) | (self.vector(old) != 0)
        chosen[: self.features.columns] = True
        ids = np.ascontiguousarray(self.features.ids[chosen])
        if new.names is not None and new.names is not self.names:
            for id in ids.tolist():
                name = self.names.name(id)
                if name is not None:
                    new.names.intern(name)
        assign_weights(new.table, ids, np.ascontiguousarray(vector[chosen], np.float64))
        return new

    def scores(self, vector: FloatArray, threads: int = 1) -> FloatArray:
        """Return the model score of every row."""
        return self.features.dot(vector, threads)

    def best(self, scores: FloatArray) -> NDArray[np.int64]:
        """Return the first row with the largest score of each group; -1 for an empty group."""
        return best_rows(np.ascontiguousarray(scores, dtype=np.float64), self.begin)

    def spread(self, values: NDArray[Any]) -> float:
        """Return the standard deviation of rows' values around the means of their groups."""
        begin = self.begin[:-1][np.diff(self.begin) > 0]
        if len(begin) == 0:
            return 0.0
        sizes = np.diff(np.append(begin, len(values)))
        means = np.add.reduceat(values, begin, dtype=np.float64) / sizes
        return float(np.sqrt(np.mean((values - np.repeat(means, sizes)) ** 2)))

    def corpus_score(self, metric: Metric, vector: FloatArray, threads: int = 1) -> float:
        """Return the metric's score of the best rows under these weights."""
        return float(metric.score(self.total(self.best(self.scores(vector, threads)))))

    def total(self, rows: ArrayLike) -> NDArray[np.int64]:
        """Return the summed statistics of rows for `metric.score`; rows of -1 are skipped."""
        chosen = np.asarray(rows, dtype=np.int64)
        summed: NDArray[np.int64] = self.statistics[chosen[chosen >= 0]].sum(axis=0, dtype=np.int64)
        return summed

    def fixed(self, ids: frozenset[int]) -> NDArray[np.bool_]:
        """Take ids of fixed features (`Task.fixed`) and return a mask over `features.ids`."""
        if not ids:
            return np.zeros(len(self.features.ids), dtype=bool)
        return np.isin(self.features.ids, np.array(sorted(ids), dtype=np.uint64))

    def part(self, groups: ArrayLike) -> Candidates:
        """Return the candidates of the given groups, such as a fold of cross-validation."""
        chosen = np.asarray(groups, dtype=np.int64)
        return self._part(chosen, np.diff(self.begin)[chosen])

    def shortened(self, size: int) -> Candidates:
        """Return the first candidates of every group, at most `size` of them."""
        return self._part(np.arange(self.groups), np.minimum(np.diff(self.begin), size))

    def _part(self, chosen: NDArray[np.int64], sizes: NDArray[np.int64]) -> Candidates:
        """Return the first candidates of the chosen groups."""
        begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.begin[:-1][chosen] - begin[:-1], sizes) + np.arange(begin[-1])
        table = self.features
        sparse = None if table.sparse is None else table.sparse[rows]
        return Candidates(
            begin,
            self.sentences[chosen],
            FeatureTable(table.ids, np.ascontiguousarray(table.dense[rows]), sparse),
            self.statistics[rows],
            self.names,
            None if self.bins is None else self.bins[chosen],
        )


def from_arrays(
    sentences: ArrayLike,
    dense: ArrayLike,
    statistics: ArrayLike,
    features: Sequence[str],
    *,
    sparse: Any = None,
    bins: ArrayLike | None = None,
    names: FeatureNames | None = None,
) -> Candidates:
    """Return candidates from arrays with a row per candidate, in any order of sentences.

    `features` names the columns of `dense` and then those of `sparse` (a scipy matrix). Rows of one
    sentence (and bin) become a group, in their order; groups are sorted by sentence and bin.
    """
    numbers = np.asarray(sentences, dtype=np.int32)
    values = np.ascontiguousarray(dense, dtype=np.float32)
    rows = len(numbers)
    if values.ndim != 2 or len(values) != rows or len(np.asarray(statistics)) != rows:
        raise InputError(
            f"{rows} sentence numbers, features of shape {values.shape}, "
            f"{len(np.asarray(statistics))} rows of statistics; expected one row for each candidate"
        )
    names = names if names is not None else FeatureNames()
    ids = np.array([names.intern(name) for name in features], dtype=np.uint64)
    if len(set(ids.tolist())) != len(ids):
        raise InputError(f"features {list(features)}: a name occurs twice; expected each once")
    table = None
    if sparse is not None and sparse.shape[1]:
        from scipy.sparse import csr_array

        table = csr_array(sparse, dtype=np.float32)
    wide = values.shape[1] + (0 if table is None else table.shape[1])
    if wide != len(ids) or (table is not None and table.shape[0] != rows):
        raise InputError(f"{len(ids)} feature names for {wide} columns of {rows} rows")
    check_finite(values, ids, names)
    if table is not None:
        check_finite(table.data[:, None], None, names)
    kinds = np.zeros(rows, np.int32) if bins is None else np.asarray(bins, dtype=np.int32)
    order, begin, which = grouped(numbers, kinds)
    if not np.array_equal(order, np.arange(rows)):
        values = np.ascontiguousarray(values[order])
        table = None if table is None else table[order]
    return Candidates(
        begin,
        numbers[which],
        FeatureTable(ids, values, table),
        narrow(np.asarray(statistics))[order],
        names,
        None if bins is None else kinds[which],
    )


def grouped(
    sentences: NDArray[np.int32], bins: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rows sorted by sentence, bin and position; the starts of groups; a row of each."""
    order = np.lexsort((np.arange(len(sentences)), bins, sentences)).astype(np.int64)
    ordered, kinds = sentences[order], bins[order]
    new = np.flatnonzero((np.diff(ordered) != 0) | (np.diff(kinds) != 0)) + 1
    starts = np.concatenate([[0], new]).astype(np.int64) if len(order) else np.zeros(0, np.int64)
    return order, np.append(starts, len(order)), order[starts]


def narrow(statistics: NDArray[Any]) -> StatisticsArray:
    """Convert counts to the smallest integer type that holds the sum of two of them."""
    if statistics.size and statistics.min() < 0:
        raise ValueError("statistics are counts, from 0")
    top = int(statistics.max()) if statistics.size else 0
    if top >= 2**31:
        raise ValueError(f"a statistic is {top}; expected less than 2^31")
    if top < 2**14:
        return statistics.astype(np.int16, copy=False)
    return statistics.astype(np.int32, copy=False)


def check_finite(
    values: NDArray[np.float32], ids: NDArray[np.uint64] | None, names: FeatureNames, first: int = 0
) -> None:
    """Raise an error for NaN and infinite values."""
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = map(int, wrong[0])
        name = "a sparse feature" if ids is None else f"feature {names.name(int(ids[column]))!r}"
        raise InputError(
            f"candidate {first + row}: {name} is {values[row, column]}, expected a finite number; "
            "mend or drop the candidate"
        )
