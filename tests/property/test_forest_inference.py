"""Inference equals enumeration of every derivation, on random hypergraphs."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from forest_random import FEATURES, Hypergraph, few, hypergraphs
from hypothesis import given
from hypothesis import strategies as st

from hopefear import forest as hf
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest.semiring import LOG, TROPICAL, strings

pytestmark = pytest.mark.engine
NEVER = -math.inf


def log_sum(values: list[float]) -> float:
    return float(np.logaddexp.reduce(values)) if values else NEVER


def named(graph: Hypergraph, vector: SparseVector) -> dict[str, float]:
    names = graph.forest.names
    assert names is not None
    found = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    return dict.fromkeys(FEATURES, 0.0) | {str(names.name(id)): value for id, value in found}


def probabilities(graph: Hypergraph) -> np.ndarray:
    scores = np.array([d.score for d in graph.derivations])
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def uses(graph: Hypergraph) -> np.ndarray:
    """Derivations x edges: how often."""
    table = np.zeros((len(graph.derivations), len(graph.edges)))
    for i, derivation in enumerate(graph.derivations):
        np.add.at(table[i], list(derivation.edges), 1)
    return table


@few
@given(hypergraphs())
def test_viterbi(graph: Hypergraph) -> None:
    best = hf.viterbi(graph.forest, scores=graph.scores, roots=graph.roots)
    if not graph.derivations:
        assert best is None
        return
    assert best is not None
    found = {d.edges: d for d in graph.derivations}[tuple(best.edges.tolist())]
    assert best.score == pytest.approx(max(d.score for d in graph.derivations))
    assert best.score == pytest.approx(found.score)
    assert tuple(best.words) == found.words
    assert best.text == " ".join(found.words)
    assert best.root in graph.roots
    per_node = [max([p.score for p in paths], default=NEVER) for paths in graph.paths]
    assert hf.best_scores(graph.forest, scores=graph.scores) == pytest.approx(per_node)
    nodes = [*reversed(range(graph.nodes)), 0]
    each = hf.viterbi_each(graph.forest, scores=graph.scores, nodes=nodes)
    for node, derivation in zip(nodes, each, strict=True):
        alone = hf.viterbi(graph.forest, scores=graph.scores, roots=[node])
        assert (derivation is None) == (alone is None)
        if derivation is not None and alone is not None:
            assert derivation.edges.tolist() == alone.edges.tolist()
            assert derivation.score == pytest.approx(per_node[node])


@few
@given(hypergraphs(), st.integers(0, 30))
def test_kbest(graph: Hypergraph, k: int) -> None:
    found = hf.kbest(graph.forest, k=k, scores=graph.scores, roots=graph.roots)
    known = {d.edges: d for d in graph.derivations}
    wanted = sorted((d.score for d in known.values()), reverse=True)[:k]
    assert [d.score for d in found] == pytest.approx(wanted)
    edges = [tuple(d.edges.tolist()) for d in found]
    assert len(set(edges)) == len(edges)
    for derivation, sequence in zip(found, edges, strict=True):
        assert derivation.score == pytest.approx(known[sequence].score)
        assert tuple(derivation.words) == known[sequence].words
    if found:
        best = hf.viterbi(graph.forest, scores=graph.scores, roots=graph.roots)
        assert best is not None
        assert found[0].edges.tolist() == best.edges.tolist()
    more = hf.kbest(graph.forest, k=k + 3, scores=graph.scores, roots=graph.roots)
    assert [tuple(d.edges.tolist()) for d in more][:k] == edges


@few
@given(hypergraphs(), st.integers(0, 20), st.integers(0, 60))
def test_distinct_kbest(graph: Hypergraph, k: int, limit: int) -> None:
    best: dict[tuple[str, ...], float] = {}
    for d in graph.derivations:
        best[d.words] = max(d.score, best.get(d.words, NEVER))
    ask = {"distinct": True, "scores": graph.scores, "roots": graph.roots}
    found = hf.kbest(graph.forest, k=k, **ask)
    assert [d.score for d in found] == pytest.approx(sorted(best.values(), reverse=True)[:k])
    texts = [tuple(d.words) for d in found]
    assert len(set(texts)) == len(texts)
    known = {d.edges: d for d in graph.derivations}
    for derivation, text in zip(found, texts, strict=True):
        assert derivation.score == pytest.approx(best[text])
        assert known[tuple(derivation.edges.tolist())].words == text
    limited = hf.kbest(graph.forest, k=k, limit=limit, **ask)
    assert [d.text for d in limited] == [d.text for d in found][: len(limited)]
    assert len(limited) == len(found) or limit < 10_000


@few
@given(hypergraphs())
def test_inside_outside(graph: Hypergraph) -> None:
    scores, roots = graph.scores, graph.roots
    per_node = [log_sum([p.score for p in paths]) for paths in graph.paths]
    assert hf.inside(graph.forest, scores=scores) == pytest.approx(per_node)
    log_z = hf.log_partition(graph.forest, scores=scores, roots=roots)
    assert log_z == pytest.approx(log_sum([d.score for d in graph.derivations]))
    if not graph.derivations:
        return
    table = uses(graph)
    expected = probabilities(graph) @ table
    nodes = np.zeros(graph.nodes)
    np.add.at(nodes, graph.forest.heads, expected)
    marginals = hf.marginals(graph.forest, scores=scores, roots=roots)
    assert marginals.edges == pytest.approx(expected)
    assert marginals.nodes == pytest.approx(nodes)
    # expected uses of a node = inside * outside / Z
    outside = hf.outside(graph.forest, scores=scores, roots=roots)
    for node in range(graph.nodes):
        if graph.paths[node]:
            assert math.exp(per_node[node] + outside[node] - log_z) == pytest.approx(nodes[node])


@few
@given(hypergraphs())
def test_outside_is_a_derivative(graph: Hypergraph) -> None:
    """One more derivation of a node, with score 0, adds about exp(outside) * epsilon to Z."""
    outside = hf.outside(graph.forest, scores=graph.scores, roots=graph.roots)
    epsilon = 1e-6
    before = sum(math.exp(d.score) for d in graph.derivations)
    for node in range(graph.nodes):
        values = [sum(math.exp(p.score) for p in paths) for paths in graph.paths]
        values[node] += epsilon
        for n in range(node + 1, graph.nodes):
            values[n] = sum(
                math.exp(e.score) * math.prod(values[t] for t in e.tails)
                for e in graph.edges
                if e.head == n
            )
        slope = (sum(values[r] for r in set(graph.roots)) - before) / epsilon
        assert math.exp(outside[node]) == pytest.approx(slope, rel=1e-3, abs=1e-3)


@few
@given(hypergraphs())
def test_entropy(graph: Hypergraph) -> None:
    entropy = hf.entropy(graph.forest, scores=graph.scores, roots=graph.roots)
    p = probabilities(graph) if graph.derivations else np.ones(1)
    assert entropy == pytest.approx(float(-(p * np.log(p)).sum()), abs=1e-12)


weight_values = st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=3, max_size=3)


@few
@given(hypergraphs(), weight_values)
def test_features(graph: Hypergraph, values: list[float]) -> None:
    """Scores are w.f, derivations have the sum of their edges' features, E[f] is the mean."""
    weights = Weights(dict(zip(FEATURES, values, strict=True)))
    per_edge = [graph.features(e) for e in range(len(graph.edges))]
    for edge, features in enumerate(per_edge):
        assert named(graph, graph.forest.edge_features(edge)) == features
    wanted = [sum(weights[name] * f[name] for name in FEATURES) for f in per_edge]
    assert hf.edge_scores(graph.forest, weights) == pytest.approx(wanted)
    best = hf.viterbi(graph.forest, weights, roots=graph.roots)
    if best is not None:
        total = {name: sum(per_edge[e][name] for e in best.edges) for name in FEATURES}
        assert named(graph, best.features) == pytest.approx(total)
        assert best.score == pytest.approx(weights.dot(best.features))
    if graph.derivations:
        mean = hf.expected_features(graph.forest, scores=graph.scores, roots=graph.roots)
        counts = probabilities(graph) @ uses(graph)
        wanted_mean = {
            n: sum(c * f[n] for c, f in zip(counts, per_edge, strict=True)) for n in FEATURES
        }
        assert named(graph, mean) == pytest.approx(wanted_mean, rel=1e-5, abs=1e-6)


