"""Sums over the derivations of a string, and histograms of sampled strings.
[blunsom2008, eidelman2013]

A string has many derivations. With p(d) = exp(scale * score(d)) / Z over the derivations of a set
(all of the roots, or those that yield one string), `derivation_sum` and `string_sums` return

    log_sum   = 1/scale * log SUM_d exp(scale * score(d))
    features  = E_p[f(d)], the gradient of log_sum with respect to the weights

log_sum is in units of the score: the best score plus a bonus for further derivations, which tends
to 0 as the scale grows. With an infinite scale it is the best score, and `features` are those of
the best derivation. With a single derivation both are exactly its own.

`sample_strings` draws derivations and returns the histogram of their strings, an estimate of p(y)
(thesis, 6.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest.mbr import scaled
from hopefear.forest.score import Roots, roots_of, scores_of
from hopefear.text.tokenizers.plain import split_words


class DerivationSum(NamedTuple):
    """A sum over derivations; without any, `best` and `log_sum` are -inf."""

    best: float  #: score of the best derivation
    log_sum: float  #: 1/scale * log of the sum of exp(scale * score)
    derivations: float  #: their number, as a float
    features: SparseVector  #: expected features


class SampledString(NamedTuple):
    """A sampled string: the best of its sampled derivations, and how often it was drawn."""

    derivation: Derivation
    frequency: int


def derivation_sum(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scale: float = 1.0,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> DerivationSum:
    """Return the sum over all derivations of the roots."""
    values = scores_of(forest, weights, scores)
    return DerivationSum(*_engine.derivation_sum(forest, values, roots_of(forest, roots), scale))


def string_sums(
    forest: Forest,
    targets: Sequence[str | Sequence[str]],
    weights: Weights | None = None,
    *,
    scale: float = 1.0,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
    limit: int = _engine.EXPAND_LIMIT,
) -> list[DerivationSum]:
    """Return, for each target, the sum over the derivations of the roots that yield it.

    Equals `derivation_sum` of `intersect(forest, target)`, in one call for many targets. Raises
    `InputError` if an intersection has more than `limit` edges.
    """
    values = scores_of(forest, weights, scores)
    words = [split_words(t) if isinstance(t, str) else list(t) for t in targets]
    sums = _engine.string_sums(forest, values, roots_of(forest, roots), words, scale, limit)
    return [DerivationSum(*parts) for parts in sums]


def sample_strings(
    forest: Forest,
    weights: Weights | None = None,
    n: int = 1000,
    *,
    seed: int,
    scale: float = 1.0,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> list[SampledString]:
    """Return the strings of `n` samples with p(d) = exp(scale * score) / Z, most frequent first.

    Ties go to the string with the better derivation. Scores of derivations are the given ones times
    `scale`. The list is empty if there is no derivation.
    """
    values = scaled(scores_of(forest, weights, scores), scale)
    drawn = _engine.sample_strings(forest, values, roots_of(forest, roots), n, seed % 2**64)
    return [SampledString(*pair) for pair in drawn]
