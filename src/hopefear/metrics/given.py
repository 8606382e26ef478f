"""The mean of externally computed scores: COMET, human judgements, or any other.

Takes one score per candidate and returns a metric that works with every tuner and significance
test. Its additive statistics are a count and an integer number of steps on a scale
from the lowest to the highest score. It is not in the registry because it cannot score new text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.errors import InputError
from hopefear.metrics.metric import FloatArray, IntArray, Metric, References, safe_divide
from hopefear.metrics.prepared import PreparedReferences

STEPS = 1 << 22  # from the lowest to the highest score: the resolution is a four-millionth


@dataclass(kw_only=True)
class GivenScore(Metric):
    """The mean of external scores; `low` and `high` are the lowest and the highest of them."""

    name: ClassVar[str] = "given"
    title: ClassVar[str] = "given score"

    low: float
    high: float
    lower: bool = False  # whether lower scores are better

    @classmethod
    def of(cls, scores: ArrayLike, *, lower: bool = False) -> GivenScore:
        """Take all scores, which must be finite, and return the metric for them."""
        values = np.asarray(scores, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InputError(
                f"score {values[~np.isfinite(values)][0]} of a candidate: expected a finite number"
            )
        if not values.size:
            return cls(low=0.0, high=0.0, lower=lower)
        return cls(low=float(values.min()), high=float(values.max()), lower=lower)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("steps", "count")

    def rows(self, scores: ArrayLike) -> IntArray:
        """Take the scores of candidates and return their rows of statistics."""
        share = (np.asarray(scores, dtype=np.float64) - self.low) / self._range
        steps = np.rint(STEPS * share).astype(np.int32)
        return np.stack([steps, np.ones_like(steps)], axis=-1)

    def prepare(self, references: References) -> PreparedReferences:
        raise InputError("external scores cannot score text; choose another metric")

    def score(self, statistics: ArrayLike) -> FloatArray:
        mean = self.shown(statistics)
        return -mean if self.lower else mean

    def shown(self, statistics: ArrayLike) -> FloatArray:
        """Return the mean in the units of the given scores."""
        values = np.asarray(statistics, dtype=np.float64)
        mean = safe_divide(values[..., 0], values[..., 1], 0.0)
        return self.low + mean / STEPS * self._range

    def quality(self, shown: float) -> float:
        return -shown if self.lower else shown

    @property
    def _range(self) -> float:
        return self.high - self.low or 1.0
