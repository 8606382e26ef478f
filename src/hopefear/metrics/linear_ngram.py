"""The linear n-gram score, a sum over n-grams that approximates BLEU.  [wisniewski2013]

score = Xi_1 c_1 + … + Xi_4 c_4 - Xi_0 c_non (eq. 8), where c_n is the number of n-grams that the
hypothesis shares with a reference and c_non the number of its other words. Unlike BLEU, it
decomposes over the edges of a lattice. The statistics are those of BLEU. The sentence score is
eq. 8; the corpus score is the sum of sentence scores divided by the reference length.

`fit` estimates the constants from statistics of hypotheses. The defaults were fitted to k-best
lists of 400 French-English sentences (docs/reference/metrics.md).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.metric import FloatArray, References, safe_divide
from hopefear.metrics.ngram_metric import NgramMetric
from hopefear.metrics.prepared import PreparedReferences

# By order; correlation with BLEU+1 within sentences: 0.70, 0.91, 0.98, 0.99. Above order 1,
# Xi_1 is 0: unigram matches count through Xi_0, the penalty of unmatched words.
FITTED = {
    1: [0.348, 0.714],
    2: [0.198, 0.0, 0.829],
    3: [0.192, 0.0, 0.036, 0.850],
    4: [0.191, 0.0, 0.149, 0.432, 0.372],
}


@register("metric", "linear-ngram")
@dataclass(kw_only=True)
class LinearNgram(NgramMetric):
    """A weighted sum of n-gram matches."""

    name: ClassVar[str] = "linear-ngram"
    title: ClassVar[str] = "linear n-grams"

    xi: list[float] = option(
        [], help="constants Xi_0 (words in no reference), Xi_1, … (default fitted constants)"
    )
    clip: bool = option(
        True,
        help="clip n-gram matches to the count in a reference (sums over lattice edges cannot)",
    )

    def __post_init__(self) -> None:
        if not self.xi:
            self.xi = list(FITTED.get(self.order, []))
        if len(self.xi) != self.order + 1 or min(self.xi) < 0:
            raise OptionError(
                f"xi: {self.xi} is not valid; give {self.order + 1} numbers of at least 0, "
                "Xi_0 first"
            )

    def prepare(self, references: References) -> PreparedReferences:
        return self._prepare(references, clip=self.clip)

    def score(self, statistics: ArrayLike) -> FloatArray:
        reference = self.parts(statistics)[2]
        return safe_divide(self.sentence_scores(statistics), np.maximum(reference, 1.0), 0.0)

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Return eq. 8."""
        score: FloatArray = self.terms(statistics) @ np.asarray(self.xi)
        return score

    def terms(self, statistics: ArrayLike) -> FloatArray:
        """Return the factors of the constants: -c_non, c_1, …, c_order; (…, order + 1)."""
        matches, totals, _ = self.parts(statistics)
        return linear_terms(matches, totals)


def linear_terms(matches: FloatArray, totals: FloatArray) -> FloatArray:
    """Take matches and totals per order and return -c_non followed by the matches.

    Differs: with clipping, excess matches of a word are in c_non; in eq. 8 they are not counted.
    """
    others = totals[..., :1] - matches[..., :1]
    return np.concatenate([-others, matches], axis=-1)


class Fit(NamedTuple):
    """Fitted constants and their correlation with BLEU."""

    xi: list[float]  # Xi_0 … Xi_order
    correlation: float  # with BLEU within sentences


def fit(
    statistics: ArrayLike,
    sentences: ArrayLike,
    *,
    order: int = 4,
    target: NgramMetric | None = None,
) -> Fit:
    """Return the constants >= 0 that best approximate BLEU within each sentence's hypotheses.

    Takes rows of the target's statistics, several per sentence, and their sentence numbers. The
    target is a sentence metric (default BLEU+1) times reference length; hypotheses are compared
    within their sentence, as in learning. Least squares, which maximises the correlation.
    """
    target = target or BleuPlusOne()
    rows = np.asarray(statistics)
    _, numbers = np.unique(np.asarray(sentences), return_inverse=True)
    matches, totals, reference = target.parts(rows)
    targets = _centred(target.sentence_scores(rows) * reference, numbers)
    terms = _centred(linear_terms(matches[:, :order], totals), numbers)
    gram, moment = terms.T @ terms, terms.T @ targets
    best, best_xi = 0.0, np.zeros(terms.shape[1])
    # Solve for every subset of non-zero constants (31 subsets of 5) and keep the best admissible.
    for size in range(1, terms.shape[1] + 1):
        for subset in itertools.combinations(range(terms.shape[1]), size):
            active = list(subset)
            solution = np.linalg.lstsq(gram[np.ix_(active, active)], moment[active], rcond=None)[0]
            if (solution < 0).any():
                continue
            explained = float(solution @ moment[active])
            if explained > best:
                best, best_xi = explained, np.zeros(terms.shape[1])
                best_xi[active] = solution
    fitted = terms @ best_xi
    norm = float(np.linalg.norm(fitted) * np.linalg.norm(targets))
    return Fit([float(x) for x in best_xi], float(fitted @ targets) / norm if norm > 0 else 0.0)


def _centred(values: FloatArray, groups: ArrayLike) -> FloatArray:
    """Return the values minus the mean of their group."""
    table = values.reshape(len(values), -1)
    count = np.bincount(np.asarray(groups))
    means = np.stack(
        [np.bincount(np.asarray(groups), weights=column) / count for column in table.T], axis=1
    )
    centred: FloatArray = (table - means[np.asarray(groups)]).reshape(values.shape)
    return centred
