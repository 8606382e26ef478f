"""A weighted sum of any metrics, also of scores that were computed elsewhere.

Statistics: those of the parts side by side. The score is the sum of weight x gain: a metric of text
has gains between 0 and 1 (error rates are negated), a given score its own units. It is not in the
registry, because given scores cannot score new text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from hopefear.base.errors import InputError
from hopefear.metrics.combined import sum_of_parts
from hopefear.metrics.metric import FloatArray, Metric, References
from hopefear.metrics.prepared import PreparedReferences


@dataclass(kw_only=True)
class Mix(Metric):
    """A weighted sum of metrics; `names` are those of the parts."""

    name: ClassVar[str] = "mix"
    title: ClassVar[str] = "mix"

    names: Sequence[str]
    weights: Sequence[float]
    parts: Sequence[Metric]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(
            f"{name}.{column}"
            for name, part in zip(self.names, self.parts, strict=True)
            for column in part.columns
        )

    def prepare(self, references: References) -> PreparedReferences:
        raise InputError("a mix with external scores cannot score text; choose another metric")

    def score(self, statistics: ArrayLike) -> FloatArray:
        return sum_of_parts(
            self.parts, self.weights, statistics, lambda part, rows: part.score(rows)
        )

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        return sum_of_parts(
            self.parts, self.weights, statistics, lambda part, rows: part.sentence_scores(rows)
        )

    def shown(self, statistics: ArrayLike) -> FloatArray:
        """Return the sum in the units of the parts."""
        return self.score(statistics)

    def describe(self) -> str:
        """Return the parts with their weights, as options name them."""
        pairs = zip(self.names, self.weights, strict=True)
        return " ".join(f"{name}={weight:g}" for name, weight in pairs)
