"""Feature selection by frequency and by strength.

By frequency: with `--min-sentences N` only features are learned that occur in the translations of
at least N sentences, in all decodings so far; with `--most-frequent K` only the K that occur in the
most sentences [yu2013]. Other features keep their weights. Dense features are always learned and
not counted.

By strength, for online learning: with `top` = k, after each iteration the k features with the
largest l2 norm over the learners' weights are kept, and all others become 0, before the learners
are mixed. So a feature is kept if its weight is large in one learner, or nonzero in many. This is
l1/l2 regularisation as a choice of columns. [simianer2012], thesis 3.10 [eidelman2013]

Differs: dense and fixed features are always kept, and k counts the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, collect_rows
from hopefear.base.files import atomic_path
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.pool.arrays import damaged, load_arrays
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.tuner import Pool

Ids = NDArray[np.uint64]


class FiredIn:
    """The features that occur in the translations of each sentence; they accumulate."""

    def __init__(self, sentences: int) -> None:
        self._ids: list[Ids] = [np.zeros(0, np.uint64)] * sentences  # ascending, of each sentence

    def add(self, sentence: int, ids: Ids) -> None:
        """Add features that occur in translations of a sentence."""
        self._ids[sentence] = np.union1d(self._ids[sentence], ids)

    def frequent(self, sentences: int, most: int, keep: Iterable[int]) -> Ids:
        """Return the `frequent_features` of all sentences."""
        ids, counts = np.unique(_concatenated(self._ids), return_counts=True)
        return frequent_features(ids, counts, sentences, most, keep)

    def save(self, path: Path) -> None:
        """Write a file for `load`."""
        sizes = np.array([len(ids) for ids in self._ids], np.int64)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, ids=np.concatenate(self._ids), sizes=sizes)

    def load(self, path: Path) -> None:
        """Replace the features by those of a file."""
        arrays = load_arrays(path, "a file of features")
        try:
            self._ids = np.split(arrays["ids"], np.cumsum(arrays["sizes"])[:-1])
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(path, "a file of features", error) from None


def fired_in(derivations: Sequence[Derivation]) -> Ids:
    """Return the features of a k-best list that are not 0, ascending."""
    _, _, ids, values = collect_rows(derivations)
    return np.unique(ids[values != 0])


def frequent_features(
    ids: Ids, counts: NDArray[np.int64], sentences: int, most: int, keep: Iterable[int]
) -> Ids:
    """Return features that occur in at least `sentences` sentences, and `keep`, ascending.

    Takes ascending ids and their counts. At most `most` features (0: all) besides `keep` are
    returned, the most frequent ones; ties go to the smaller id.
    """
    always = np.array(sorted(keep), np.uint64)
    chosen = (counts >= sentences) & ~np.isin(ids, always)
    ids, counts = ids[chosen], counts[chosen]
    if most:
        ids = ids[np.argsort(-counts, kind="stable")[:most]]
    return np.union1d(ids, always)


def rare_features(pool: Pool, sentences: int, keep: Iterable[int], most: int = 0) -> frozenset[int]:
    """Return the features of a pool that are not among `frequent_features`."""
    if sentences <= 1 and not most:
        return frozenset()
    if pool.candidates is not None:
        ids, counts = _counts(pool.candidates)
    else:
        assert pool.forests is not None
        every = [np.unique(_concatenated(f.feature_ids for f in fs)) for fs in pool.forests]
        ids, counts = np.unique(_concatenated(every), return_counts=True)
    order = np.argsort(ids)
    frequent = frequent_features(ids[order], counts[order], sentences, most, keep)
    return frozenset(ids[~np.isin(ids, frequent)].tolist())


def _counts(candidates: Candidates) -> tuple[Ids, NDArray[np.int64]]:
    """Return the ids of features and the number of sentences in which each is not 0."""
    table = candidates.features
    sentence = np.repeat(candidates.sentences.astype(np.int64), np.diff(candidates.begin))
    counts = np.zeros(len(table.ids), np.int64)
    for column in range(table.columns):
        counts[column] = len(np.unique(sentence[np.asarray(table.dense[:, column]) != 0]))
    if table.sparse is not None and len(sentence):
        matrix = table.sparse
        width = matrix.shape[1]
        rows = np.repeat(sentence, np.diff(matrix.indptr))
        nonzero = np.asarray(matrix.data) != 0
        pairs = np.unique(rows[nonzero] * width + np.asarray(matrix.indices)[nonzero])
        counts[table.columns :] = np.bincount(pairs % width, minlength=width)
    return table.ids, counts


def strongest_by(ids: Ids, squares: NDArray[np.float64], k: int, keep: Iterable[int]) -> Ids:
    """Return the k features with the largest sums of squared weights, and `keep`, ascending.

    Takes ascending ids and the sums over learners. Ties go to the smaller id; a sum of 0 is left
    out.
    """
    always = np.array(sorted(keep), np.uint64)
    others = np.where(np.isin(ids, always), 0.0, squares)
    best = np.argsort(-others, kind="stable")[:k]
    return np.union1d(ids[best[others[best] > 0]], always)


def restricted(weights: Weights, ids: Ids) -> Weights:
    """Return weights with only the given features."""
    return Weights(only(weights.vector(), ids), names=weights.names)


def only(vector: SparseVector, ids: Ids) -> SparseVector:
    """Return the entries of a vector that have one of the ids."""
    kept = np.isin(vector.ids, ids)
    return SparseVector(vector.ids[kept], vector.values[kept])


def _concatenated(parts: Iterable[Ids]) -> Ids:
    return np.concatenate([np.zeros(0, np.uint64), *parts])
