"""TER (translation edit rate): edits and phrase shifts per reference word.  [snover2006]

Statistics: edits to the nearest reference, and the mean reference length in units of 1/840 word (to
keep means integral), counted in C++. Equal to sacreBLEU's TER on the same tokens. The gain is -TER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import LENGTH_UNIT, TerReferences
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.metrics.metric import FloatArray, Metric, References, safe_divide
from hopefear.metrics.prepared import PreparedReferences, lowercased_references


@register("metric", "ter")
@dataclass(kw_only=True)
class Ter(Metric):
    """Translation edit rate."""

    name: ClassVar[str] = "ter"
    title: ClassVar[str] = "TER"
    lower_is_better: ClassVar[bool] = True

    lowercase: bool = option(True, help="ignore case, as sacreBLEU's TER does")

    @property
    def columns(self) -> tuple[str, ...]:
        return ("edits", "reflen")

    def prepare(self, references: References) -> PreparedReferences:
        texts = lowercased_references(references, self.lowercase)
        return PreparedReferences(TerReferences(texts), lowercase=self.lowercase)

    def score(self, statistics: ArrayLike) -> FloatArray:
        values = np.asarray(statistics, dtype=np.float64)
        edits, reference = values[..., 0], values[..., 1] / LENGTH_UNIT
        # With empty references, any output has the error rate 1.
        return -np.where(reference > 0, safe_divide(edits, reference, 0.0), np.minimum(edits, 1.0))