@few
@given(hypergraphs(), st.data())
def test_expectation(graph: Hypergraph, data: st.DataObject) -> None:
    """The expected gain, and its gradient as the covariance with features and uses."""
    gain = st.integers(-3, 3).map(float)
    gains = np.array([data.draw(gain) for _ in graph.edges], np.float64)
    result = hf.expectation(graph.forest, gains=gains, scores=graph.scores, roots=graph.roots)
    if not graph.derivations:
        assert result.value == 0
        assert not result.edges.any()
        return
    p, table = probabilities(graph), uses(graph)
    gain_of = table @ gains
    assert result.value == pytest.approx(float(p @ gain_of), abs=1e-9)
    covariance = (p * gain_of) @ table - (p @ gain_of) * (p @ table)
    assert result.edges == pytest.approx(covariance, abs=1e-9)
    per_edge = [graph.features(e) for e in range(len(graph.edges))]
    wanted = {n: sum(c * f[n] for c, f in zip(covariance, per_edge, strict=True)) for n in FEATURES}
    assert named(graph, result.gradient) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@few
@given(hypergraphs(), st.integers(0, 2**64 - 1))
def test_samples_are_derivations(graph: Hypergraph, seed: int) -> None:
    found = hf.sample(graph.forest, n=8, seed=seed, scores=graph.scores, roots=graph.roots)
    known = {d.edges: d.score for d in graph.derivations}
    assert len(found) == (8 if known else 0)
    for derivation in found:
        assert derivation.score == pytest.approx(known[tuple(derivation.edges.tolist())])
    again = hf.sample(graph.forest, n=3, seed=seed, scores=graph.scores, roots=graph.roots)
    assert [d.edges.tolist() for d in again] == [d.edges.tolist() for d in found[:3]]


