"""Minimum Bayes risk: the candidate that agrees most with its list.  [kumar2004]

Takes an n-best list and returns the expected utility of each candidate: the mean of a metric
against all candidates as references, weighted by their posterior. The posterior is
softmax(scale w.f) under given weights, or the same for every candidate, which is right for samples.

    E(h) = sum over r of p(r) u(h, r)

The utility is a metric's sentence score, or it is given in the lists (`"utilities"`: a row of N
numbers for each of N candidates). Equal texts are counted once. Time is quadratic in the length of
the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import InputError
from hopefear.base.weights import Weights
from hopefear.forest import edge_scores
from hopefear.forest.io.nbest import NbestList
from hopefear.learn.pool.candidate_builder import entries
from hopefear.metrics.metric import Metric, create
from hopefear.metrics.tokenizing import Tokenization, tokenized

FloatArray = NDArray[np.float64]
GIVEN = "given"
_UNTOKENIZED = ("chrf", "cer")


@dataclass
class ExpectedUtility:
    """Expected utilities of the candidates of lists."""

    utility: str  # the name of a metric, or `given`
    weights: Weights | None = None  # of the posterior; None: all candidates weigh the same
    scale: float = 1.0
    tokenize: Tokenization = "none"
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1

    def __post_init__(self) -> None:
        self._metric: Metric | None = None
        if self.utility != GIVEN:
            self._metric = create(self.utility, self.options)

    def choose(self, list_: NbestList) -> int:
        """Return the candidate with the largest expected utility, the first in a tie."""
        return int(np.argmax(self.expected(list_)))

    def expected(self, list_: NbestList) -> FloatArray:
        """Return the expected utility of each candidate, in the metric's gain."""
        posterior = self.posterior(list_)
        if self._metric is None:
            return given_utilities(list_) @ posterior
        texts = [derivation.text for derivation in entries(list_.forest)]
        place_of: dict[str, int] = {}
        places = np.array([place_of.setdefault(text, len(place_of)) for text in texts])
        unique = list(place_of)
        mass = np.bincount(places, posterior, minlength=len(unique))
        expected: FloatArray = (self._utilities(self._metric, unique) @ mass)[places]
        return expected

    def posterior(self, list_: NbestList) -> FloatArray:
        """Return the posterior of each candidate: positive, with sum 1."""
        size = list_.forest.edges
        if self.weights is None:
            return np.full(size, 1.0 / max(1, size))
        scores = edge_scores(list_.forest, self.weights)
        with np.errstate(over="ignore"):  # to -inf, of which the power is 0
            powers = np.exp(self.scale * (scores - scores.max(initial=-np.inf)))
        posterior: FloatArray = powers / powers.sum()
        return posterior

    def _utilities(self, metric: Metric, texts: list[str]) -> FloatArray:
        """Return u(h, r) of all pairs: (hypotheses, references)."""
        plain = self.tokenize == "none" or metric.name in _UNTOKENIZED
        lines = texts if plain else tokenized(texts, self.tokenize)
        prepared = metric.prepare([[line] for line in lines])
        size = len(lines)
        numbers = np.repeat(np.arange(size, dtype=np.int32), size)
        rows = prepared.statistics([*lines] * size, numbers, self.threads)
        utilities: FloatArray = metric.sentence_scores(rows).reshape(size, size).T
        return utilities


def given_utilities(list_: NbestList) -> FloatArray:
    """Return the utilities in a list: (hypotheses, references)."""
    size = list_.forest.edges
    rows = list_.utilities
    for number in range(size):
        found = len(rows[number]) if number < len(rows) else 0
        if found != size:
            raise InputError(
                f'entry {number + 1} of id {list_.id!r} has {found} "utilities", expected {size}: '
                "one against each entry of its list"
            )
    return np.array(rows, np.float64).reshape(size, size)
