"""The quadratic programme behind every large-margin step, solved by pairs (SMO).  [platt1998]

    minimise   1/2 v' M^-1 v  +  SUM_g budget_g xi_g
    such that  h_j - p_j.v <= xi_g        for every constraint j of group g, xi_g >= 0

v is the change of the weights, M a diagonal metric (the rates of the features), h_j by how much the
constraint is violated before the change, p_j the direction that mends it. The dual has a multiplier
per constraint:

    maximise   SUM_j m_j h_j  -  1/2 |SUM_j m_j p_j|_M^2  -  r/2 SUM_g (SUM_{j in g} m_j)^2
    such that  m_j >= 0,  SUM_{j in g} m_j <= budget_g;             v = M SUM_j m_j p_j

With r > 0 (AROW) the price of xi is xi^2 / 2r at first, and budget_g xi from xi = r budget_g on.
What is left of a group's budget is the multiplier of the constraint 0 <= xi_g, the *slack member*.
A pair step moves mass between the two members of a group that want it most: to the one that is most
violated, from the least violated one that has any (errata, Alg. 5: the safe SELECTPAIR).
Multipliers stay when constraints are added, so that a cutting plane goes on where it was.

Margin constraints (group budget C) have h = H(y), p = f(y+) - f(y); bounds (budget D) of relative
margin have h = s(y+) - s(y) - B with the direction turned round, and h = s(y) - s(y+) - B.

Differs: errata Alg. 5 l. 14-29, Alg. 7 l. 15-42: signs, the slack member's index, multipliers that
persist, and pair steps within a full budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Dual:
    """Constraints, their multipliers and the change of the weights that follows from them."""

    def __init__(self, metric: FloatArray, budgets: list[float], ridge: float = 0.0) -> None:
        self.metric = metric  # the diagonal of M, per feature
        self.ridge = ridge  # r; 0: xi counts linearly
        self.change = np.zeros(len(metric))  # v
        self._budgets = budgets
        self._masses = [0.0] * len(budgets)
        self._members: list[list[int]] = [[] for _ in budgets]
        self._directions: list[FloatArray] = []
        # Rows and columns that are in use: the first `len(self._directions)`.
        self._gram: FloatArray = np.zeros((8, 8))  # p_i' M p_j
        self._values = np.zeros(8)  # h_j - p_j.v now
        self._multipliers = np.zeros(8)

    def __len__(self) -> int:
        return len(self._directions)

    @property
    def multipliers(self) -> FloatArray:
        return self._multipliers[: len(self)]

    @property
    def violations(self) -> FloatArray:
        """h - p.v of each constraint, with the change so far."""
        return self._values[: len(self)]

    def slack(self, group: int) -> float:
        """xi of a group: the largest violation among its constraints, 0, or what r allows."""
        values = self._values[self._members[group]].tolist()
        return float(max([self.ridge * self._masses[group], *values]))

    def add(self, group: int, direction: FloatArray, value: float) -> int:
        """A constraint with h = value before any change; returns its number."""
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
        """Move mass until no pair differs by more than `tolerance`; whether that was reached.

        In a round the groups take turns with pair steps; where that does not settle, a step to the
        optimum among the constraints that have mass follows. (Pairs alone need thousands of steps
        where margins and bounds of relative margin pull at the same features.)
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
        # Once, from what changed: sums in many small parts would drift.
        for one in np.flatnonzero(self.multipliers != before).tolist():
            moves = self._multipliers[one] - before[one]
            self.change += moves * self.metric * self._directions[one]
        return not moved

    def _jump(self, arrays: list[NDArray[np.int64]], tolerance: float) -> None:
        """To the optimum of the face that the multipliers are on, or as far as its edge."""
        free = np.flatnonzero(self.multipliers > 0)
        if not len(free):
            return
        curve = self._gram[np.ix_(free, free)].copy()
        slope = self._values[free].copy()
        room = []  # of groups whose sums may grow: which of the free ones, and by how much
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
            else:  # the sum stays: only directions that keep it
                inside = own / np.sqrt(own.sum())
                slope -= inside * (inside @ slope)
                curve -= np.outer(inside, inside @ curve)
                curve -= np.outer(curve @ inside, inside)
        sizes, axes = np.linalg.eigh((curve + curve.T) / 2)
        along = axes.T @ slope
        bent = sizes > 1e-10 * max(sizes[-1], 1e-300)
        flat = axes[:, ~bent] @ along[~bent]
        if np.abs(flat).max(initial=0.0) > 0.1 * tolerance:  # straight up, to the edge
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
        """Pair steps in one group; returns how many."""
        budget, size = self._budgets[group], len(members)
        # Of the members and, last, the slack member.
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
            whole = curve * masses[down] <= gap  # also where the two have the same features
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