@few
@given(hypergraphs())
def test_max_translation(graph: Hypergraph) -> None:
    found = hf.max_translation(graph.forest, exact=True, scores=graph.scores, roots=graph.roots)
    if not graph.derivations:
        assert found is None
        return
    assert found is not None
    mass: dict[str, float] = defaultdict(float)
    for probability, d in zip(probabilities(graph), graph.derivations, strict=True):
        mass[" ".join(d.words)] += probability
    assert found.probability == pytest.approx(max(mass.values()))
    assert found.probability == pytest.approx(mass[found.text])
    assert found.derivation.text == found.text


@few
@given(hypergraphs(), st.data())
def test_envelope(graph: Hypergraph, data: st.DataObject) -> None:
    slope = st.integers(-2, 2).map(float)
    slopes = np.array([data.draw(slope) for _ in graph.edges], np.float64)
    segments = hf.envelope(graph.forest, scores=graph.scores, slopes=slopes, roots=graph.roots)
    lines = list(zip(uses(graph) @ slopes, [d.score for d in graph.derivations], strict=True))
    assert bool(segments) == bool(lines)
    if not segments:
        return

    def height(x: float) -> float:
        return max(intercept + m * x for m, intercept in lines)

    known = {d.edges for d in graph.derivations}
    starts = [s.start for s in segments]
    assert starts[0] == NEVER
    assert starts == sorted(set(starts))
    assert all(a.slope < b.slope for a, b in pairwise(segments))
    for i, segment in enumerate(segments):
        edges = tuple(segment.derivation.edges.tolist())
        assert edges in known
        assert segment.slope == pytest.approx(sum(slopes[e] for e in edges))
        assert segment.intercept == pytest.approx(sum(graph.scores[e] for e in edges))
        assert segment.derivation.score == pytest.approx(segment.intercept)
        left = segment.start if i else (starts[1] if len(starts) > 1 else 0) - 2
        right = starts[i + 1] if i + 1 < len(starts) else left + 2
        for x in (left, (left + right) / 2, right):  # both ends belong to it
            assert segment.intercept + segment.slope * x == pytest.approx(height(x), abs=1e-9)


