"""Candidate translations in groups, as flat arrays: what batch tuners learn from.

A group is the candidates of one sentence (search-aware tuning: of one sentence and bin). Rows of a
group are contiguous and in the order in which they came; ties of scores go to the first row.

    candidates.scores(w)                    # w.f of every row; w in the order of candidates.ids
    candidates.best(scores)                 # per group the number of its best row
    candidates.statistics[rows].sum(axis=0) # what metric.score takes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.weights import FeatureNames, Weights

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureTable:
    """Feature vectors of many rows: columns for the features that most rows have, the rest sparse.

    A row's vector is dense[row] for the features ids[:D] and sparse[row] (CSR, or None if there is
    nothing) for ids[D:].
    """

    ids: NDArray[np.uint64]  # (F,)
    dense: NDArray[np.float32]  # (rows, D)
    sparse: Any = None  # scipy.sparse.csr_array of float32, (rows, F - D), or None

    @property
    def rows(self) -> int:
        return int(self.dense.shape[0])

    def dot(self, weights: FloatArray) -> FloatArray:
        """w.f of every row, in double."""
        columns = self.dense.shape[1]
        found: FloatArray = self.dense @ weights[:columns]
        if self.sparse is not None:
            found = found + self.sparse @ weights[columns:]
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class Candidates:
    """Groups of rows with features and statistics of the metric."""

    begin: NDArray[np.int64]  # (groups + 1,): rows of group g are begin[g] .. begin[g + 1]
    sentences: NDArray[np.int32]  # (groups,): the number of the sentence
    features: FeatureTable
    statistics: NDArray[np.int32]  # (rows, columns of the metric)
    names: FeatureNames

    @property
    def groups(self) -> int:
        return len(self.begin) - 1

    def vector(self, weights: Weights) -> FloatArray:
        """The weights of these candidates' features, in the order of `features.ids`."""
        return np.array([weights[int(id)] for id in self.features.ids], dtype=np.float64)

    def scores(self, vector: FloatArray) -> FloatArray:
        return self.features.dot(vector)

    def best(self, scores: FloatArray) -> NDArray[np.int64]:
        """Per group the row with the largest score, the first of equal ones; -1 if it is empty."""
        found = np.full(self.groups, -1, dtype=np.int64)
        filled = np.flatnonzero(np.diff(self.begin) > 0)
        if len(filled) == 0:
            return found
        starts = self.begin[:-1][filled]
        highest = np.maximum.reduceat(scores, starts)
        sizes = np.diff(self.begin)[filled]
        rows = np.flatnonzero(scores == np.repeat(highest, sizes))
        groups = np.searchsorted(self.begin, rows, side="right") - 1
        # Backwards, so that the first of equal rows is the one that stays.
        found[groups[::-1]] = rows[::-1]
        return found
