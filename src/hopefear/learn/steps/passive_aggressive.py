"""The passive-aggressive step of 1-best MIRA (thesis, Alg. 4).  [eidelman2013]

The smallest change that closes the loss of the pair that was chosen, as far as C allows:

    alpha = min(C, loss / (dF' M dF)),      w += alpha M dF,      dF = f(y+) - f(y-)

With AROW alpha = min(C, loss / (dF' M dF + r)). In a minibatch every sentence has its constraint,
and they are satisfied together: one quadratic programme (Zhao and Huang).  [zhao2013]

Differs: errata eq. 3.8: with a rate eta (M = eta I) alpha is divided by eta. Errata eq. 3.10: with
AdaGrad this is the step that closes the loss exactly; the thesis's programs take
min(C, loss / |dF|^2) and multiply the difference with the rates afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class PassiveAggressive(Step):
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
    """The closed form for one constraint; nothing where it is satisfied or cannot be mended."""
    moved = metric * direction
    curve = float(direction @ moved)
    if violation <= 0 or curve <= 0:  # equal vectors of different strings: nothing to move
        return np.zeros(len(metric))
    return min(largest, violation / (curve + ridge)) * moved
