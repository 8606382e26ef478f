"""The contract of a metric: additive statistics per sentence, and a score of their sum.

Takes hypotheses and references, each a line (split at white space) or a list of tokens; returns
statistics (a matrix of integers with one row per hypothesis) and scores of rows or sums of rows.
Scoring is vectorised: an array of shape (…, columns) gives scores of shape (…).

    metric = create("bleu", {"reference_length": "average"})
    prepared = metric.prepare(references)                  # references[sentence][index]
    rows = prepared.statistics(hypotheses)                 # one hypothesis per sentence
    rows = prepared.statistics(pool, sentences=numbers)    # any number, with sentence numbers
    metric.score(rows.sum(axis=0))                         # corpus score
    metric.sentence_scores(rows)                           # one score per row

A score is a gain: higher is better, 1 is perfect (where a perfect value exists), and an error rate
is negated. `shown` is the value shown to users: 0-100, with error rates not negated.
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
References = Sequence[Sequence[Tokens]]  # [sentence][reference]
IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


class Prepared(Protocol):
    """References that are prepared once, for fast counting of any number of hypotheses."""

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        """Take hypotheses and their sentence numbers (from 0); return a row per hypothesis.

        Without `sentences`, there must be one hypothesis per sentence, in order. The number of
        threads does not change the result.
        """


class Metric(ABC):
    """Base class of metrics; subclasses are dataclasses whose fields are their options."""

    name: ClassVar[str]  #: name in the registry
    title: ClassVar[str]  #: name in tables
    lower_is_better: ClassVar[bool] = False  #: for shown values; higher gains are always better

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the statistics."""

    @abstractmethod
    def prepare(self, references: References) -> Prepared:
        """Take the references of all sentences and return them ready for counting."""

    @abstractmethod
    def score(self, statistics: ArrayLike) -> FloatArray:
        """Take summed statistics of a corpus and return its gain: (…, columns) -> (…)."""

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Take statistics of sentences and return their gains: (…, columns) -> (…)."""
        return self.score(statistics)

    def shown(self, statistics: ArrayLike) -> FloatArray:
        """Take summed statistics and return the corpus score in the form shown to users."""
        value = 100.0 * self.score(statistics)
        return -value if self.lower_is_better else value

    def quality(self, shown: float) -> float:
        """Take a shown value and return its quality in points: higher is better."""
        return -shown if self.lower_is_better else shown

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        references: References,
        *,
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        """Take hypotheses and references and return statistics: `prepare` and count in one call."""
        return self.prepare(references).statistics(hypotheses, sentences, threads)

    def corpus_score(self, statistics: ArrayLike) -> float:
        """Take the rows of a corpus and return its gain."""
        return float(self.score(total(statistics)))

    def signature(self) -> str:
        """Return the metric's name, all its options, and the version."""
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
    """Take a registered name and options and return the metric."""
    cls: type[Metric] = registry.get("metric", name)
    return config.from_mapping(cls, options or {}, f"metric {name}")


def total(statistics: ArrayLike) -> NDArray[np.int64]:
    """Return the sum of rows, in 64 bits."""
    summed: NDArray[np.int64] = np.asarray(statistics).sum(axis=0, dtype=np.int64)
    return summed


def safe_divide(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)
