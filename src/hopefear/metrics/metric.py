"""The contract of a metric: additive statistics per sentence, and a score of their sum.

Goes in: hypotheses and references, each a line (split at white space) or a list of tokens (taken
as they are). Comes out: a matrix of whole numbers, one row per hypothesis; scores of any sums of
rows, vectorised: an array of shape (…, columns) gives scores of shape (…).

    metric = create("bleu", {"reference_length": "average"})
    prepared = metric.prepare(references)                  # references[sentence][which]
    rows = prepared.statistics(hypotheses)                 # one hypothesis per sentence
    rows = prepared.statistics(pool, sentences=numbers)    # or any number, with their sentences
    metric.score(rows.sum(axis=0))                         # corpus score
    metric.sentence_scores(rows)                           # one score per row

Inside, a score is a gain: higher is better, 1 is perfect where there is a perfect value, an error
rate enters as its negative. `shown` is what a user sees: 0-100, an error rate as such.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import __version__
from hopefear.base import config, registry

Tokens = str | Sequence[str]
References = Sequence[Sequence[Tokens]]  # [sentence][which of its references]
IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


class Prepared(Protocol):
    """References made ready once, so that any number of hypotheses can be counted quickly."""

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        """A row per hypothesis; `sentences` are the numbers of their sentences, from 0.

        Without `sentences` there is one hypothesis per sentence, in order. The number of threads
        does not change a bit.
        """


class Metric(ABC):
    """Base of all metrics; subclasses are dataclasses whose fields are their options."""

    name: ClassVar[str]  # in the registry
    title: ClassVar[str]  # in tables
    lower_is_better: ClassVar[bool] = False  # of what is shown; inside, higher is always better

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the statistics."""

    @abstractmethod
    def prepare(self, references: References) -> Prepared:
        """The references, ready for counting."""

    @abstractmethod
    def score(self, statistics: ArrayLike) -> FloatArray:
        """The gain of a corpus whose summed statistics these are: (…, columns) -> (…)."""

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """The gain of each sentence alone: (…, columns) -> (…)."""
        return self.score(statistics)

    def shown(self, statistics: ArrayLike) -> FloatArray:
        """The corpus value as a user sees it."""
        value = 100.0 * self.score(statistics)
        return -value if self.lower_is_better else value

    def quality(self, shown: float) -> float:
        """What a value that a user sees is worth, in points: higher is better."""
        return -shown if self.lower_is_better else shown

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        references: References,
        *,
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        """Prepare and count in one call."""
        return self.prepare(references).statistics(hypotheses, sentences, threads)

    def corpus_score(self, statistics: ArrayLike) -> float:
        """The gain of a corpus from its rows."""
        return float(self.score(total(statistics)))

    def signature(self) -> str:
        """What exactly is computed: the name and every option."""
        parts = [self.name]
        for key, value in config.to_mapping(self).items():
            if isinstance(value, list):
                value = ",".join(map(_plain, value))
            parts.append(f"{key.replace('_', '-')}:{_plain(value)}")
        return "|".join([*parts, f"version:{__version__}"])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def create(name: str, options: Mapping[str, Any] | None = None) -> Metric:
    """The metric of that name with these options."""
    cls: type[Metric] = registry.get("metric", name)
    return config.from_mapping(cls, options or {}, f"metric {name}")


def total(statistics: ArrayLike) -> NDArray[np.int64]:
    """The sum of rows, in 64 bits."""
    summed: NDArray[np.int64] = np.asarray(statistics).sum(axis=0, dtype=np.int64)
    return summed


def safe_divide(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """numerator / denominator; `otherwise` where the denominator is 0."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)
