"""RAMPION: the structured ramp loss, minimised by the concave-convex procedure.  [gimpel2012]

Takes a pool and the last weights and returns new weights. With score s = w.f and cost
D = alpha (1 - gain), the loss of a sentence is

    ramp 1:  max (s + D) - max s           ramp 2:  max s - max (s - D)
    ramp 3:  max (s + D) - max (s - D)

(eidelman2013, eq. 3.6, 3.5, 3.4), and the ramp objective is their sum plus (C / 2) |w - w_0|^2,
with w_0 the initial weights of the run. Outer passes fix the candidate of the second maximum (the
hope) of every sentence; inner passes visit the sentences, find the candidate of the first maximum
(the fear), and make a step of size eta against the subgradient.

The gain is BLEU+1 for BLEU. The tuner reports the corpus score of the pool as its objective; the
sum of losses, and the ramp objective before and after, are notes.

Differs: sentences are shuffled in each inner pass, so that their order in the file has no effect;
cdec's program visits them in order and regularises towards 0 instead of w_0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.batch.problem import Block, IntArray, Problem
from hopefear.learn.pool.candidates import FloatArray
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task

# The factor of the cost in the choice of hope and fear, for each ramp loss.
HOPE = {1: 0.0, 2: -1.0, 3: -1.0}
FEAR = {1: 1.0, 2: 0.0, 3: 1.0}


@register("tuner", "rampion")
@dataclass(kw_only=True)
class Rampion(BatchTuner):
    """Ramp loss minimisation."""

    name: ClassVar[str] = "rampion"
    kbest: ClassVar[int] = 500

    loss: Literal[1, 2, 3] = option(
        3, help="ramp loss: with the cost in the fear (1), in the hope (2), or in both (3)"
    )
    outer: int = option(10, min=1, help="outer passes, each of which chooses new hopes")
    inner: int = option(5, min=1, help="passes over the sentences per outer pass")
    eta: float = option(1e-4, min=0, help="step size")
    C: float = option(
        1.0, min=0, help="regularisation: C / 2 times the squared distance from the initial weights"
    )
    alpha: float = option(10.0, min=0, help="cost of a candidate with gain 0")

    def __post_init__(self) -> None:
        self._first: SparseVector | None = None

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if self._first is None:
            self._first = weights.vector()
        problem = Problem(pool, weights, task)
        centre = problem.candidates.vector(Weights(self._first))
        centre = np.where(problem.free, centre, problem.start)
        cost = self.alpha * (1.0 - problem.gains)
        before = self.ramp(problem, problem.start, cost, centre)
        vector = self.descend(problem, cost, centre, task)
        after = self.ramp(problem, vector, cost, centre)
        notes = {
            "ramp_loss": after[0],
            "ramp_objective": after[1],
            "ramp_objective_before": before[1],
        }
        return Optimized(problem.weights(vector), problem.corpus_score(vector), notes)

    def hopes(self, problem: Problem, vector: FloatArray, cost: FloatArray) -> IntArray:
        """Return the row of the second maximum in each group."""
        return problem.best(problem.matrix.dot(vector) + HOPE[self.loss] * cost)

    def ramp(
        self, problem: Problem, vector: FloatArray, cost: FloatArray, centre: FloatArray
    ) -> tuple[float, float]:
        """Return the sum of losses, and that sum with the regularisation towards the centre."""
        if problem.groups == 0:
            return 0.0, 0.0
        scores = problem.matrix.dot(vector)
        fear = problem.per_group(np.maximum, scores + FEAR[self.loss] * cost)
        hope = problem.per_group(np.maximum, scores + HOPE[self.loss] * cost)
        total = float((fear - hope).sum())
        away = vector - centre
        return total, total + 0.5 * self.C * float(away @ away)

    def descend(
        self, problem: Problem, cost: FloatArray, centre: FloatArray, task: Task
    ) -> FloatArray:
        """Make the outer and inner passes [gimpel2012, figure 2] and return the vector."""
        if problem.groups == 0:
            return problem.start
        blocks = problem.blocks()
        first = problem.matrix.dot(centre) + FEAR[self.loss] * cost  # fear's objective at `centre`
        parts = np.split(first, problem.begin[1:])
        moved = _Scaled(problem.start - centre)
        shrink = 1.0 - min(1.0, self.eta * self.C / problem.groups)
        for pass_number in range(self.outer):
            hopes = self.hopes(problem, centre + moved.vector(), cost) - problem.begin
            for _ in range(self.inner):
                for group in task.random.permutation(problem.groups).tolist():
                    self._step(moved, blocks[group], parts[group], int(hopes[group]), shrink)
            if task.progress is not None:
                task.progress(pass_number + 1)
        return centre + moved.vector()

    def _step(
        self, moved: _Scaled, block: Block, first: FloatArray, hope: int, shrink: float
    ) -> None:
        fear = int((first + moved.factor * block.dot(moved.values)).argmax())
        moved.scale(shrink)
        if fear != hope:
            moved.add(block.columns, self.eta * block.difference(hope, fear))

    def state(self) -> Mapping[str, Any]:
        if self._first is None:
            return {}
        return {"first_ids": self._first.ids.copy(), "first_values": self._first.values.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        if not state:
            self._first = None
            return
        ids, values = np.asarray(state["first_ids"]), np.asarray(state["first_values"])
        self._first = SparseVector(ids.astype(np.uint64), values.astype(np.float32))


class _Scaled:
    """A vector stored as factor * values, so that scaling it costs one multiplication."""

    def __init__(self, values: FloatArray) -> None:
        self.factor, self.values = 1.0, values.copy()

    def scale(self, factor: float) -> None:
        self.factor *= factor
        if self.factor < 1e-6:
            self.values *= self.factor
            self.factor = 1.0

    def add(self, columns: IntArray, difference: FloatArray) -> None:
        self.values[columns] += difference / self.factor

    def vector(self) -> FloatArray:
        return self.factor * self.values
