"""The quadratic programme of large-margin steps, solved by pairs (SMO).  [platt1998]

    minimise   1/2 v' M^-1 v  +  SUM_g budget_g xi_g
    such that  h_j - p_j.v <= xi_g        for every constraint j of group g, xi_g >= 0

v is the change of the weights, M a diagonal metric (the learning rates of features), h_j the
violation of constraint j before the change, and p_j the direction that reduces it. The dual has a
multiplier for each constraint:

    maximise   SUM_j m_j h_j  -  1/2 |SUM_j m_j p_j|_M^2  -  r/2 SUM_g (SUM_{j in g} m_j)^2
    such that  m_j >= 0,  SUM_{j in g} m_j <= budget_g;             v = M SUM_j m_j p_j

With r > 0 (AROW) the cost of xi is xi^2 / 2r for xi < r budget_g, and linear with slope budget_g
above. The unused part of a group's budget is the multiplier of the constraint 0 <= xi_g, the *slack
member*. A pair step moves mass within a group to the most violated member, from the least violated
one that has mass (errata, Alg. 5: the safe SELECTPAIR). Multipliers are kept when constraints are
added, so that a cutting plane continues from its last solution.

Margin constraints (group budget C) have h = H(y), p = f(y+) - f(y); bounds (budget D) of relative
margin have h = s(y+) - s(y) - B with p reversed, and h = s(y) - s(y+) - B.

Differs: errata Alg. 5 l. 14-29, Alg. 7 l. 15-42: signs, the slack member's index, multipliers that
persist, and pair steps within a full budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Dual:
    """Constraints, their multipliers, and the resulting change of the weights."""

    def __init__(self, metric: FloatArray, budgets: list[float], ridge: float = 0.0) -> None:
        self.metric = metric  # the diagonal of M
        self.ridge = ridge  # r; 0: the cost of xi is linear
        self.change = np.zeros(len(metric))  # v
        self._budgets = budgets
        self._masses = [0.0] * len(budgets)
        self._members: list[list[int]] = [[] for _ in budgets]
        self._directions: list[FloatArray] = []
        # Only the first `len(self._directions)` rows and columns are in use.
        self._gram: FloatArray = np.zeros((8, 8))  # p_i' M p_j
        self._values = np.zeros(8)  # h_j - p_j.v now
        self._multipliers = np.zeros(8)

    def __len__(self) -> int:
        return len(self._directions)

    @property
    def multipliers(self) -> FloatArray:
        """The multiplier of each constraint."""
        return self._multipliers[: len(self)]

    @property
    def violations(self) -> FloatArray:
        """h - p.v of each constraint under the current change v."""
        return self._values[: len(self)]

    def slack(self, group: int) -> float:
        """Return xi of a group: its largest violation, or the value that its multipliers imply."""
        values = self._values[self._members[group]].tolist()
        return float(max([self.ridge * self._masses[group], *values]))

    def add(self, group: int, direction: FloatArray, value: float) -> int:
        """Add a constraint with h = `value` and p = `direction`; return its number."""
        number = len(self)
        if number == len(self._values):
            self._grow()
        self._directions.append(direction)
        scaled = self.metric * direction
        row = np.array([float(other @ scaled) for other in self._directions])
        self._gram[number, : number + 1] = row
        self._gram[: number + 1, number] = row
        self._values[number] = value - float(direction @ self.change)
        self._members[group].append(number)
        return number

    def _grow(self) -> None:
        old, size = len(self._values), 2 * len(self._values)
        gram = np.zeros((size, size))
        gram[:old, :old] = self._gram
        self._gram = gram
        self._values = np.concatenate([self._values, np.zeros(old)])
        self._multipliers = np.concatenate([self._multipliers, np.zeros(old)])

    def solve(self, tolerance: float, rounds: int = 1000) -> bool:
        """Move mass until no pair differs by more than `tolerance`; return whether it converged.

        Each round makes pair steps in every group. From the third round on it ends with a jump to
        the optimum among the constraints that have mass: pairs alone need thousands of steps if
        margins and bounds of relative margin involve the same features.
        """
        arrays = [np.array(members, dtype=np.int64) for members in self._members]
        before = self.multipliers.copy()
        moved = True
        for number in range(rounds):
            moved = False
            for group, members in enumerate(arrays):
                if len(members):
                    steps = 10 * len(members) + 20
                    moved |= self._solve_group(group, members, tolerance, steps) > 0
            if not moved:
                break
            if number >= 2:
                self._jump(arrays, tolerance)
        # Added once per changed multiplier: rounding errors of many small steps would accumulate.
        for number in np.flatnonzero(self.multipliers != before).tolist():
            moves = self._multipliers[number] - before[number]
            self.change += moves * self.metric * self._directions[number]
        return not moved

    def _jump(self, arrays: list[NDArray[np.int64]], tolerance: float) -> None:
        """Move the multipliers to the optimum of their face, or to the edge of the face."""
        free = np.flatnonzero(self.multipliers > 0)
        if not len(free):
            return
        curve = self._gram[np.ix_(free, free)].copy()
        slope = self._values[free].copy()
        room = []  # groups whose sums may grow: mask of their free members, and the limit
        for group, members in enumerate(arrays):
            own = np.isin(free, members)
            if not own.any():
                continue
            left = self._budgets[group] - self._masses[group]
            if self.ridge:
                curve[np.ix_(own, own)] += self.ridge
                slope[own] -= self.ridge * self._masses[group]
            if left > 1e-12 * self._budgets[group]:
                room.append((own, left))
            else:  # the budget is used up: only directions that keep the sum
                inside = own / np.sqrt(own.sum())
                slope -= inside * (inside @ slope)
                curve -= np.outer(inside, inside @ curve)
                curve -= np.outer(curve @ inside, inside)
        sizes, axes = np.linalg.eigh((curve + curve.T) / 2)
        along = axes.T @ slope
        bent = sizes > 1e-10 * max(sizes[-1], 1e-300)
        flat = axes[:, ~bent] @ along[~bent]
        if np.abs(flat).max(initial=0.0) > 0.1 * tolerance:  # no curvature: move to the edge
            direction, reach = flat, np.inf
        else:
            direction, reach = axes[:, bent] @ (along[bent] / sizes[bent]), 1.0
        masses = self._multipliers[free]
        falling = direction < 0
        limits = np.where(falling, -masses / np.where(falling, direction, -1.0), np.inf)
        reach = min(reach, float(limits.min()))
        for own, left in room:
            if (growth := float(direction[own].sum())) > 0:
                reach = min(reach, left / growth)
        if not np.isfinite(reach):
            return
        after = np.where(limits <= reach, 0.0, np.maximum(masses + reach * direction, 0.0))
        self._values[: len(self)] -= self._gram[: len(self), free] @ (after - masses)
        self._multipliers[free] = after
        for group, members in enumerate(arrays):
            self._masses[group] = float(self._multipliers[members].sum()) if len(members) else 0.0

    def _solve_group(
        self, group: int, members: NDArray[np.int64], tolerance: float, limit: int
    ) -> int:
        """Make pair steps in one group and return their number."""
        budget, size = self._budgets[group], len(members)
        # The slack member is the last.
        values = np.append(self._values[members], 0.0)
        masses = np.append(self._multipliers[members], 0.0)
        gram = np.zeros((size + 1, size + 1))
        gram[:size, :size] = self._gram[np.ix_(members, members)]
        taken = 0
        used = float(masses[:-1].sum())
        moves = np.zeros(size + 1)
        while taken < limit:
            left = budget - used
            masses[-1] = left if left > 1e-12 * budget else 0.0
            values[-1] = self.ridge * used
            up = int(np.argmax(values))
            down = int(np.argmin(np.where(masses > 0, values, np.inf)))
            gap = values[up] - values[down]
            if not gap > tolerance or masses[down] <= 0:
                break
            curve = gram[up, up] + gram[down, down] - 2 * gram[up, down]
            if self.ridge and size in (up, down):
                curve += self.ridge
            whole = curve * masses[down] <= gap  # also if the two have the same features
            move = float(masses[down] if whole else gap / curve)
            for member, sign in ((up, move), (down, -move)):
                masses[member] += sign
                if member < size:
                    used += sign
                    moves[member] += sign
                    values[:size] -= sign * gram[:size, member]
            if whole:  # no rounding left over
                masses[down] = 0.0
            taken += 1
        if taken:
            self._multipliers[members] = np.maximum(masses[:-1], 0.0)
            self._values[: len(self)] -= self._gram[: len(self), members] @ moves[:-1]
            self._masses[group] = used
        return taken
