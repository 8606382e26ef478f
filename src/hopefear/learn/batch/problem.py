"""What batch tuners on k-best pools share: gains, features as matrices, the way back to weights.

Goes in: a pool, the last weights, the task. Comes out: vectors in the order of
`candidates.features.ids`, which features may move, per row its gain, the corpus score of the rows
that a vector chooses, and new `Weights` in which everything that may not move stayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.config import part_of
from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.learn.pool.candidates import Candidates, FeatureTable, FloatArray
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.metric import Metric
from hopefear.metrics.ngram_metric import NgramMetric

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_MOST_IN_DOUBLE = 1 << 27  # numbers: 1 GB
_ROWS_AT_ONCE = 1 << 17  # when gains are counted


@dataclass(frozen=True)
class Matrix:
    """Rows of features: the first columns dense, the others sparse (CSR) or none."""

    dense: FloatArray | NDArray[np.float32]  # (rows, D)
    sparse: Any = None  # scipy.sparse.csr_array, (rows, F - D), or None

    @classmethod
    def of(cls, table: FeatureTable) -> Matrix:
        # Once here: every product with a vector of doubles would convert it again. A very large
        # table stays as it is, perhaps on disk, and is converted piece by piece each time.
        sparse = None if table.sparse is None else table.sparse.astype(np.float64)
        small = table.dense.size <= _MOST_IN_DOUBLE
        return cls(table.dense.astype(np.float64) if small else table.dense, sparse)

    @classmethod
    def of_differences(cls, table: FeatureTable, first: IntArray, second: IntArray) -> Matrix:
        """Rows `first` minus rows `second` of a table."""
        dense = table.dense[first].astype(np.float64) - table.dense[second]
        if table.sparse is None:
            return cls(dense)
        return cls(dense, (table.sparse[first] - table.sparse[second]).astype(np.float64).tocsr())

    @property
    def shape(self) -> tuple[int, int]:
        more = 0 if self.sparse is None else int(self.sparse.shape[1])
        return int(self.dense.shape[0]), int(self.dense.shape[1]) + more

    def dot(self, vector: FloatArray) -> FloatArray:
        """X v."""
        width = self.dense.shape[1]
        found = times(self.dense, vector[:width])
        return found if self.sparse is None else found + self.sparse @ vector[width:]

    def adjoint(self, vector: FloatArray) -> FloatArray:
        """X' v."""
        found = times_transposed(self.dense, vector)
        return found if self.sparse is None else np.concatenate([found, self.sparse.T @ vector])


# Not by "@": on tall matrices with a dozen columns BLAS's threads burn ten times the work waiting
# for each other, and on wide ones it is no faster, since memory is what it waits for.


def times(matrix: NDArray[Any], vector: FloatArray) -> FloatArray:
    """X v."""
    found: FloatArray = np.einsum("ij,j->i", matrix, vector)
    return found


def times_transposed(matrix: NDArray[Any], vector: FloatArray) -> FloatArray:
    """X' v."""
    found: FloatArray = np.einsum("i,ij->j", vector, matrix)
    return found


class Block:
    """The rows of one group with only the columns that are not 0 there.

    For learners that go from sentence to sentence: what a step costs depends on the sentence, not
    on the number of all features.
    """

    def __init__(self, matrix: Matrix, begin: int, end: int, free: BoolArray) -> None:
        dense = matrix.dense[begin:end].astype(np.float64, copy=False)
        self.columns: IntArray = np.arange(dense.shape[1])
        self.features: Any = dense  # (rows, columns): an array, or a CSR array if that is smaller
        if matrix.sparse is not None:
            from scipy.sparse import csr_array, hstack

            part = matrix.sparse[begin:end]
            used, local = np.unique(part.indices, return_inverse=True)
            shape = (end - begin, len(used))
            part = csr_array((part.data, local, part.indptr), shape=shape)
            self.columns = np.concatenate([self.columns, dense.shape[1] + used])
            # An entry of a sparse row costs several times that of a dense one.
            if 4 * part.nnz >= shape[0] * shape[1]:
                self.features = np.hstack([dense, part.toarray()])
            else:
                self.features = csr_array(hstack([csr_array(dense), part]))
        self.free = free[self.columns]
        self._sparse = not isinstance(self.features, np.ndarray)

    def dot(self, vector: FloatArray) -> FloatArray:
        """The product of each row with a vector of all features."""
        found: FloatArray = self.features @ vector[self.columns]
        return found

    def difference(self, first: int, second: int) -> FloatArray:
        """Row `first` minus row `second`, at `columns`, 0 for features that are fixed."""
        if self._sparse:
            found = (self.features[[first]] - self.features[[second]]).toarray()[0]
        else:
            found = self.features[first] - self.features[second]
        return np.where(self.free, found, 0.0)


