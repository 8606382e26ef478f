"""Minimum Bayes risk: the translation with the largest expected gain.
[kumar2004, kumar2009, tromble2008]

`mbr` works on a list (k-best or samples) with any metric: every translation is scored against every
other as the reference, weighted with its probability. `consensus` works on the whole forest with a
gain that is a sum over n-grams and approximates corpus BLEU: theta_0 for each word, theta_n for
each n-gram of length n that the other translation also contains. Its expectation needs only the
posteriors of the n-grams.

Differs: the posterior of an n-gram is its expected number in a derivation, at most 1. It is exact
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
    """Prepared references: what `TextMetric.prepare` returns."""

    def statistics(
        self, hypotheses: Sequence[Any], sentences: ArrayLike | None = None, threads: int = 1
    ) -> NDArray[np.int32]:
        """Return a row of statistics for each text."""


class TextMetric(Protocol):
    """The methods of a metric that MBR uses."""

    def prepare(self, references: Sequence[Sequence[Any]]) -> PreparedTexts:
        """Take the references of each sentence and return them prepared for counting."""

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Take a row of statistics per text and return the score of each."""


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
    """Return each text's expected gain, with the evidence (default: the texts) as references.

    `probabilities` belong to the evidence; they need not sum to 1.
    """
    references = texts if evidence is None else evidence
    masses = np.asarray(probabilities, np.float64)
    if len(masses) != len(references):
        raise ValueError(f"{len(masses)} probabilities for {len(references)} texts")
    prepared = metric.prepare([[text] for text in references])
    gains = np.empty(len(texts), np.float64)
    for i, text in enumerate(texts):
        rows = prepared.statistics([text] * len(references), np.arange(len(references)), threads)
        gains[i] = metric.sentence_scores(rows) @ masses
    expected: FloatArray = gains / masses.sum()
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
    """Return the string with the largest expected gain among the `k` best ones, or `samples` ones.

    Probabilities are proportional to exp(scale * score). A string has the mass of its derivations
    in the list. Ties go to the string with the better derivation. None if there is no derivation.
    """
    values = scores_of(forest, weights, scores)
    derivations: list[Derivation]
    if samples is None:
        derivations = kbest(forest, k=k, distinct=True, scores=values, roots=roots)
        logs = scale * np.array([derivation.score for derivation in derivations])
        masses = np.exp(logs - logs.max()) if len(derivations) else logs
    else:
        derivations = sample(
            forest, n=samples, seed=seed, scores=scaled(values, scale), roots=roots
        )
        counts: dict[bytes, int] = {}
        best: dict[bytes, Derivation] = {}
        for derivation in derivations:
            key = derivation.tokens.tobytes()
            counts[key] = counts.get(key, 0) + 1
            if key not in best or derivation.score > best[key].score:
                best[key] = derivation
        order = sorted(best, key=lambda key: -best[key].score)
        derivations = [derivation_of(forest, best[key].edges, values) for key in order]
        masses = np.array([counts[key] for key in order], np.float64)
    if not derivations:
        return None
    gains = expected_gains([d.words for d in derivations], metric, masses, threads=threads)
    index = int(np.argmax(gains))
    return Consensus(derivations[index], float(gains[index]))


def scaled(scores: FloatArray, scale: float) -> FloatArray:
    """Return scale * scores, with forbidden edges (-inf) unchanged."""
    return np.where(np.isneginf(scores), -np.inf, scale * np.where(np.isneginf(scores), 0, scores))


def thetas(order: int = 4, *, precision: float = 0.85, ratio: float = 0.72) -> list[float]:
    """Return theta_0, theta_1, … for a corpus with these n-gram precisions.

    Tromble et al. 2008, eq. 10, times the corpus length: `precision` is the unigram precision;
    the precision of each further order is `ratio` times that of the order before.
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
    """Return the derivation with the largest expected linear gain under exp(scale * score).

    The forest is split by the first and last words of its strings, with cube pruning (`beam`, 0:
    exact); n-gram posteriors are computed on the pruned forest. None if there is no derivation.
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
