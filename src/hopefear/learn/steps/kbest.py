"""k-best MIRA: one quadratic programme for a batch of sentences.  [chiang2009]

Each sentence has the constraints of its `constraints` (10) best hypotheses by model score, by the
objective of y+ (hope) and by that of y- (fear), relative to y+, the first of the hope list. SMO
finds the w that minimises

    1/2 |w - w_t|^2  +  C SUM_i max_j ( cost(y_ij) - cost(y+_i) - w.(f(y+_i) - f(y_ij)) ).

y+ is among the y_ij, so that the max is never negative (errata, eq. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class KbestStep(Step):
    """The optimum over the constraints of three k-best lists per sentence."""

    name: ClassVar[str] = "kbest"
    lists: ClassVar[bool] = True
    uses: ClassVar[frozenset[str]] = frozenset({"constraints"})

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        dual = Dual(metric, [settings.C] * len(problems), settings.ridge)
        for group, problem in enumerate(problems):
            hinge = problem.hinge()
            chosen = np.unique(np.concatenate(problem.best_lists(settings.constraints)))
            for number in chosen[chosen != problem.towards].tolist():
                dual.add(group, problem.direction(number), float(hinge[number]))
        dual.solve(settings.tolerance)
        return dual.change
