"""The arrays that batch tuners on k-best pools share: gains, feature matrices, free features.

Takes a pool, the last weights and the task. Provides weight vectors in the order of
`candidates.features.ids`, the mask of features that may change, the gain of each row, the corpus
score of the rows that a vector ranks first, and new `Weights` in which fixed weights are unchanged.
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

_MOST_IN_DOUBLE = 1 << 27  # largest table that is converted to double precision: 1 GB
_ROWS_AT_ONCE = 1 << 17  # for which gains are computed


@dataclass(frozen=True)
class Matrix:
    """A matrix of features: dense columns first, then sparse ones (CSR), if any."""

    dense: FloatArray | NDArray[np.float32]  # (rows, D)
    sparse: Any = None  # scipy.sparse.csr_array, (rows, F - D), or None

    @classmethod
    def of(cls, table: FeatureTable) -> Matrix:
        """Return the matrix of a feature table."""
        # Converted to double precision once, since every product with a vector would convert it
        # again. A very large table, perhaps on disk, is converted in pieces each time instead.
        sparse = None if table.sparse is None else table.sparse.astype(np.float64)
        small = table.dense.size <= _MOST_IN_DOUBLE
        return cls(table.dense.astype(np.float64) if small else table.dense, sparse)

    @classmethod
    def of_differences(cls, table: FeatureTable, first: IntArray, second: IntArray) -> Matrix:
        """Return rows `first` minus rows `second` of a table."""
        dense = table.dense[first].astype(np.float64) - table.dense[second]
        if table.sparse is None:
            return cls(dense)
        return cls(dense, (table.sparse[first] - table.sparse[second]).astype(np.float64).tocsr())

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        more = 0 if self.sparse is None else int(self.sparse.shape[1])
        return int(self.dense.shape[0]), int(self.dense.shape[1]) + more

    def dot(self, vector: FloatArray) -> FloatArray:
        """Return X v."""
        width = self.dense.shape[1]
        product = times(self.dense, vector[:width])
        return product if self.sparse is None else product + self.sparse @ vector[width:]

    def adjoint(self, vector: FloatArray) -> FloatArray:
        """Return X' v."""
        product = times_transposed(self.dense, vector)
        return product if self.sparse is None else np.concatenate([product, self.sparse.T @ vector])


# einsum instead of "@": on tall matrices with a dozen columns the threads of BLAS spend ten times
# the work waiting for each other, and on wide ones, limited by memory, BLAS is no faster.


def times(matrix: NDArray[Any], vector: FloatArray) -> FloatArray:
    """Return X v."""
    product: FloatArray = np.einsum("ij,j->i", matrix, vector)
    return product


def times_transposed(matrix: NDArray[Any], vector: FloatArray) -> FloatArray:
    """Return X' v."""
    product: FloatArray = np.einsum("i,ij->j", vector, matrix)
    return product


class Block:
    """The rows of one group, with only the columns that are not 0 in them.

    For learners that visit one sentence at a time: the cost of a step depends on the sentence, not
    on the total number of features.
    """

    def __init__(self, matrix: Matrix, begin: int, end: int, free: BoolArray) -> None:
        dense = matrix.dense[begin:end].astype(np.float64, copy=False)
        self.columns: IntArray = np.arange(dense.shape[1])
        self.features: Any = dense  # (rows, columns): an array, or a CSR array if that is faster
        if matrix.sparse is not None:
            from scipy.sparse import csr_array, hstack

            part = matrix.sparse[begin:end]
            used, local = np.unique(part.indices, return_inverse=True)
            shape = (end - begin, len(used))
            part = csr_array((part.data, local, part.indptr), shape=shape)
            self.columns = np.concatenate([self.columns, dense.shape[1] + used])
            # An entry of a sparse row costs several times as much as one of a dense row.
            if 4 * part.nnz >= shape[0] * shape[1]:
                self.features = np.hstack([dense, part.toarray()])
            else:
                self.features = csr_array(hstack([csr_array(dense), part]))
        self.free = free[self.columns]
        self._sparse = not isinstance(self.features, np.ndarray)

    def dot(self, vector: FloatArray) -> FloatArray:
        """Return the product of each row with a vector of all features."""
        product: FloatArray = self.features @ vector[self.columns]
        return product

    def difference(self, first: int, second: int) -> FloatArray:
        """Return row `first` minus row `second`, at `columns`, 0 for fixed features."""
        if self._sparse:
            difference = (self.features[[first]] - self.features[[second]]).toarray()[0]
        else:
            difference = self.features[first] - self.features[second]
        return np.where(self.free, difference, 0.0)


