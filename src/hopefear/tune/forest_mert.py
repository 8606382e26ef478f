"""Exact line search on forests: the envelopes of all their derivations.  [macherey2008, kumar2009]

Goes in: the forests of each sentence (all iterations'), references, weights. Along a line in weight
space the best derivation of each forest changes at the corners of its envelope
(`forest.envelope`); between corners the corpus score is constant. The coordinates are those of the
dense features: what nearly every rule or edge of a forest has.

A line costs an envelope of every forest, some milliseconds each, where k-best lists cost
microseconds: there are few starts and no shaking (see `mert.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Envelope, Forest
from hopefear.forest import edge_scores, viterbi
from hopefear.metrics.metric import Metric, References
from hopefear.threads import in_order
from hopefear.tune.candidates import FloatArray
from hopefear.tune.mert import MARGIN, NARROW, End, best_interval, gains_enough
from hopefear.weights import SparseVector, Weights

# Corners, and the statistics from -infinity to the first, between …, from the last on.
Steps = tuple[FloatArray, NDArray[np.int64]]


class ForestProblem:
    """Forests as a line search sees them: dense features move, the rest is constant."""

    def __init__(
        self,
        metric: Metric,
        forests: Sequence[Sequence[Forest]],
        references: References,
        weights: Weights,
        fixed: frozenset[int],
        threads: int,
    ) -> None:
        self.metric, self.forests, self.threads = metric, forests, threads
        self.prepared = metric.prepare(references)
        self.ids = np.array(sorted(dense_ids(forests) - fixed), np.uint64)
        self.names = weights.names
        self.others = weights.copy()  # what does not move
        self.start = np.array([weights[int(id)] for id in self.ids])
        for id in self.ids.tolist():
            self.others[id] = 0.0
        self.others.drop_zeros()
        # Where nothing but the moving weights counts, their length is free, and stays.
        self.free = len(self.others) == 0
        self.norm = float(np.abs(self.start).sum()) or 1.0

    def weights(self, vector: FloatArray) -> Weights:
        """All weights, those of moving features from the vector."""
        new = self.others.copy()
        new.add(self._sparse(vector))
        return new

    def corpus_score(self, weights: Weights) -> float:
        """The gain of the forests' best derivations."""

        def best(forests: Sequence[Forest]) -> list[str]:
            found = [viterbi(forest, weights) for forest in forests]
            there = [derivation for derivation in found if derivation is not None]
            return max(there, key=lambda d: d.score).words if there else []

        texts = list(in_order(best, self.forests, self.threads))
        return self.metric.corpus_score(self.prepared.statistics(texts))

    def climb(self, vector: FloatArray, random: np.random.Generator) -> End:
        """Coordinate after coordinate, in random order, until none gains any more."""
        vector = self._normal(vector)
        idle, reached, known = 0, -np.inf, -np.inf
        while True:
            for column in random.permutation(len(vector)).tolist():
                direction = np.zeros(len(vector))
                direction[column] = 1.0
                x, reached, here = self._best(vector, direction)
                if reached > here:
                    vector = self._normal(vector + x * direction)
                idle = 0 if gains_enough(reached, known) else idle + 1
                known = max(known, reached)
                if idle >= len(vector):
                    return End(reached, vector)

    def along(self, end: End, direction: FloatArray) -> End:
        """The best place on one line."""
        x, reached, _ = self._best(end.weights, direction)
        return End(reached, self._normal(end.weights + x * direction))

    def _best(self, vector: FloatArray, direction: FloatArray) -> tuple[float, float, float]:
        weights, line = self.weights(vector), Weights(self._sparse(direction))
        corners: list[FloatArray] = []
        changes: list[NDArray[np.int64]] = []
        sum_ = np.zeros(len(self.metric.columns), np.int64)  # at -infinity
        numbered = enumerate(self.forests)
        steps = in_order(lambda job: self._steps(job[0], job[1], weights, line), numbered,
                         self.threads)  # fmt: skip
        for places, rows in steps:
            sum_ += rows[0]
            corners.append(places)
            changes.append(np.diff(rows, axis=0))
        at = np.concatenate(corners) if corners else np.zeros(0)
        order = np.argsort(at, kind="stable")
        moves = np.concatenate(changes)[order] if corners else np.zeros((0, len(sum_)), np.int64)
        sums = np.cumsum(np.concatenate([sum_[None], moves]), axis=0)
        scale = float(np.abs(vector).sum()) or 1.0
        return best_interval(at[order], self.metric.score(sums), NARROW * scale, MARGIN * scale)

    def _steps(
        self, sentence: int, forests: Sequence[Forest], weights: Weights, line: Weights
    ) -> Steps:
        """The envelope of a sentence: of all its forests, the upper one."""
        lines: list[tuple[float, float, Envelope, int]] = []  # slope, intercept
        for forest in forests:
            if forest.goal is None:
                continue
            roots = np.array([forest.goal], np.uint32)
            found = Envelope(forest, edge_scores(forest, weights), edge_scores(forest, line), roots)
            parts = zip(found.slopes.tolist(), found.intercepts.tolist(), strict=True)
            lines += [(slope, value, found, i) for i, (slope, value) in enumerate(parts)]
        if not lines:
            empty = self.prepared.statistics([[]], [sentence])
            return np.zeros(0), empty.astype(np.int64)
        upper, corners = upper_envelope(np.array([line[:2] for line in lines]))
        texts = [lines[i][2].derivation(lines[i][3]).words for i in upper]
        rows = self.prepared.statistics(texts, np.full(len(texts), sentence, np.int32))
        return corners, rows.astype(np.int64)

    def _sparse(self, vector: FloatArray) -> SparseVector:
        return SparseVector(self.ids, vector.astype(np.float32))

    def _normal(self, vector: FloatArray) -> FloatArray:
        size = float(np.abs(vector).sum())
        return vector * (self.norm / size) if self.free and size > 0 else vector


def dense_ids(forests: Sequence[Sequence[Forest]]) -> set[int]:
    """Features that are columns of some forest's rows or edges."""
    found: set[int] = set()
    for several in forests:
        for forest in several:
            columns = np.concatenate([forest.row_columns, forest.edge_columns])
            found.update(forest.feature_ids[columns].tolist())
    return found


def upper_envelope(lines: FloatArray) -> tuple[list[int], FloatArray]:
    """Which lines (slope, intercept) are on top, from left to right, and where they change."""
    order = np.lexsort((-lines[:, 1], lines[:, 0])).tolist()
    kept: list[int] = []
    corners: list[float] = []
    for i in order:
        slope, value = lines[i]
        if kept and lines[kept[-1], 0] == slope:
            continue  # the first of equal slopes is the highest
        while kept:
            last = lines[kept[-1]]
            x = float((last[1] - value) / (slope - last[0]))
            if corners and x <= corners[-1]:
                kept.pop()
                corners.pop()
                continue
            corners.append(x)
            break
        kept.append(i)
    return kept, np.array(corners)
