"""Sums over the derivations of strings, and sampled strings, against enumeration."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from forest_random import FEATURES, Hypergraph, Path, few, hypergraphs
from forest_small import tiny_forest, tiny_weights
from hypothesis import assume, given
from hypothesis import strategies as st

from hopefear.forest import (
    DerivationSum,
    derivation_sum,
    intersect,
    kbest,
    log_partition,
    sample_strings,
    string_sums,
)

pytestmark = pytest.mark.engine
SCALES = st.sampled_from((0.25, 1.0, 3.0, 20.0, math.inf))


def by_string(graph: Hypergraph) -> dict[tuple[str, ...], list[Path]]:
    paths = defaultdict(list)
    for path in graph.derivations:
        paths[path.words].append(path)
    return paths


def features_of(graph: Hypergraph, path: Path) -> np.ndarray:
    total = np.zeros(len(FEATURES))
    for edge in path.edges:
        total += [graph.features(edge)[name] for name in FEATURES]
    return total


def check(graph: Hypergraph, paths: list[Path], scale: float, found: DerivationSum) -> None:
    """Compare a sum with that of enumerated derivations."""
    names = graph.forest.names
    assert names is not None
    assert found.derivations == len(paths)
    scores = np.array([path.score for path in paths])
    if not paths:
        assert found.best == found.log_sum == -math.inf
        assert len(found.features) == 0
        return
    best = scores.max()
    assert found.best == pytest.approx(best)
    features = np.array([features_of(graph, path) for path in paths])
    values = np.array([found.features.get(names.intern(name)) for name in FEATURES])
    if math.isinf(scale):
        assert found.log_sum == found.best
        tied = np.isclose(scores, best)
        assert any(np.allclose(values, row) for row in features[tied])
        return
    masses = np.exp(scale * (scores - best))
    assert found.log_sum == pytest.approx(best + math.log(masses.sum()) / scale)
    np.testing.assert_allclose(values, masses @ features / masses.sum(), atol=1e-5)


@few
@given(hypergraphs(), SCALES)
def test_sums_of_every_string_equal_enumeration(graph: Hypergraph, scale: float) -> None:
    paths = by_string(graph)
    targets = [*paths, ("a", "elsewhere"), ("b",) * 9]
    sums = string_sums(graph.forest, targets, scale=scale, scores=graph.scores, roots=graph.roots)
    for target, found in zip(targets, sums, strict=True):
        check(graph, paths.get(target, []), scale, found)


@few
@given(hypergraphs(), SCALES)
def test_the_sum_of_all_derivations_equals_enumeration(graph: Hypergraph, scale: float) -> None:
    found = derivation_sum(graph.forest, scale=scale, scores=graph.scores, roots=graph.roots)
    check(graph, graph.derivations, scale, found)


@few
@given(hypergraphs())
def test_sums_equal_those_of_intersections(graph: Hypergraph) -> None:
    for target in list(by_string(graph))[:3]:
        part = intersect(graph.forest, target, scores=graph.scores, roots=graph.roots)
        scores = graph.scores[part.edges]
        (found,) = string_sums(graph.forest, [target], scores=graph.scores, roots=graph.roots)
        log_z = log_partition(part.forest, scores=scores, roots=part.roots)
        assert found.log_sum == pytest.approx(log_z)
        whole = derivation_sum(part.forest, scores=scores, roots=part.roots)
        assert whole.log_sum == pytest.approx(found.log_sum)
        assert whole.features.ids.tolist() == found.features.ids.tolist()
        np.testing.assert_allclose(whole.features.values, found.features.values, rtol=1e-5)


@few
@given(hypergraphs())
def test_a_single_derivation_is_itself(graph: Hypergraph) -> None:
    """Exactly: the score and the features of a list."""
    listed = kbest(graph.forest, k=1000, scores=graph.scores, roots=graph.roots)
    single = {d.text: d for d in listed if sum(o.text == d.text for o in listed) == 1}
    assume(single)
    sums = string_sums(
        graph.forest, list(single), scale=0.3, scores=graph.scores, roots=graph.roots
    )
    for derivation, found in zip(single.values(), sums, strict=True):
        assert found.log_sum == found.best == derivation.score
        assert found.features.ids.tolist() == derivation.features.ids.tolist()
        assert found.features.values.tolist() == derivation.features.values.tolist()


def test_a_large_scale_tends_to_the_best_derivation() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    limit, near = (
        string_sums(forest, ["cats sleep"], weights, scale=scale)[0] for scale in (math.inf, 200.0)
    )
    assert limit.derivations == near.derivations == 2
    assert near.log_sum == pytest.approx(limit.log_sum)
    np.testing.assert_allclose(near.features.values, limit.features.values, atol=1e-6)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_histograms_of_samples_fit_the_sums_of_strings(scale: float) -> None:
    """Chi-squared: with 7 degrees of freedom 24.3 is exceeded with a probability of 0.001."""
    forest, weights, n = tiny_forest(), tiny_weights(), 20_000
    drawn = sample_strings(forest, weights, n, seed=5, scale=scale)
    texts = {derivation.text for derivation in kbest(forest, weights, 100)}
    log_z = derivation_sum(forest, weights, scale=scale).log_sum
    counts = {string.derivation.text: string.frequency for string in drawn}
    assert set(counts) <= texts
    assert sum(counts.values()) == n
    assert [string.frequency for string in drawn] == sorted(counts.values(), reverse=True)
    ordered = sorted(texts)
    statistic = 0.0
    sums = string_sums(forest, ordered, weights, scale=scale)
    for text, total in zip(ordered, sums, strict=True):
        expected = n * math.exp(scale * (total.log_sum - log_z))
        statistic += (counts.get(text, 0) - expected) ** 2 / expected
    assert len(ordered) == 8
    assert statistic < 24.3


def test_samples_depend_on_the_seed_only() -> None:
    forest, weights = tiny_forest(), tiny_weights()

    def drawn(seed: int) -> list[tuple[str, int]]:
        strings = sample_strings(forest, weights, 50, seed=seed)
        return [(string.derivation.text, string.frequency) for string in strings]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_a_scale_is_positive() -> None:
    with pytest.raises(ValueError, match=r"scale 0\.0"):
        derivation_sum(tiny_forest(), tiny_weights(), scale=0.0)
