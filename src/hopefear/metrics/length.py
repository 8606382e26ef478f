"""The length ratio: hypothesis length divided by reference length; 1 is best.

The gain is -|1 - ratio|; the value shown to users is the ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import LENGTH_UNIT, BleuReferences
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.metrics.metric import FloatArray, IntArray, Metric, References, Tokens
from hopefear.metrics.ngram_metric import ReferenceLength, Unit, length_ratio
from hopefear.metrics.prepared import PreparedReferences


@register("metric", "length")
@dataclass(kw_only=True)
class Length(Metric):
    """Length ratio."""

    name: ClassVar[str] = "length"
    title: ClassVar[str] = "length"

    reference_length: ReferenceLength = option(
        "closest",
        help="reference length with several references; closest: the shorter one in a tie",
    )
    unit: Unit = option("word", help="unit of length")

    @property
    def columns(self) -> tuple[str, ...]:
        return ("length", "reflen")

    def prepare(self, references: References) -> PreparedLengths:
        return PreparedLengths(
            BleuReferences(references, 1, self.unit, self.reference_length, True)
        )

    def score(self, statistics: ArrayLike) -> FloatArray:
        return -np.abs(1.0 - self.shown(statistics))

    def shown(self, statistics: ArrayLike) -> FloatArray:
        values = np.asarray(statistics, dtype=np.float64)
        scale = LENGTH_UNIT if self.reference_length == "average" else 1
        return length_ratio(values[..., 0], values[..., 1] / scale)

    def quality(self, shown: float) -> float:
        return -100.0 * abs(1.0 - shown)


class PreparedLengths(PreparedReferences):
    """References that count lengths: a part of BLEU's statistics."""

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        return super().statistics(hypotheses, sentences, threads)[:, 1:]

    def word_statistics(
        self, words: ArrayLike, offsets: ArrayLike, sentences: ArrayLike, threads: int = 1
    ) -> IntArray:
        return super().word_statistics(words, offsets, sentences, threads)[:, 1:]
