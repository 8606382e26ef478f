"""Relative margin: a large margin and a bound on the spread of scores (thesis, chapter 4).
[eidelman2013]

    minimise   1/2 |w - w_t|^2 + C xi + D tau
    such that  w.o_y >= cost(y) - cost(y+) - xi  and  -B - tau <= w.o_y <= B + tau       for all y,

with o_y = f(y+) - f(y) (eq. 4.1). `rm-cp` adds the most violated constraints of three kinds
(margin, upper and lower bound) and reaches the optimum over the list. `rm-pa` makes two closed-form
steps: the passive-aggressive step, then the bound on y_w, the hypothesis with the lowest score,

    b = min(D, max(0, s(y+) - s(y_w) - B) / |o_w|^2),      w -= b o_w.

The bounds do not apply to hypotheses with another number of untranslated words than y+. An
untranslated (copied) word costs 100 before learning, so that the bound would otherwise act only on
one such hypothesis at the end of a list.

B should not be below the largest required margin, max cost(y) - cost(y+), or the two kinds of
constraints conflict; `online/mira.py` therefore takes B in units of the cost.

Differs: errata eq. 4.1: the bounds hold for all y. Errata Alg. 6: y_3 is the model's best, and tau
is subtracted from both bounds. Errata Alg. 7: signs; multipliers persist; the two bounds share one
budget D, within which mass moves between constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hopefear.learn.steps.cutting_plane import Margin
from hopefear.learn.steps.dual import Dual
from hopefear.learn.steps.passive_aggressive import PassiveAggressive, closing
from hopefear.learn.steps.step import FloatArray, MarginProblem, Settings, Step


class RelativeMarginPa(Step):
    """The passive-aggressive step, followed by the bound on the lowest score."""

    name: ClassVar[str] = "rm-pa"
    lists: ClassVar[bool] = True
    uses: ClassVar[frozenset[str]] = frozenset({"B", "D"})

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        change = PassiveAggressive().change(problems, metric, settings)
        for problem in problems:
            scores = problem.scores_after(change)
            if problem.bounded is not None:
                scores = np.where(problem.bounded, scores, np.inf)
            worst = int(np.argmin(scores))
            violation = float(scores[problem.towards] - scores[worst]) - settings.B
            if violation > 0:
                away = -problem.direction(worst)
                change = change + closing(metric, away, violation, settings.D, settings.ridge)
        return change


class RelativeMarginCp(Step):
    """The optimum over all margin constraints and bounds of the lists."""

    name: ClassVar[str] = "rm-cp"
    lists: ClassVar[bool] = True
    uses: ClassVar[frozenset[str]] = frozenset({"B", "D"})

    def change(
        self, problems: Sequence[MarginProblem], metric: FloatArray, settings: Settings
    ) -> FloatArray:
        dual = Dual(metric, [settings.C, settings.D] * len(problems), settings.ridge)
        margins = [Margin(problem, 2 * number) for number, problem in enumerate(problems)]
        bounds = [_Bounds(p, 2 * number + 1, settings.B) for number, p in enumerate(problems)]
        for _ in range(settings.rounds):
            constraints = margins + bounds
            added = [c.add_most_violated(dual, settings.tolerance) for c in constraints]
            if not any(added):
                break
            dual.solve(settings.tolerance / 10)
        return dual.change


class _Bounds:
    """The working set of bounds of a sentence."""

    def __init__(self, problem: MarginProblem, group: int, bound: float) -> None:
        self.problem, self.group, self.bound = problem, group, bound
        self._added: set[tuple[int, float]] = set()  # hypothesis, and 1 (upper) or -1 (lower)

    def add_most_violated(self, dual: Dual, tolerance: float) -> bool:
        """Add the most violated bounds under the current weights; return whether any was added."""
        problem = self.problem
        scores = problem.scores_after(dual.change)
        distance = scores[problem.towards] - scores  # G(y)
        if problem.bounded is not None:
            distance = np.where(problem.bounded, distance, 0.0)
        slack = dual.slack(self.group)  # tau
        added = False
        # The upper bound is tightest at the lowest score, the lower one at the model's best.
        for number, sign in ((int(np.argmax(distance)), 1.0), (int(np.argmin(distance)), -1.0)):
            violation = sign * float(distance[number]) - self.bound
            if (number, sign) in self._added or violation <= slack + tolerance:
                continue
            self._added.add((number, sign))
            first = problem.scores[problem.towards] - problem.scores[number]
            dual.add(
                self.group, -sign * problem.direction(number), sign * float(first) - self.bound
            )
            added = True
        return added


__all__ = ["RelativeMarginCp", "RelativeMarginPa"]
