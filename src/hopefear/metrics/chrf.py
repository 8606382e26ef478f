"""chrF: the F score of character n-grams, ignoring white space.  [popovic2015, post2018]

Statistics: per order the numbers of n-grams in the hypothesis, in the reference and in both,
counted in C++; with several references, those of the one with the best F score. Equal to
sacreBLEU's chrF2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import ChrfReferences
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.metrics.metric import FloatArray, Metric, References, safe_divide
from hopefear.metrics.prepared import PreparedReferences, lowercased_references


@register("metric", "chrf")
@dataclass(kw_only=True)
class Chrf(Metric):
    """Character n-gram F score."""

    name: ClassVar[str] = "chrf"
    title: ClassVar[str] = "chrF"

    order: int = option(6, min=1, max=16, help="longest character n-gram")
    beta: float = option(2.0, min=0, help="weight of recall relative to precision")
    lowercase: bool = option(False, help="ignore case")

    @property
    def columns(self) -> tuple[str, ...]:
        kinds = ("hyp", "ref", "match")
        return tuple(f"{kind}{n}" for n in range(1, self.order + 1) for kind in kinds)

    def prepare(self, references: References) -> PreparedReferences:
        texts = lowercased_references(references, self.lowercase)
        counted = ChrfReferences(texts, self.order, self.beta)
        return PreparedReferences(counted, lowercase=self.lowercase)

    def score(self, statistics: ArrayLike) -> FloatArray:
        values = np.asarray(statistics, dtype=np.float64)
        hypothesis, reference, match = values[..., 0::3], values[..., 1::3], values[..., 2::3]
        counted = (hypothesis > 0) & (reference > 0)
        orders = np.maximum(counted.sum(axis=-1), 1)
        precision = safe_divide(np.where(counted, match, 0.0), hypothesis, 0.0).sum(-1) / orders
        recall = safe_divide(np.where(counted, match, 0.0), reference, 0.0).sum(-1) / orders
        weight = self.beta**2
        return safe_divide((1 + weight) * precision * recall, weight * precision + recall, 0.0)
