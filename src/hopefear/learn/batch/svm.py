"""Structured SVM on k-best pools: margin-rescaled hinge loss, the hope as reference.
[tsochantaridis2005, cherry2012]

Takes a pool and the last weights and returns new weights. The hope of a sentence is
y+ = argmax s + alpha gain under the last weights, the cost of y is
D(y) = alpha (gain(y+) - gain(y)), and the loss is max H(y) with H(y) = D(y) - w.(f(y+) - f(y)),
which is 0 at y+. The primal is P = |w|^2 / 2 + (C / N) sum of losses over N sentences. The dual has
a variable a(y) for each candidate, summing to C / N in every sentence; w is the sum of
a (f(y+) - f(y)), and P minus the dual is the sum over sentences of (C / N) max H - sum a H.

Dual coordinate ascent visits one sentence after the other, more often those with a large part of
the gap, and moves mass from the candidate of smallest H with a(y) > 0 to the one of largest H, by
the step that makes their H equal. It stops when the duality gap is at most `gap` times P; gap and
values are notes. Rounds after the first choose the hopes again (CCCP) and restart from zero.

Differs: scores include the fixed features; |w|^2 does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.batch.problem import Block, IntArray, Problem
from hopefear.learn.pool.candidates import FloatArray
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task


class Solution(NamedTuple):
    """The result of dual coordinate ascent."""

    vector: FloatArray
    primal: float
    dual: float
    epochs: int


@register("tuner", "svm")
@dataclass(kw_only=True)
class Svm(BatchTuner):
    """Structured support vector machine."""

    name: ClassVar[str] = "svm"

    C: float = option(10.0, min=0, help="weight of the mean hinge loss relative to |w| squared / 2")
    alpha: float = option(10.0, min=0, help="cost per unit of lost gain")
    rounds: int = option(1, min=1, help="rounds, each of which chooses new hopes")
    gap: float = option(
        0.01, min=0, help="duality gap at which to stop, as a fraction of the primal"
    )
    epochs: int = option(200, min=1, help="maximum number of passes over the sentences per round")
    steps: int = option(10, min=1, help="maximum number of steps per sentence and pass")

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        problem = Problem(pool, weights, task)
        start = problem.corpus_score(problem.start)
        if problem.groups == 0:
            return Optimized(weights.copy(), start, {"epochs": 0})
        blocks = problem.blocks()
        vector, gains = problem.start, self.alpha * problem.gains
        epochs = 0
        for _ in range(self.rounds):
            hopes = problem.best(problem.matrix.dot(vector) + gains)
            solution = self.solve(problem, blocks, hopes, task)
            vector, epochs = solution.vector, epochs + solution.epochs
        notes = {
            "primal": solution.primal,
            "dual": solution.dual,
            "gap": solution.primal - solution.dual,
            "reached": solution.primal - solution.dual <= self.gap * solution.primal,
            "epochs": epochs,
        }
        return Optimized(problem.weights(vector), problem.corpus_score(vector), notes)

    def solve(self, problem: Problem, blocks: list[Block], hopes: IntArray, task: Task) -> Solution:
        """Take the hopes (a row of the pool for each group) and return the optimal weights."""
        costs = self.alpha * (problem.repeat(problem.gains[hopes]) - problem.gains)
        budget = self.C / problem.groups
        masses = np.zeros(problem.rows)
        masses[hopes] = budget
        vector = np.where(problem.free, 0.0, problem.start)
        begin = problem.begin.tolist()
        end = (problem.begin + problem.sizes).tolist()
        for epoch in range(1, self.epochs + 1):
            scores = problem.matrix.dot(vector)
            hinges = costs + scores - problem.repeat(scores[hopes])
            losses = problem.per_group(np.maximum, hinges)
            gaps = budget * losses - problem.per_group(np.add, masses * hinges)
            length = float(vector[problem.free] @ vector[problem.free])
            primal = 0.5 * length + budget * float(losses.sum())
            gap = max(0.0, float(gaps.sum()))
            if gap <= self.gap * primal or epoch == self.epochs:
                break
            # Skip groups with a small part of the gap: steps there would hardly reduce the sum.
            selected = np.flatnonzero(gaps > 0.1 * self.gap * primal / problem.groups)
            for group in task.random.permutation(selected).tolist():
                rows = slice(begin[group], end[group])
                self._visit(vector, blocks[group], costs[rows], masses[rows])
            if task.progress is not None:
                task.progress(epoch)
        return Solution(vector, primal, primal - gap, epoch - 1)

    def _visit(
        self, vector: FloatArray, block: Block, costs: FloatArray, masses: FloatArray
    ) -> None:
        """Make steps at one sentence; changes the vector and the masses in place."""
        # H without the constant score of the hope.
        hinges = costs + block.dot(vector)
        for step in range(self.steps):
            high = int(hinges.argmax())
            low = int(np.where(masses > 0, hinges, np.inf).argmin())
            violation = hinges[high] - hinges[low]
            if violation <= 1e-9:
                return
            difference = block.difference(low, high)
            norm = float(difference @ difference)
            move = masses[low] if norm == 0 else min(masses[low], violation / norm)
            masses[high] += move
            masses[low] = 0.0 if move == masses[low] else masses[low] - move
            vector[block.columns] += move * difference
            if step + 1 < self.steps:
                hinges = costs + block.dot(vector)
