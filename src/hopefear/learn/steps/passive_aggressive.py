"""The passive-aggressive step of 1-best MIRA (thesis, Alg. 4).  [eidelman2013]

The smallest change that makes the loss of the chosen pair 0, within the limit C:

    alpha = min(C, loss / (dF' M dF)),      w += alpha M dF,      dF = f(y+) - f(y-)

With AROW alpha = min(C, loss / (dF' M dF + r)). A minibatch is one quadratic programme with a
constraint for every sentence.  [zhao2013]

Differs: errata eq. 3.8: with a rate eta (M = eta I) alpha is divided by eta. Errata eq. 3.10: with
AdaGrad this step makes the loss exactly 0; the thesis's programs use min(C, loss / |dF|^2) and then
multiply the difference by the rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class PassiveAggressive(Step):
    """The smallest step that satisfies the margin constraints of the chosen pairs."""

    name: ClassVar[str] = "pa"

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        wrong = [problem for problem in problems if problem.loss > 0]
        if len(wrong) == 1:
            problem = wrong[0]
            return closing(
                metric, problem.direction(problem.away), problem.loss, settings.C, settings.ridge
            )
        dual = Dual(metric, [settings.C] * len(wrong), settings.ridge)
        for group, problem in enumerate(wrong):
            dual.add(group, problem.direction(problem.away), problem.loss)
        dual.solve(settings.tolerance)
        return dual.change


def closing(
    metric: FloatArray, direction: FloatArray, violation: float, largest: float, ridge: float = 0.0
) -> FloatArray:
    """Return the closed-form step for one constraint; 0 if it is satisfied or unsatisfiable."""
    moved = metric * direction
    curve = float(direction @ moved)
    if violation <= 0 or curve <= 0:  # different strings may have equal features
        return np.zeros(len(metric))
    return min(largest, violation / (curve + ridge)) * moved
