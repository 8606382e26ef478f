"""Your own metric: a plugin for --plugin (docs/guides/extending.md).

    hopefear tune --plugin examples/my_metric.py --metric word-f --set metric.beta=2 …
    hopefear rerank tune --plugin examples/my_metric.py --metric word-f --metric-set beta=2 …

A metric is a row of whole numbers for each sentence, and a score of the sum of rows. Tuning,
significance tests and reports need nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.metrics.metric import FloatArray, IntArray, Metric, References, Tokens, safe_divide
from hopefear.metrics.prepared import sentence_numbers


@register("metric", "word-f")
@dataclass(kw_only=True)
class WordF(Metric):
    """F score of words, in any order."""

    name: ClassVar[str] = "word-f"
    title: ClassVar[str] = "word F"

    beta: float = option(1.0, min=0, help="weight of recall against precision")

    @property
    def columns(self) -> tuple[str, ...]:
        return ("words", "reference", "common")

    def prepare(self, references: References) -> Bags:
        return Bags(references)

    def score(self, statistics: ArrayLike) -> FloatArray:
        """Return the score of a row, or of each row of an array; from 0 to 1, higher is better."""
        words, reference, common = np.moveaxis(np.asarray(statistics, np.float64), -1, 0)
        square = self.beta**2
        return safe_divide((1 + square) * common, square * reference + words, 0.0)


class Bags:
    """The references as bags of words, prepared once for any number of hypotheses."""

    def __init__(self, references: References) -> None:
        self.references = [[Counter(_words(text)) for text in texts] for texts in references]

    def statistics(
        self, hypotheses: Sequence[Tokens], sentences: ArrayLike | None = None, threads: int = 1
    ) -> IntArray:
        """Return a row of whole numbers for each hypothesis, from its nearest reference."""
        numbers = sentence_numbers(len(self.references), sentences, len(hypotheses))
        rows = np.zeros((len(hypotheses), 3), np.int32)
        for row, (text, number) in enumerate(zip(hypotheses, numbers, strict=True)):
            words = Counter(_words(text))
            overlaps = [((words & bag).total(), -bag.total()) for bag in self.references[number]]
            common, length = max(overlaps)  # in a tie, the shorter reference
            rows[row] = words.total(), -length, common
        return rows


def _words(text: Tokens) -> Sequence[str]:
    return text.split() if isinstance(text, str) else text
