"""Minimum Bayes risk: the translation with the largest expected gain.
[kumar2004, kumar2009, tromble2008]

`mbr` takes a list (k-best or samples) and any metric: every translation is held against every
other, weighted with its probability. `consensus` takes the whole forest and a gain that is a sum
over n-grams, which approximates BLEU of a corpus: theta_0 for each word, theta_n for each n-gram of
n words that the other translation has, too; its expectation needs only the n-grams' posteriors.

Differs: the posterior of an n-gram is its expected number in a derivation, 1 at most. It is exact
where no derivation has the n-gram twice; Kumar et al. take the edge with the best score instead.
Errata chapter 2, eq. 2.7: the expectation is over the other translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.weights import Weights
from hopefear.forest.intersect import derivation_of
from hopefear.forest.kbest import kbest, sample
from hopefear.forest.score import Roots, roots_of, scores_of, useful_scores

FloatArray = NDArray[np.float64]


class PreparedTexts(Protocol):
    """What a metric prepares."""

    def statistics(
        self, hypotheses: Sequence[Any], sentences: ArrayLike | None = None, threads: int = 1
    ) -> NDArray[np.int32]: ...


class TextMetric(Protocol):
    """Any metric, as far as it is needed here."""

    def prepare(self, references: Sequence[Sequence[Any]]) -> PreparedTexts: ...
    def sentence_scores(self, statistics: ArrayLike) -> FloatArray: ...


class Consensus(NamedTuple):
    """A translation and its expected gain."""

    derivation: Derivation
    gain: float


def expected_gains(
    texts: Sequence[Any],
    metric: TextMetric,
    probabilities: ArrayLike,
    evidence: Sequence[Any] | None = None,
    *,
    threads: int = 1,
) -> FloatArray:
    """Of each text the expected gain against the evidence (by default the texts themselves).

    `probabilities` are those of the evidence; they need not sum to 1.
    """
    others = texts if evidence is None else evidence
    chances = np.asarray(probabilities, np.float64)
    if len(chances) != len(others):
        raise ValueError(f"{len(chances)} probabilities for {len(others)} texts")
    prepared = metric.prepare([[text] for text in others])
    gains = np.empty(len(texts), np.float64)
    for i, text in enumerate(texts):
        rows = prepared.statistics([text] * len(others), np.arange(len(others)), threads)
        gains[i] = metric.sentence_scores(rows) @ chances
    expected: FloatArray = gains / chances.sum()
    return expected


def mbr(
    forest: Forest,
    weights: Weights | None,
    metric: TextMetric,
    *,
    k: int = 100,
    samples: int | None = None,
    scale: float = 1.0,
    seed: int = 0,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
    threads: int = 1,
) -> Consensus | None:
    """Of the `k` best strings (or of that many random `samples`) the one with the best gain.

    Probabilities are those of scale * score; a string has that of the derivations seen. Of equal
    ones the first, which has the better derivation. None if there is no derivation.
    """
    values = scores_of(forest, weights, scores)
    drawn: list[Derivation]
    if samples is None:
        drawn = kbest(forest, k=k, distinct=True, scores=values, roots=roots)
        logs = scale * np.array([derivation.score for derivation in drawn])
        chances = np.exp(logs - logs.max()) if len(drawn) else logs
    else:
        drawn = sample(forest, n=samples, seed=seed, scores=scaled(values, scale), roots=roots)
        counts: dict[bytes, int] = {}
        best: dict[bytes, Derivation] = {}
        for derivation in drawn:
            key = derivation.tokens.tobytes()
            counts[key] = counts.get(key, 0) + 1
            if key not in best or derivation.score > best[key].score:
                best[key] = derivation
        order = sorted(best, key=lambda key: -best[key].score)
        drawn = [derivation_of(forest, best[key].edges, values) for key in order]
        chances = np.array([counts[key] for key in order], np.float64)
    if not drawn:
        return None
    gains = expected_gains([d.words for d in drawn], metric, chances, threads=threads)
    at = int(np.argmax(gains))
    return Consensus(drawn[at], float(gains[at]))


def scaled(scores: FloatArray, scale: float) -> FloatArray:
    """scale * score; what is forbidden stays so."""
    return np.where(np.isneginf(scores), -np.inf, scale * np.where(np.isneginf(scores), 0, scores))


def thetas(order: int = 4, *, precision: float = 0.85, ratio: float = 0.72) -> list[float]:
    """theta_0, theta_1 … for a corpus whose BLEU has these n-gram precisions.

    Tromble et al. 2008, eq. 10, times the corpus's length: `precision` is that of unigrams, each
    longer n-gram's is `ratio` of the one before.
    """
    return [-1.0, *(1 / (order * precision * ratio**n) for n in range(order))]


def consensus(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scale: float = 1.0,
    theta: Sequence[float] | None = None,
    beam: int = 200,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Consensus | None:
    """The derivation with the largest expected linear gain under exp(scale * score).

    The forest is split by the first and last words of its strings, with cube pruning (`beam` 0:
    exactly); posteriors are those of what is left. None if there is no derivation.
    """
    if not scale > 0:
        raise ValueError(f"scale {scale}: expected a number above 0")
    values = scores_of(forest, weights, scores)
    nodes = roots_of(forest, roots)
    useful = useful_scores(forest, values, nodes)
    edges, gain = _engine.consensus(forest, useful, nodes, scale, list(theta or thetas()), beam)
    if len(edges) == 0:
        return None
    return Consensus(derivation_of(forest, edges, values), gain)
