"""The cutting plane: constraints are added one at a time, the most violated first (thesis, Alg. 5).
[eidelman2013, tsochantaridis2005]

In each round choose y- under the current weights, add its constraint if H(y-) exceeds the
sentence's slack by the tolerance, and solve the quadratic programme of all constraints; stop when
none is added. With `away` = fear the result is the optimum over the complete list. A minibatch is
one programme with the constraints of all its sentences.  [zhao2013]

Differs: errata Alg. 5 l. 6-7, 34-57: violation is always H(y), relative to y+; gamma and beta only
choose the hypothesis. Multipliers are kept from round to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class CuttingPlane(Step):
    """The optimum over all margin constraints of the lists."""

    name: ClassVar[str] = "cutting-plane"
    lists: ClassVar[bool] = True

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        dual = Dual(metric, [settings.C] * len(problems), settings.ridge)
        working = [Margin(problem, group) for group, problem in enumerate(problems)]
        for _ in range(settings.rounds):
            # A list, not a generator: in every round each sentence may add a constraint.
            added = [margin.add_most_violated(dual, settings.tolerance) for margin in working]
            if not any(added):
                break
            dual.solve(settings.tolerance / 10)
        return dual.change


class Margin:
    """The working set of margin constraints of a sentence."""

    def __init__(self, problem: MarginProblem, group: int) -> None:
        self.problem, self.group = problem, group
        self._added = {problem.towards}

    def add_most_violated(self, dual: Dual, tolerance: float) -> bool:
        """Add the constraint of y- under the current weights; return whether one was added."""
        problem = self.problem
        scores = problem.scores_after(dual.change)
        number = problem.choose_away(scores)
        hinge = float(problem.hinge(scores)[number])
        # With a ridge the slack may exceed the largest violation.
        if number in self._added or hinge <= dual.slack(self.group) + tolerance:
            return False
        self._added.add(number)
        dual.add(self.group, problem.direction(number), float(problem.hinge()[number]))
        return True
