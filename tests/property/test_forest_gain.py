"""The linear n-gram gain of a forest's edges sums up to that of its strings."""

from __future__ import annotations

import numpy as np
import pytest
from forest_random import Hypergraph, few, hypergraphs
from hypothesis import assume, given
from hypothesis import strategies as st

from hopefear.base.weights import Weights
from hopefear.learn.batch.forest_risk import ForestGain
from hopefear.metrics import create

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join)


@pytest.mark.engine
@few
@given(hypergraphs(), st.lists(words, min_size=1, max_size=2), st.integers(1, 4))
def test_expected_gain_equals_enumeration(
    graph: Hypergraph, references: list[str], order: int
) -> None:
    # Forbidden edges are a matter of scores; here features decide.
    assume(all(edge.score > -np.inf for edge in graph.edges))
    assume(graph.nodes > 0 and graph.paths[graph.nodes - 1])
    weights = {"f": 0.5, "g": -0.25, "h": 0.125}
    paths = graph.paths[graph.nodes - 1]
    scores = np.array(
        [
            sum(weights[n] * v for e in path.edges for n, v in graph.features(e).items())
            for path in paths
        ]
    )
    p = np.exp(scores - scores.max())
    p /= p.sum()
    metric = create("linear-ngram", {"order": order, "clip": False})
    prepared = metric.prepare([references])
    rows = prepared.statistics([list(path.words) for path in paths], [0] * len(paths))
    wanted = float(p @ metric.sentence_scores(rows))
    length = np.mean([len(text.split()) for text in references])

    expected = ForestGain.of([graph.forest], [references], Weights(weights), order=order, beam=0)
    found = expected(expected.vector(Weights(weights)), 1.0)
    assert found.gain * length == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert found.entropy == pytest.approx(float(-p @ np.log(p)), abs=1e-6)
