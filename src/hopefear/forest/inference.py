"""Sums over all derivations: inside and outside scores, marginals, entropy, expected gains.
[li2009]

The distribution over the derivations of the roots is p(d) = exp(score(d)) / Z. Where a node can
occur twice in a derivation (repeated tails), the expected number of uses is not a probability and
can exceed 1.
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
    """Expected numbers of uses of each node and each edge in a derivation."""

    nodes: NDArray[np.float64]
    edges: NDArray[np.float64]


class Expectation(NamedTuple):
    """An expected gain and its gradients."""

    value: float
    gradient: SparseVector  #: with respect to the weights
    edges: NDArray[np.float64]  #: with respect to the edge scores


def inside(
    forest: Forest, weights: Weights | None = None, *, scores: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return, per node, the log of the sum of exp(score) over the node's derivations."""
    return _engine.inside(forest, scores_of(forest, weights, scores))


def outside(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> NDArray[np.float64]:
    """Return, per node, the log of dZ / d(exp inside), with Z over the roots' derivations."""
    values = scores_of(forest, weights, scores)
    return _engine.outside(forest, values, _engine.inside(forest, values), roots_of(forest, roots))


def log_partition(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> float:
    """Return log Z, or -inf if there is no derivation."""
    values = scores_of(forest, weights, scores)
    return _engine.log_partition(forest, values, roots_of(forest, roots))


def marginals(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Marginals:
    """Return the expected uses of each node and each edge; all 0 if there is no derivation."""
    values = scores_of(forest, weights, scores)
    return Marginals(*_engine.posterior(forest, values, roots_of(forest, roots))[2:])


def entropy(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> float:
    """Return the entropy of the distribution over derivations, in nats; 0 for fewer than two.

    Its gradient is the negative of that of `expectation` with the scores as gains.
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
    """Return E[f(d)], the gradient of `log_partition` with respect to the weights."""
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
    """Take one gain per edge; return E[gain(d)] and its gradient, gain(d) the sum over edges.

    The gradient is the covariance of the gain with the features, as with the second-order
    expectation semiring (Li & Eisner 2009, section 3.2). It takes one inside and one outside pass,
    at a cost independent of the number of features. The covariance with another quantity that is
    a sum over edges is `edges @ values`.
    """
    values = scores_of(forest, weights, scores)
    per_edge = np.ascontiguousarray(gains, np.float64)
    value, slopes = _engine.expectation(forest, values, per_edge, roots_of(forest, roots))
    return Expectation(value, _engine.feature_sum(forest, slopes), slopes)
