"""The error rate: edit distance to the reference by reference length; base class of WER and CER.

Statistics: edits (insertions, deletions, substitutions) to the reference with the lowest error
rate, and the length of this reference, counted in C++. The gain is the negative rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import EditReferences
from hopefear.base.config import option
from hopefear.metrics.metric import FloatArray, Metric, References
from hopefear.metrics.prepared import PreparedReferences, lowercased_references


@dataclass(kw_only=True)
class ErrorRate(Metric):
    """Edits by reference length; subclasses name the unit of text."""

    unit: ClassVar[Literal["word", "spaced-char"]]  #: of the edits
    lower_is_better: ClassVar[bool] = True

    lowercase: bool = option(False, help="ignore case")

    @property
    def columns(self) -> tuple[str, ...]:
        return ("edits", "reflen")

    def prepare(self, references: References) -> PreparedReferences:
        texts = lowercased_references(references, self.lowercase)
        return PreparedReferences(EditReferences(texts, self.unit), lowercase=self.lowercase)

    def score(self, statistics: ArrayLike) -> FloatArray:
        values = np.asarray(statistics, dtype=np.float64)
        # Without any reference unit, the rate is the number of insertions, as in jiwer.
        return -(values[..., 0] / np.maximum(values[..., 1], 1.0))
