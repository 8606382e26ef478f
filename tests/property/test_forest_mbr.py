"""Consensus decoding equals enumeration of every derivation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from forest_random import Hypergraph, few, hypergraphs
from hypothesis import given
from hypothesis import strategies as st

from hopefear import forest as hf
from hopefear.forest.mbr import thetas
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.ter import Ter

pytestmark = pytest.mark.engine


def ngrams(words: tuple[str, ...], order: int) -> Counter[tuple[str, ...]]:
    return Counter(words[i : i + n] for n in range(1, order + 1) for i in range(len(words) - n + 1))


def posterior(graph: Hypergraph, scale: float) -> np.ndarray:
    logs = scale * np.array([d.score for d in graph.derivations])
    return np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()


@few
@given(hypergraphs(), st.sampled_from((0.3, 1.0, 2.0)), st.integers(1, 4))
def test_consensus(graph: Hypergraph, scale: float, order: int) -> None:
    theta = thetas(order)
    found = hf.consensus(
        graph.forest, scale=scale, theta=theta, beam=0, scores=graph.scores, roots=graph.roots
    )
    assert (found is None) == (not graph.derivations)
    if found is None:
        return
    expected: Counter[tuple[str, ...]] = Counter()
    for chance, d in zip(posterior(graph, scale), graph.derivations, strict=True):
        for ngram, count in ngrams(d.words, order).items():
            expected[ngram] += chance * count  # type: ignore[assignment]

    def gain(words: tuple[str, ...]) -> float:
        parts = ngrams(words, order).items()
        return theta[0] * len(words) + math.fsum(
            theta[len(ngram)] * count * min(1.0, expected[ngram]) for ngram, count in parts
        )

    assert found.gain == pytest.approx(max(gain(d.words) for d in graph.derivations))
    assert gain(tuple(found.derivation.words)) == pytest.approx(found.gain)
    known = {d.edges: d.score for d in graph.derivations}
    assert found.derivation.score == pytest.approx(known[tuple(found.derivation.edges.tolist())])
    pruned = hf.consensus(graph.forest, beam=2, scores=graph.scores, roots=graph.roots)
    assert pruned is not None


@few
@given(hypergraphs(), st.sampled_from((BleuPlusOne(), Ter())))
def test_mbr_of_a_list(graph: Hypergraph, metric: BleuPlusOne | Ter) -> None:
    found = hf.mbr(graph.forest, None, metric, k=1000, scores=graph.scores, roots=graph.roots)
    assert (found is None) == (not graph.derivations)
    if found is None:
        return
    best: dict[tuple[str, ...], float] = {}
    for d in graph.derivations:
        best[d.words] = max(best.get(d.words, -math.inf), d.score)
    texts = list(best)
    chances = np.exp(np.array(list(best.values())))
    chances /= chances.sum()
    table = [
        [float(metric.sentence_scores(metric.statistics([list(y)], [[list(z)]])[0])) for z in texts]
        for y in texts
    ]
    gains = np.array(table) @ chances
    assert found.gain == pytest.approx(gains.max())
    assert gains[texts.index(tuple(found.derivation.words))] == pytest.approx(found.gain)


@few
@given(hypergraphs())
def test_mbr_of_samples(graph: Hypergraph) -> None:
    metric = BleuPlusOne()
    question = {"samples": 20, "scale": 0.5, "scores": graph.scores, "roots": graph.roots}
    found = hf.mbr(graph.forest, None, metric, seed=3, **question)
    assert (found is None) == (not graph.derivations)
    if found is None:
        return
    known = {d.edges: d.score for d in graph.derivations}
    assert found.derivation.score == pytest.approx(known[tuple(found.derivation.edges.tolist())])
    again = hf.mbr(graph.forest, None, metric, seed=3, **question)
    assert again is not None
    assert again.derivation.edges.tolist() == found.derivation.edges.tolist()
