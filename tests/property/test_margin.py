"""Oracle, violator, hinge and subgradient of random forests equal enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from forest_random import FEATURES, Edge, Hypergraph, few, hypergraphs
from hypothesis import assume, given
from hypothesis import strategies as st

from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.learn.online.margin import GAIN, LinearLoss
from hopefear.metrics import create

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join)
numbers = st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=3, max_size=3)
IDS = [FeatureNames().intern(name) for name in FEATURES]


@st.composite
def lattices(draw: st.DrawFn) -> Hypergraph:
    """Strings grow to the right only."""
    value = st.integers(-3, 3).map(float)
    nodes = draw(st.integers(2, 5))
    edges = [Edge(0, (), ("a",), 0.0, None, ()), Edge(0, (), (), 0.0, None, ())]
    for head in range(1, nodes):
        for _ in range(draw(st.integers(1, 4))):
            tail = draw(st.integers(0, head - 1))
            target = draw(st.lists(st.sampled_from("abc"), max_size=2))
            own = draw(st.dictionaries(st.sampled_from(FEATURES), value, max_size=2))
            edges.append(Edge(head, (tail,), (0, *target), 0.0, None, tuple(own.items())))
    return Hypergraph(nodes, edges, [], [nodes - 1])


@pytest.mark.engine
@few
@given(
    hypergraphs() | lattices(), st.lists(words, min_size=1, max_size=2), st.integers(1, 4), numbers
)
def test_everything_equals_enumeration(
    graph: Hypergraph, references: list[str], order: int, values: list[float]
) -> None:
    assume(all(edge.score > -np.inf for edge in graph.edges))
    assume(graph.nodes > 0 and graph.paths[graph.nodes - 1])
    paths = graph.paths[graph.nodes - 1]
    features = np.array(
        [[sum(graph.features(e)[name] for e in p.edges) for name in FEATURES] for p in paths]
    )
    metric = create("linear-ngram", {"order": order, "clip": False})
    rows = metric.prepare([references]).statistics([list(p.words) for p in paths], [0] * len(paths))
    gains = metric.sentence_scores(rows)
    scores = features @ np.array(values)
    weights = Weights(dict(zip(FEATURES, values, strict=True)))
    lattice = LinearLoss([references], order).lattice(graph.forest, 0, weights)
    assert lattice is not None

    gain = lattice.oracle.features.get(GAIN)
    assert gain == pytest.approx(gains.max(), abs=1e-4)
    # Of several oracles the model's best.
    best = np.flatnonzero(gains > gains.max() - 1e-5)
    oracle = scores[best].max()
    assert weights.dot(lattice.oracle.features) == pytest.approx(oracle, abs=1e-4)

    found = lattice.violation(weights)
    hinges = gains.max() - gains - (oracle - scores)
    assert found.hinge >= 0
    assert found.hinge == pytest.approx(hinges.max(), abs=1e-3)
    # The violator is one of the derivations with that hinge: its loss and its features.
    difference = np.array([found.difference.get(id) for id in IDS])
    margin = float(difference @ values)
    assert found.loss + margin == pytest.approx(found.hinge, abs=1e-3)
    assert found.loss >= -1e-4


@pytest.mark.engine
@few
@given(hypergraphs(), words, numbers, st.integers(0, 2))
def test_the_step_is_the_subgradient(
    graph: Hypergraph, reference: str, values: list[float], axis: int
) -> None:
    """The hinge is convex: it lies above every one of its subgradients."""
    assume(graph.nodes > 0 and graph.paths[graph.nodes - 1])
    lattice = LinearLoss([[reference]], 2).lattice(graph.forest, 0, Weights())
    assert lattice is not None

    def at(vector: np.ndarray) -> Weights:
        return Weights(SparseVector(np.array(IDS, np.uint64), vector.astype(np.float32)))

    here = lattice.violation(at(np.array(values)))
    slope = here.difference.get(IDS[axis])
    slopes = []
    for step in (-0.5, -1 / 64, 1 / 64, 0.5):
        there = lattice.violation(at(np.array(values) + step * np.eye(3)[axis]))
        assert there.hinge >= here.hinge + step * slope - 1e-3
        slopes.append((there.hinge - here.hinge) / step)
    if slopes[1] == pytest.approx(slopes[2], abs=1e-2):  # smooth here
        assert slope == pytest.approx(slopes[1], abs=0.1)
