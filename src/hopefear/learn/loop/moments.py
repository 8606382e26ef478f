"""Mean and deviation of values that are counted in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Number, mean, and sum of squared differences from the mean."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float]) -> Moments:
        """Return the moments of some values."""
        if not values:
            return cls()
        array = np.asarray(values, np.float64)
        mean = float(array.mean())
        return cls(len(array), mean, float(((array - mean) ** 2).sum()))

    def plus(self, other: Moments) -> Moments:
        """Return the moments of these values and those of another part.  [chan1983]"""
        if not other.count:
            return self
        count = self.count + other.count
        change = other.mean - self.mean
        between = change**2 * self.count * other.count / count
        return Moments(
            count,
            self.mean + change * other.count / count,
            self.squares + other.squares + between,
        )

    @property
    def deviation(self) -> float:
        """The standard deviation; 0 without values."""
        return sqrt(self.squares / self.count) if self.count else 0.0
