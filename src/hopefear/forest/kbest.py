"""Single derivations: the best, the k best, random samples, and the most probable string.
[huang2005]

A `Derivation` has `edges` (pre-order), `words`, `text`, `tokens`, `features`, `score`, `root`.
Ties are broken by edge number, then by the ranks of the subderivations; between roots by node.
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
    """A string, its probability (summed over derivations), and its best derivation."""

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
    """Return the derivation with the largest score, or None if there is no derivation."""
    if weights is not None and scores is None:  # a single engine call, without numpy arrays
        return _engine.viterbi_weights(forest, weights.table, roots_of(forest, roots))
    return _engine.viterbi(forest, scores_of(forest, weights, scores), roots_of(forest, roots))


def viterbi_each(
    forest: Forest,
    weights: Weights | None = None,
    *,
    nodes: Roots,
    scores: ArrayLike | None = None,
) -> list[Derivation | None]:
    """Take nodes (such as a bin) and return the best derivation of each, in one pass."""
    return _engine.viterbi_each(forest, scores_of(forest, weights, scores), roots_of(forest, nodes))


def best_scores(
    forest: Forest, weights: Weights | None = None, *, scores: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return, per node, the score of its best derivation; -inf for a node without derivations."""
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
    """Return the `k` best derivations; with `distinct`, the best one of each of `k` best strings.

    Equal strings are merged at every node, not only at the roots. At most `limit` derivations are
    examined over all nodes; if the limit is reached, the list is correct but shorter than `k`.
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
    """Return `n` independent samples with probability proportional to exp(score).

    The list is empty if there is no derivation. The i-th sample depends only on the seed and i.
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
    """Return the string with the largest probability, summed over its derivations.

    None if there is no derivation. The probability is estimated from samples. `exact` enumerates
    all derivations instead and is for small forests: more than `limit` derivations raise a
    `ValueError`. Ties are broken by the score of the best derivation.
    """
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    if not exact:
        strings = _engine.sample_strings(forest, values, nodes, samples, seed % 2**64)
        if not strings:
            return None
        derivation, frequency = strings[0]
        return Translation(derivation.text, frequency / samples, derivation)
    drawn = _engine.kbest(forest, values, nodes, limit + 1, False, 2**63)[0]
    if len(drawn) > limit:
        raise ValueError(f"more than {limit} derivations; set exact=False or raise limit")
    if not drawn:
        return None
    best: dict[bytes, Derivation] = {}
    terms: dict[bytes, list[float]] = {}
    highest = max(derivation.score for derivation in drawn)
    for derivation in drawn:
        key = derivation.tokens.tobytes()
        terms.setdefault(key, []).append(math.exp(derivation.score - highest))
        if key not in best or derivation.score > best[key].score:
            best[key] = derivation
    mass = {key: math.fsum(parts) for key, parts in terms.items()}
    key = max(best, key=lambda key: (mass[key], best[key].score))
    total = math.fsum(mass.values())
    return Translation(best[key].text, mass[key] / total, best[key])
