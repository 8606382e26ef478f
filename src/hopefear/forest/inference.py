"""Sums over all derivations: inside and outside, expected uses, entropy, expected gains.
[li2009]

Everything is about the distribution p(d) = exp(score(d)) / Z over the derivations of the roots.
Where a node may occur twice in one derivation (repeated tails), an expected number of uses is not a
probability and may exceed 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest.score import Roots, roots_of, scores_of


class Marginals(NamedTuple):
    """Expected numbers of uses in a derivation."""

    nodes: NDArray[np.float64]
    edges: NDArray[np.float64]


class Expectation(NamedTuple):
    """An expected gain and its derivatives."""

    value: float
    gradient: SparseVector  # for the weights
    edges: NDArray[np.float64]  # for the scores of edges


def inside(
    forest: Forest, weights: Weights | None = None, *, scores: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Per node the log of the sum of exp(score) over its derivations.

    There are no roots to choose: a node's own derivations are meant.
    """
    return _engine.inside(forest, scores_of(forest, weights, scores))


def outside(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> NDArray[np.float64]:
    """Per node the log of dZ / d(exp inside), Z summed over the derivations of the roots."""
    values = scores_of(forest, weights, scores)
    return _engine.outside(forest, values, _engine.inside(forest, values), roots_of(forest, roots))


def log_partition(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> float:
    """log Z; -inf if there is no derivation."""
    values = scores_of(forest, weights, scores)
    return _engine.log_partition(forest, values, roots_of(forest, roots))


def marginals(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Marginals:
    """How often each node and each edge is used, expected; all 0 if there is no derivation."""
    values = scores_of(forest, weights, scores)
    return Marginals(*_engine.posterior(forest, values, roots_of(forest, roots))[2:])


def entropy(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> float:
    """Of the distribution over derivations, in nats; 0 if there is none or one.

    Its gradient is minus that of `expectation` with the scores as gains.
    """
    values = scores_of(forest, weights, scores)
    return _engine.posterior(forest, values, roots_of(forest, roots))[1]


def expected_features(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> SparseVector:
    """E[f(d)]: the gradient of `log_partition` for the weights."""
    uses = marginals(forest, weights, scores=scores, roots=roots).edges
    return _engine.feature_sum(forest, uses)


def expectation(
    forest: Forest,
    weights: Weights | None = None,
    *,
    gains: ArrayLike,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Expectation:
    """E[gain(d)] for a gain that is a sum over edges (one number each), and its gradient.

    The gradient is the covariance of the gain with the features, what the second-order
    expectation semiring gives (Li & Eisner 2009, section 3.2), here in one pass up and one down:
    its cost does not depend on the number of features. The covariance with any other sum over
    edges is `edges @ other`.
    """
    values = scores_of(forest, weights, scores)
    per_edge = np.ascontiguousarray(gains, np.float64)
    value, slopes = _engine.expectation(forest, values, per_edge, roots_of(forest, roots))
    return Expectation(value, _engine.feature_sum(forest, slopes), slopes)