class Problem:
    """A pool of candidates as a tuner sees it. Groups without a candidate are left out."""

    def __init__(self, pool: Pool, weights: Weights, task: Task, *, smooth_brevity: bool = False):
        if pool.candidates is None:
            raise ValueError("this tuner learns from candidates, but the pool has none")
        self.candidates: Candidates = pool.candidates
        self.metric: Metric = pool.metric
        self.last = weights
        self.start: FloatArray = self.candidates.vector(weights)  # (F,)
        self.free: BoolArray = ~self.candidates.fixed(task.fixed)
        sizes = np.diff(self.candidates.begin)
        filled = np.flatnonzero(sizes > 0)
        self.begin: IntArray = self.candidates.begin[:-1][filled]
        self.sizes: IntArray = sizes[filled]
        self.sentences: IntArray = self.candidates.sentences[filled].astype(np.int64)
        self._gain = sentence_metric(pool.metric, smooth_brevity)

    @property
    def groups(self) -> int:
        return len(self.begin)

    @property
    def rows(self) -> int:
        return self.candidates.features.rows

    @cached_property
    def gains(self) -> FloatArray:
        """Per row the gain of its sentence alone: BLEU+1 for BLEU, else the metric's own."""
        rows = self.candidates.statistics
        parts = (rows[i : i + _ROWS_AT_ONCE] for i in range(0, len(rows), _ROWS_AT_ONCE))
        found = [np.asarray(self._gain.sentence_scores(part), np.float64) for part in parts]
        return np.concatenate([np.zeros(0), *found])

    @cached_property
    def lengths(self) -> FloatArray:
        """Per row its number of words."""
        return counts_words(self.metric).parts(self.candidates.statistics)[1][:, 0]

    @cached_property
    def matrix(self) -> Matrix:
        return Matrix.of(self.candidates.features)

    def blocks(self) -> list[Block]:
        """The groups one by one."""
        ends = self.begin + self.sizes
        pairs = zip(self.begin.tolist(), ends.tolist(), strict=True)
        return [Block(self.matrix, begin, end, self.free) for begin, end in pairs]

    def per_group(self, function: np.ufunc, values: FloatArray) -> FloatArray:
        """A ufunc reduced over each group's rows."""
        return np.asarray(function.reduceat(values, self.begin, axis=0), np.float64)

    def repeat(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value per group, given to each of its rows."""
        return np.repeat(values, self.sizes, axis=0)

    def best(self, scores: FloatArray) -> IntArray:
        """Per group the row of the largest score, the first of equal ones."""
        found = self.candidates.best(scores)
        return found[found >= 0]

    def corpus_score(self, vector: FloatArray) -> float:
        """The metric's gain of the rows that a vector scores best."""
        if self.groups == 0:
            return 0.0
        return self.candidates.corpus_score(self.metric, vector)

    def weights(self, vector: FloatArray) -> Weights:
        """The last weights with the free features' new values."""
        return self.candidates.weights(np.where(self.free, vector, self.start), self.last)

    @cached_property
    def scale_is_free(self) -> bool:
        """Whether the length of the free part decides nothing.

        A fixed feature gives the scale if it has a weight and differs among a group's candidates.
        """
        scores = self.candidates.scores(np.where(self.free, 0.0, self.start))
        spread = self.per_group(np.maximum, scores) - self.per_group(np.minimum, scores)
        return not (spread > 1e-9 * max(1.0, float(np.abs(scores).max(initial=0.0)))).any()

    def as_long_as_before(self, vector: FloatArray) -> FloatArray:
        """The vector at the length of the last weights (L2, free features) if the scale is free."""
        wanted = np.linalg.norm(self.start[self.free])
        length = np.linalg.norm(vector[self.free])
        if length == 0 or wanted == 0 or not self.scale_is_free:
            return vector
        return np.where(self.free, vector * (wanted / length), vector)


def counts_words(metric: Metric) -> NgramMetric:
    """The metric, if its statistics have the lengths that `max_length_difference` asks for."""
    if not isinstance(metric, NgramMetric):
        raise OptionError(
            f"max_length_difference: {metric.title} does not count words; "
            "tune with a metric of n-grams or leave the option out"
        )
    return metric


def sentence_metric(metric: Metric, smooth_brevity: bool) -> Metric:
    """What a sentence's gain is counted by."""
    if type(metric) is Bleu:
        return BleuPlusOne(smooth_brevity=smooth_brevity, **part_of(NgramMetric, metric))
    if not smooth_brevity:
        return metric
    if isinstance(metric, BleuPlusOne):
        options = part_of(BleuPlusOne, metric, without=["smooth_brevity"])
        return BleuPlusOne(smooth_brevity=True, **options)
    raise OptionError(
        f"smooth_brevity: {metric.title} has no brevity penalty to smooth; "
        "tune with bleu or leave the option out"
    )