class Problem:
    """A pool of candidates prepared for a tuner, without the empty groups."""

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
        """The number of groups."""
        return len(self.begin)

    @property
    def rows(self) -> int:
        """The number of candidates."""
        return self.candidates.features.rows

    @cached_property
    def gains(self) -> FloatArray:
        """The sentence score of each row: BLEU+1 for BLEU, else the metric's own."""
        rows = self.candidates.statistics
        parts = (rows[i : i + _ROWS_AT_ONCE] for i in range(0, len(rows), _ROWS_AT_ONCE))
        gains = [np.asarray(self._gain.sentence_scores(part), np.float64) for part in parts]
        return np.concatenate([np.zeros(0), *gains])

    @cached_property
    def lengths(self) -> FloatArray:
        """The number of words of each row."""
        return counts_words(self.metric).parts(self.candidates.statistics)[1][:, 0]

    @cached_property
    def matrix(self) -> Matrix:
        """The features of all candidates."""
        return Matrix.of(self.candidates.features)

    def blocks(self) -> list[Block]:
        """Return one block for each group."""
        ends = self.begin + self.sizes
        pairs = zip(self.begin.tolist(), ends.tolist(), strict=True)
        return [Block(self.matrix, begin, end, self.free) for begin, end in pairs]

    def per_group(self, function: np.ufunc, values: FloatArray) -> FloatArray:
        """Reduce a ufunc over the rows of each group; return one value per group."""
        return np.asarray(function.reduceat(values, self.begin, axis=0), np.float64)

    def repeat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Take one value per group and return one per row."""
        return np.repeat(values, self.sizes, axis=0)

    def best(self, scores: FloatArray) -> IntArray:
        """Return the first row of the largest score in each group."""
        rows = self.candidates.best(scores)
        return rows[rows >= 0]

    def corpus_score(self, vector: FloatArray) -> float:
        """Return the metric's score of the rows that a vector ranks first."""
        if self.groups == 0:
            return 0.0
        return self.candidates.corpus_score(self.metric, vector)

    def weights(self, vector: FloatArray) -> Weights:
        """Return the last weights with new values for the free features."""
        return self.candidates.weights(np.where(self.free, vector, self.start), self.last)

    @cached_property
    def scale_is_free(self) -> bool:
        """Whether the length of the free part has no effect on the ranking.

        A fixed feature determines the scale if it has a weight and varies within a group.
        """
        scores = self.candidates.scores(np.where(self.free, 0.0, self.start))
        spread = self.per_group(np.maximum, scores) - self.per_group(np.minimum, scores)
        return not (spread > 1e-9 * max(1.0, float(np.abs(scores).max(initial=0.0)))).any()

    def as_long_as_before(self, vector: FloatArray) -> FloatArray:
        """Scale the vector to the norm of the last weights (L2, free features), if it is free."""
        last_length = np.linalg.norm(self.start[self.free])
        length = np.linalg.norm(vector[self.free])
        if length == 0 or last_length == 0 or not self.scale_is_free:
            return vector
        return np.where(self.free, vector * (last_length / length), vector)


def counts_words(metric: Metric) -> NgramMetric:
    """Return the metric if its statistics contain lengths, which `max_length_difference` needs."""
    if not isinstance(metric, NgramMetric):
        raise OptionError(
            f"max_length_difference: {metric.title} does not count words; "
            "optimise an n-gram metric or omit the option"
        )
    return metric


def sentence_metric(metric: Metric, smooth_brevity: bool) -> Metric:
    """Return the metric of sentence gains: BLEU+1 for BLEU, else the metric itself."""
    if type(metric) is Bleu:
        return BleuPlusOne(smooth_brevity=smooth_brevity, **part_of(NgramMetric, metric))
    if not smooth_brevity:
        return metric
    if isinstance(metric, BleuPlusOne):
        options = part_of(BleuPlusOne, metric, without=["smooth_brevity"])
        return BleuPlusOne(smooth_brevity=True, **options)
    raise OptionError(
        f"smooth_brevity: {metric.title} has no brevity penalty to smooth; "
        "optimise bleu or omit the option"
    )
