"""Mixing: the weights of an iteration, from what each learner changed.  [mcdonald2010]

    mixture = Mixture(base, average="updates", top=0)
    for p in passes: mixture.add(p)              # one after the other, in the order of the learners
    weights = mixture.mixed()                    # the mean over learners, weighted by their shares

Only the changes of one learner are in memory, and the sums of all. Sums are in double precision and
in the order of the learners, so that they do not depend on the processes that made the passes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import ColumnSums, assign_weights, gather_weights
from hopefear.base.weights import Weights
from hopefear.learn.loop.learner import Pass
from hopefear.learn.pool.feature_selection import restricted, strongest_by
from hopefear.learn.tuner import Average


class Mixture:
    """The sums of the passes of an iteration."""

    def __init__(self, base: Weights, *, average: Average, squares: bool) -> None:
        """`base`: the weights with which the passes began, or none if each learner has its own;
        `squares`: whether `strongest` will be asked for.
        """
        self._base, self._average, self._squares = base, average, squares
        self._sums = ColumnSums(2 + squares)
        self._shares = self._counted = self._passes = 0

    def add(self, p: Pass) -> None:
        """Add the pass of the next learner."""
        before = gather_weights(self._base.table, p.ids)
        change = p.weights - before
        columns = [p.sentences * change]
        if self._average == "updates":
            columns.append(0.0 * change if p.means is None else p.steps * (p.means - before))
        else:
            columns.append(change)
        if self._squares:
            columns.append(p.weights.astype(np.float64) ** 2 - before**2)
        self._sums.add(p.ids, np.ascontiguousarray(np.stack(columns, axis=1)))
        self._shares += p.sentences
        self._counted += p.steps if self._average == "updates" else 1
        self._passes += 1

    def finish(self, kept: NDArray[np.uint64] | None = None) -> tuple[Weights, Weights, float]:
        """Return the mixed weights; the mean over the iteration, by the kind of average, and the
        number of vectors in it. `kept`: drop all other features.
        """
        ids, rows = self._table()
        mixed = self._changed(ids, rows[:, 0] / max(1, self._shares))
        if self._average in ("updates", "learners"):
            mean = self._changed(ids, rows[:, 1] / max(1, self._counted))
            count = float(self._counted)
        else:
            mean, count = mixed, 1.0
        if kept is not None:
            mixed, mean = restricted(mixed, kept), restricted(mean, kept)
        return mixed, mean, count

    def strongest(self, k: int, always: Iterable[int]) -> tuple[NDArray[np.uint64], int]:
        """Return the k strongest features over all learners and those that are always kept; and
        the number of the others.
        """
        ids, rows = self._table()
        vector = self._base.vector()
        every = np.union1d(ids, vector.ids)
        squares = np.zeros(len(every))
        squares[np.searchsorted(every, vector.ids)] = (
            vector.values.astype(np.float64) ** 2 * self._passes
        )
        squares[np.searchsorted(every, ids)] += rows[:, 2]
        kept = strongest_by(every, squares, k, always)
        return kept, int(np.count_nonzero(~np.isin(every, kept)))

    def _table(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        ids, rows = self._sums.sorted()
        return ids, rows.reshape(len(ids), 2 + self._squares)

    def _changed(self, ids: NDArray[np.uint64], changes: NDArray[np.float64]) -> Weights:
        result = self._base.copy()
        values = gather_weights(self._base.table, ids) + changes
        assign_weights(result.table, ids, np.ascontiguousarray(values))
        return result
