"""The cutting plane: constraints are added one by one, the most violated first (thesis, Alg. 5).
[eidelman2013, tsochantaridis2005]

Repeats: choose y- with the weights so far, add its constraint if H(y-) exceeds the sentence's slack
by the tolerance, and solve the quadratic programme of all constraints so far, until none is added.
With `away` = fear the result is the optimum over the whole list. A minibatch is one programme with
the constraints of all its sentences (Zhao and Huang).  [zhao2013]

Differs: errata Alg. 5 l. 6-7, 34-57: violation is always H(y), relative to y+; gamma and beta
choose which hypothesis is asked. Multipliers stay from round to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class CuttingPlane(Step):
    name: ClassVar[str] = "cutting-plane"
    lists: ClassVar[bool] = True

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        dual = Dual(metric, [settings.C] * len(problems), settings.ridge)
        working = [Margin(problem, group) for group, problem in enumerate(problems)]
        for _ in range(settings.rounds):
            # A list: every sentence is asked in every round.
            added = [one.add_most_violated(dual, settings.tolerance) for one in working]
            if not any(added):
                break
            dual.solve(settings.tolerance / 10)
        return dual.change


class Margin:
    """The margin constraints of a sentence that are in the working set."""

    def __init__(self, problem: MarginProblem, group: int) -> None:
        self.problem, self.group = problem, group
        self._there = {problem.towards}

    def add_most_violated(self, dual: Dual, tolerance: float) -> bool:
        """Choose with the weights so far; whether a constraint came in."""
        problem = self.problem
        scores = problem.scores_after(dual.change)
        number = problem.choose_away(scores)
        hinge = float(problem.hinge(scores)[number])
        # With a ridge the slack is what the multipliers pay for, not the largest violation.
        if number in self._there or hinge <= dual.slack(self.group) + tolerance:
            return False
        self._there.add(number)
        dual.add(self.group, problem.direction(number), float(problem.hinge()[number]))
        return True
