"""The base class of metrics that count n-grams: the statistics of BLEU and their parts.

A row is match1, total1, …, match4, total4, reference length (the columns of Moses's scorer). The
length of the hypothesis is total1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import LENGTH_UNIT, BleuReferences
from hopefear.base.config import option
from hopefear.metrics.metric import FloatArray, Metric, References, safe_divide
from hopefear.metrics.prepared import PreparedReferences, lowercased_references

ReferenceLength = Literal["closest", "shortest", "average"]
Unit = Literal["word", "char"]


@dataclass(kw_only=True)
class NgramMetric(Metric):
    """Base class of BLEU, its sentence-level variants and the linear n-gram score."""

    order: int = option(4, min=1, max=16, help="longest n-gram")
    reference_length: ReferenceLength = option(
        "closest",
        help="reference length with several references; closest: the shorter one in a tie",
    )
    unit: Unit = option("word", help="unit of n-grams")
    lowercase: bool = option(False, help="ignore case")

    @property
    def columns(self) -> tuple[str, ...]:
        pairs = [(f"match{n}", f"total{n}") for n in range(1, self.order + 1)]
        return (*(name for pair in pairs for name in pair), "reflen")

    @property
    def length_unit(self) -> int:
        """Units per word in the column `reflen`, which holds means as integers."""
        return LENGTH_UNIT if self.reference_length == "average" else 1

    def prepare(self, references: References) -> PreparedReferences:
        return self._prepare(references, clip=True)

    def _prepare(self, references: References, *, clip: bool) -> PreparedReferences:
        texts = lowercased_references(references, self.lowercase)
        counted = BleuReferences(texts, self.order, self.unit, self.reference_length, clip)
        return PreparedReferences(counted, lowercase=self.lowercase)

    def parts(self, statistics: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Take rows; return matches (…, order), totals (…, order), reference lengths in words."""
        values = np.asarray(statistics, dtype=np.float64)
        pairs = values[..., : 2 * self.order]
        return pairs[..., 0::2], pairs[..., 1::2], values[..., 2 * self.order] / self.length_unit

    def length_ratio(self, statistics: ArrayLike) -> FloatArray:
        """Return hypothesis length divided by reference length."""
        _, totals, reference = self.parts(statistics)
        return length_ratio(totals[..., 0], reference)


def length_ratio(length: FloatArray, reference: FloatArray) -> FloatArray:
    """Return length / reference; 1 + length where the reference is empty."""
    return np.where(reference > 0, safe_divide(length, reference, otherwise=1.0), 1.0 + length)
