"""The perceptron: a step of constant size for every positive loss.  [eidelman2013]

    w += C M (f(y+) - f(y-))

For a minibatch it uses the mean of the differences.  [zhao2013]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class Perceptron(Step):
    """C times the mean difference of features."""

    name: ClassVar[str] = "perceptron"

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        total = np.zeros(len(metric))
        for problem in problems:
            if problem.loss > 0:
                total += problem.direction(problem.away)
        return settings.C / max(1, len(problems)) * metric * total
