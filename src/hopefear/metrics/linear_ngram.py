"""The linear n-gram score, a sum over n-grams that stands in for BLEU.  [wisniewski2013]

score = Xi_1 c_1 + … + Xi_4 c_4 - Xi_0 c_non (eq. 8), with c_n the n-grams that the hypothesis has
in common with a reference and c_non its other words. It decomposes over the edges of a lattice,
which BLEU does not. The statistics are those of BLEU. A sentence's score is eq. 8; the corpus
score is their sum by reference length.

`fit` finds the constants on hypotheses with known statistics. The defaults were fitted to k-best
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

# By order; correlation with BLEU+1 within sentences: 0.70, 0.91, 0.98, 0.99. Unigrams count through
# Xi_0: a matched word is one that is not among the others.
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
        [], help="constants Xi_0 (words of no reference), Xi_1, …; if not given, fitted ones"
    )
    clip: bool = option(
        True,
        help="an n-gram matches at most as often as a reference has it; sums over the edges of a "
        "lattice cannot know that",
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
        """Eq. 8."""
        score: FloatArray = self.terms(statistics) @ np.asarray(self.xi)
        return score

    def terms(self, statistics: ArrayLike) -> FloatArray:
        """What the constants multiply: -c_non, c_1, …, c_order; (…, order + 1)."""
        matches, totals, _ = self.parts(statistics)
        return linear_terms(matches, totals)


def linear_terms(matches: FloatArray, totals: FloatArray) -> FloatArray:
    """-c_non and the matches.

    Differs: clipped, a word beyond its limit counts among c_non; eq. 8 would count it nowhere.
    """
    others = totals[..., :1] - matches[..., :1]
    return np.concatenate([-others, matches], axis=-1)


class Fit(NamedTuple):
    """Constants and how well they do."""

    xi: list[float]  # Xi_0 … Xi_order
    correlation: float  # with BLEU within sentences


def fit(
    statistics: ArrayLike,
    sentences: ArrayLike,
    *,
    order: int = 4,
    target: NgramMetric | None = None,
) -> Fit:
    """The constants of at least 0 whose score follows BLEU best within each sentence's hypotheses.

    `statistics` are rows of the target's columns, several for each of `sentences`. The target is
    sentence BLEU (BLEU+1 unless given) times reference length; hypotheses are compared within their
    sentence, as learning does. Least squares, which maximises the correlation.
    """
    target = target or BleuPlusOne()
    rows = np.asarray(statistics)
    _, numbers = np.unique(np.asarray(sentences), return_inverse=True)
    matches, totals, reference = target.parts(rows)
    wanted = _centred(target.sentence_scores(rows) * reference, numbers)
    terms = _centred(linear_terms(matches[:, :order], totals), numbers)
    gram, moment = terms.T @ terms, terms.T @ wanted
    best, best_xi = 0.0, np.zeros(terms.shape[1])
    # Five constants: all 31 choices of those above 0, and the best of the admissible ones.
    for size in range(1, terms.shape[1] + 1):
        for active in itertools.combinations(range(terms.shape[1]), size):
            chosen = list(active)
            solution = np.linalg.lstsq(gram[np.ix_(chosen, chosen)], moment[chosen], rcond=None)[0]
            if (solution < 0).any():
                continue
            explained = float(solution @ moment[chosen])
            if explained > best:
                best, best_xi = explained, np.zeros(terms.shape[1])
                best_xi[chosen] = solution
    fitted = terms @ best_xi
    norm = float(np.linalg.norm(fitted) * np.linalg.norm(wanted))
    return Fit([float(x) for x in best_xi], float(fitted @ wanted) / norm if norm > 0 else 0.0)


def _centred(values: FloatArray, groups: ArrayLike) -> FloatArray:
    """Values minus their group's mean."""
    table = values.reshape(len(values), -1)
    count = np.bincount(np.asarray(groups))
    means = np.stack(
        [np.bincount(np.asarray(groups), weights=column) / count for column in table.T], axis=1
    )
    centred: FloatArray = (table - means[np.asarray(groups)]).reshape(values.shape)
    return centred
