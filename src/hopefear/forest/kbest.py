"""Single derivations: the best, the k best, random ones, and the best string.
[huang2005]

A `Derivation` has `edges` (pre-order), `words`, `text`, `tokens`, `features`, `score`, `root`.
Equal scores are ordered by edge number, then by the ranks of the parts; between roots by node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.weights import Weights
from hopefear.forest.score import Roots, roots_of, scores_of


class Translation(NamedTuple):
    """A string, its probability summed over its derivations, and the best one of those seen."""

    text: str
    probability: float
    derivation: Derivation


def viterbi(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Derivation | None:
    """The derivation with the largest score, None if there is none."""
    if weights is not None and scores is None:  # one call: nothing goes through numpy
        return _engine.viterbi_weights(forest, weights.table, roots_of(forest, roots))
    return _engine.viterbi(forest, scores_of(forest, weights, scores), roots_of(forest, roots))


def viterbi_each(
    forest: Forest,
    weights: Weights | None = None,
    *,
    nodes: Roots,
    scores: ArrayLike | None = None,
) -> list[Derivation | None]:
    """The best derivation of each node by itself, in one pass: a bin's partial derivations."""
    return _engine.viterbi_each(forest, scores_of(forest, weights, scores), roots_of(forest, nodes))


def best_scores(
    forest: Forest, weights: Weights | None = None, *, scores: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Per node the score of its best derivation, -inf if it has none."""
    return _engine.best_scores(forest, scores_of(forest, weights, scores))


def kbest(
    forest: Forest,
    weights: Weights | None = None,
    k: int = 100,
    *,
    distinct: bool = False,
    limit: int = 10_000_000,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> list[Derivation]:
    """The `k` best derivations, or of the `k` best strings the best derivations (`distinct`).

    Strings are merged at every node, not only at the roots. No more than `limit` derivations are
    looked at, over all nodes; if that ends the search, the list is right but shorter than `k`.
    """
    if k < 0 or limit < 0:
        raise ValueError(f"k={k}, limit={limit}: expected numbers from 0")
    values = scores_of(forest, weights, scores)
    return _engine.kbest(forest, values, roots_of(forest, roots), k, distinct, limit)[0]


def sample(
    forest: Forest,
    weights: Weights | None = None,
    n: int = 1,
    *,
    seed: int,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> list[Derivation]:
    """`n` independent derivations with p proportional to exp(score); none if there are none.

    The i-th depends on the seed and i only.
    """
    values = scores_of(forest, weights, scores)
    return _engine.sample(forest, values, roots_of(forest, roots), n, seed % 2**64)


def max_translation(
    forest: Forest,
    weights: Weights | None = None,
    *,
    samples: int = 1000,
    seed: int = 0,
    exact: bool = False,
    limit: int = 1_000_000,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Translation | None:
    """The string with the largest probability, summed over its derivations; None if there is none.

    Estimated from samples. `exact` enumerates all derivations instead, and is for small forests:
    more than `limit` derivations are a `ValueError`. Of equally good strings the one with the
    better derivation wins.
    """
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    if exact:
        drawn = _engine.kbest(forest, values, nodes, limit + 1, False, 2**63)[0]
        if len(drawn) > limit:
            raise ValueError(f"more than {limit} derivations; sample, or raise limit")
    else:
        drawn = _engine.sample(forest, values, nodes, samples, seed % 2**64)
    if not drawn:
        return None
    best: dict[bytes, Derivation] = {}
    terms: dict[bytes, list[float]] = {}
    highest = max(derivation.score for derivation in drawn)
    for derivation in drawn:
        key = derivation.tokens.tobytes()
        terms.setdefault(key, []).append(math.exp(derivation.score - highest) if exact else 1.0)
        if key not in best or derivation.score > best[key].score:
            best[key] = derivation
    mass = {key: math.fsum(parts) for key, parts in terms.items()}
    key = max(best, key=lambda key: (mass[key], best[key].score))
    total = math.fsum(mass.values())
    return Translation(best[key].text, mass[key] / total, best[key])
