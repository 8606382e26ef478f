"""Expected linear n-gram gain over forests, and its gradient: minimum risk's objective on forests.
[li2009, wisniewski2013]

Goes in: per sentence the newest forest and its references. A forest is split by the n-grams that
its derivations end and begin with (`expand`), so that the linear n-gram gain, unclipped, is a sum
over edges; the second-order expectation semiring then gives E[gain] and its gradient, which is the
covariance of gain and features. The gain of the set is their sum by the sum of reference lengths.

Only the newest forest of a sentence is used: a union of several would count a derivation as often
as it was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.forest import trim, viterbi
from hopefear.forest.expand import expand
from hopefear.metrics.linear_ngram import LinearNgram
from hopefear.metrics.metric import References
from hopefear.metrics.prepared import PreparedReferences
from hopefear.tune.candidates import FloatArray
from hopefear.tune.values import Values
from hopefear.weights import FeatureNames, Weights

GAIN = "(linear n-gram gain)"  # the feature that the split forest has more
T = TypeVar("T")


@dataclass(frozen=True)
class Split:
    """A forest whose edges have gains."""

    forest: Forest
    columns: NDArray[np.int64]  # where its features are in the vector of all
    features: Any  # scipy.sparse.csr_array (edges, its features)
    gains: FloatArray  # per edge
    roots: NDArray[np.uint32]


class ForestGain:
    """Expected gain and entropy on forests; a vector has the order of `ids`."""

    def __init__(
        self, splits: Sequence[Split], ids: NDArray[np.uint64], words: float, threads: int
    ):
        self.splits, self.ids, self.threads = splits, ids, threads
        self.words = words  # of the references, summed

    @classmethod
    def of(
        cls,
        forests: Sequence[Forest],
        references: References,
        weights: Weights,
        *,
        order: int,
        beam: int,
        threads: int = 1,
    ) -> ForestGain:
        """Splits every forest that has a derivation; under a beam, by these weights."""
        metric = LinearNgram(order=order, clip=False)
        prepared = metric.prepare(references)
        gain_id = FeatureNames().intern(GAIN)

        def split(number: int) -> Expanding | None:
            forest = trim(forests[number])
            if forest.goal is None or forest.edges == 0:
                return None
            return _expanding(forest, prepared, number, metric.xi, gain_id, weights, beam)

        made = _in_threads(split, range(len(forests)), threads)
        found = [one for one in made if one is not None]
        ids = np.unique(np.concatenate([np.zeros(0, np.uint64), *(one.ids for one in found)]))
        splits = [
            Split(one.forest, np.searchsorted(ids, one.ids), one.features, one.gains, one.roots)
            for one in found
        ]
        return cls(splits, ids, float(prepared.mean_reference_lengths().sum()), threads)

    def __call__(self, vector: FloatArray, gamma: float) -> Values:
        def one(split: Split) -> tuple[float, FloatArray, float, FloatArray]:
            scores = gamma * (split.features @ vector[split.columns])
            value, slopes = _engine.expectation(split.forest, scores, split.gains, split.roots)
            entropy = _engine.posterior(split.forest, scores, split.roots)[1]
            # The gradient of the entropy is minus that of the expected score.
            _, falls = _engine.expectation(split.forest, scores, scores, split.roots)
            return value, split.features.T @ slopes, entropy, split.features.T @ falls

        gain, entropy = 0.0, 0.0
        gain_slope, entropy_slope = np.zeros(len(self.ids)), np.zeros(len(self.ids))
        # Summed in the order of sentences, whatever the number of threads.
        parts = _in_threads(one, self.splits, self.threads)
        for split, (value, slope, nats, fall) in zip(self.splits, parts, strict=True):
            gain += value
            entropy += nats
            gain_slope[split.columns] += gamma * slope
            entropy_slope[split.columns] -= gamma * fall
        words, count = max(self.words, 1.0), max(len(self.splits), 1)
        return Values(gain / words, gain_slope / words, entropy / count, entropy_slope / count)

    def spread(self, vector: FloatArray) -> float:
        total = 0.0
        for split in self.splits:
            scores = split.features @ vector[split.columns]
            equal = np.zeros(len(scores))
            slopes = _engine.expectation(split.forest, equal, scores, split.roots)[1]
            total += max(0.0, float(slopes @ scores))
        return float(np.sqrt(total / max(len(self.splits), 1)))

    def vector(self, weights: Weights) -> FloatArray:
        return np.array([weights[int(id)] for id in self.ids], np.float64)


@dataclass(frozen=True)
class Expanding:
    """A split forest before all features are known."""

    forest: Forest
    ids: NDArray[np.uint64]
    features: Any
    gains: FloatArray
    roots: NDArray[np.uint32]


def _expanding(
    forest: Forest,
    prepared: PreparedReferences,
    sentence: int,
    xi: Sequence[float],
    gain_id: int,
    weights: Weights,
    beam: int,
) -> Expanding:
    references = prepared.references
    assert isinstance(references, _engine.BleuReferences)
    scorer = _engine.LinearScorer(forest, references, sentence, list(xi), gain_id)
    made = expand(forest, scorer, weights, beam=beam).forest
    matrix = edge_matrix(made)
    is_gain = made.feature_ids == np.uint64(gain_id)
    gains = np.asarray(matrix[:, np.flatnonzero(is_gain)].sum(axis=1), np.float64).ravel()
    others = np.flatnonzero(~is_gain)
    roots = np.array([made.goal], np.uint32)
    return Expanding(made, made.feature_ids[others].copy(), matrix[:, others], gains, roots)


def edge_matrix(forest: Forest) -> Any:
    """The features of every edge, shared and own, in double: (edges, forest.feature_ids)."""
    from scipy.sparse import csr_array

    width = len(forest.feature_ids)
    shared = _table(
        forest.rows, width, forest.row_columns, forest.row_dense,
        forest.row_begin, forest.row_features, forest.row_values,
    )  # fmt: skip
    own = _table(
        forest.edges, width, forest.edge_columns, forest.edge_dense,
        forest.own_begin, forest.own_features, forest.own_values,
    )  # fmt: skip
    has_row = np.flatnonzero(forest.edge_rows != np.uint32(0xFFFFFFFF))
    ones = np.ones(len(has_row))
    uses = csr_array(
        (ones, (has_row, forest.edge_rows[has_row])), shape=(forest.edges, forest.rows)
    )
    return csr_array(uses @ shared + own)


def _table(
    rows: int,
    width: int,
    columns: NDArray[np.uint32],
    dense: NDArray[np.float32],
    begin: NDArray[np.uint32],
    features: NDArray[np.uint32],
    values: NDArray[np.float32],
) -> Any:
    """Rows with a dense and a sparse part as one matrix."""
    from scipy.sparse import csr_array

    sparse = csr_array(
        (values.astype(np.float64), features.astype(np.int64), begin.astype(np.int64)),
        shape=(rows, width),
    )
    if len(columns) == 0 or rows == 0:
        return sparse
    whole = dense.reshape(rows, len(columns)).astype(np.float64)
    where = np.tile(columns.astype(np.int64), rows)
    starts = len(columns) * np.arange(rows + 1)
    return csr_array(sparse + csr_array((whole.ravel(), where, starts), shape=(rows, width)))


def best_texts(forests: Sequence[Forest], weights: Weights, threads: int = 1) -> list[str]:
    """The model's best translation of each forest; nothing where there is none."""

    def text(forest: Forest) -> str:
        best = viterbi(forest, weights)
        return "" if best is None else best.text

    return _in_threads(text, forests, threads)


def remember_names(weights: Weights, forests: Sequence[Forest]) -> None:
    """Give the weights the names that the forests know of their features."""
    known = {id(forest.names): forest.names for forest in forests if forest.names is not None}
    if weights.names is None or set(known) == {id(weights.names)}:
        return
    for feature in weights.vector().ids.tolist():
        if weights.names.name(feature) is None:
            name = next((n for names in known.values() if (n := names.name(feature))), None)
            if name is not None:
                weights.names.intern(name)


def _in_threads(function: Callable[[Any], T], items: Sequence[Any], threads: int) -> list[T]:
    if threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