@few
@given(hypergraphs(), weight_values, weight_values, st.sampled_from((0.1, 1.0, 30.0)))
def test_best_on_lines(
    graph: Hypergraph, one: list[float], other: list[float], reach: float
) -> None:
    """Anywhere on the lines, one of those found is the best; and each of them is, somewhere."""
    directions = [Weights(dict(zip(FEATURES, values, strict=True))) for values in (one, other)]
    found = hf.best_on_lines(
        graph.forest, directions=directions, reach=reach, scores=graph.scores, roots=graph.roots
    )
    assert bool(found) == bool(graph.derivations)
    if not found:
        return
    known = {d.edges: number for number, d in enumerate(graph.derivations)}
    numbers = [known[tuple(d.edges.tolist())] for d in found]
    assert len(set(numbers)) == len(numbers)
    assert found[0].score == pytest.approx(max(d.score for d in graph.derivations))
    intercepts = np.array([d.score for d in graph.derivations])
    assert [d.score for d in found] == pytest.approx(intercepts[numbers])
    somewhere = np.zeros(len(numbers), bool)
    for direction in directions:
        slopes = uses(graph) @ hf.edge_scores(graph.forest, direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = np.subtract.outer(intercepts, intercepts) / -np.subtract.outer(slopes, slopes)
        corners = np.sort(cross[np.isfinite(cross) & (np.abs(cross) < reach)])
        at = np.unique(
            np.concatenate([[-reach, 0, reach], corners, (corners[1:] + corners[:-1]) / 2])
        )
        heights = intercepts[:, None] + slopes[:, None] * at
        assert heights[numbers].max(axis=0) == pytest.approx(heights.max(axis=0), abs=1e-8)
        somewhere |= (heights[numbers] >= heights.max(axis=0) - 1e-8).any(axis=1)
    assert somewhere.all()


@few
@given(hypergraphs(), st.integers(0, 6).map(lambda n: n / 2))
def test_prune_by_margin(graph: Hypergraph, margin: float) -> None:
    pruned = hf.prune(graph.forest, margin=margin, scores=graph.scores, roots=graph.roots)
    best = max([d.score for d in graph.derivations], default=NEVER)
    kept = {e for d in graph.derivations if d.score >= best - margin - 1e-9 for e in d.edges}
    assert pruned.edges == len(kept)
    through = hf.max_marginals(graph.forest, scores=graph.scores, roots=graph.roots)
    for edge in range(len(graph.edges)):
        wanted = max([d.score for d in graph.derivations if edge in d.edges], default=NEVER)
        assert through[edge] == pytest.approx(wanted)


@few
@given(hypergraphs(), st.integers(0, 6))
def test_prune_by_density(graph: Hypergraph, density: int) -> None:
    """As many edges as asked for, unless more are equally good; never without the best."""
    ask = {"scores": graph.scores, "roots": graph.roots}
    pruned = hf.prune(graph.forest, density=density, **ask)
    best = hf.viterbi(graph.forest, **ask)
    if best is None:
        return
    wanted = density * max(1, len(best.words))
    through = np.sort(hf.max_marginals(graph.forest, **ask))[::-1]
    through = through[through > NEVER]
    last = min(best.score, through[min(wanted, len(through) - 1)])
    assert pruned.edges == int((through >= last - 1e-9).sum())
    assert pruned.edges >= len(set(best.edges.tolist()))


@few
@given(hypergraphs(), st.floats(0, 1.5))
def test_prune_by_posterior(graph: Hypergraph, threshold: float) -> None:
    """What is left are derivations of edges that are good enough, and the best derivation."""
    ask = {"scores": graph.scores, "roots": graph.roots}
    expected = hf.marginals(graph.forest, **ask).edges
    best = hf.viterbi(graph.forest, **ask)
    good = set(np.flatnonzero((expected >= threshold - 1e-9) & (expected > 0)).tolist())
    if best is not None:
        good |= set(best.edges.tolist())
    left = {e for d in graph.derivations if set(d.edges) <= good for e in d.edges}
    near = {e for e in good if abs(expected[e] - threshold) < 1e-9}
    pruned = hf.prune(graph.forest, posterior=threshold, **ask)
    if not near:
        assert pruned.edges == len(left)


@few
@given(hypergraphs())
def test_trim(graph: Hypergraph) -> None:
    """Keeps what some derivation of the roots uses; forbidden edges are edges all the same."""
    allowed = Hypergraph(
        graph.nodes,
        [type(e)(e.head, e.tails, e.target, 0.0, e.row, e.own) for e in graph.edges],
        graph.rows,
        graph.roots,
    )
    used = sorted({e for d in allowed.derivations for e in d.edges})
    trimmed = hf.trim(graph.forest, roots=graph.roots)
    assert trimmed.edges == len(used)
    assert hf.edge_scores(trimmed, Weights({"f": 1.0})) == pytest.approx(
        hf.edge_scores(graph.forest, Weights({"f": 1.0}))[used]
    )
    everything = hf.select(graph.forest, np.ones(graph.forest.edges, bool), keep_nodes=True)
    assert everything.nodes == graph.nodes
    again = hf.kbest(everything, k=50, scores=graph.scores, roots=graph.roots)
    first = hf.kbest(graph.forest, k=50, scores=graph.scores, roots=graph.roots)
    assert [d.edges.tolist() for d in again] == [d.edges.tolist() for d in first]


@few
@given(hypergraphs())
def test_semirings_in_python(graph: Hypergraph) -> None:
    forest, roots = graph.forest, graph.roots
    if NEVER not in graph.scores:
        assert hf.count(forest, roots=roots) == len(graph.derivations)
        assert strings(forest, roots=roots) == {d.words for d in graph.derivations}
    values = graph.scores.tolist()
    best = max([d.score for d in graph.derivations], default=NEVER)
    assert hf.fold(forest, TROPICAL, values, roots=roots) == pytest.approx(best)
    log_z = log_sum([d.score for d in graph.derivations])
    assert hf.fold(forest, LOG, lambda e: values[e], roots=roots) == pytest.approx(log_z)
