"""What is written comes back, and the order in which a forest is built does not matter."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from forest_random import Hypergraph, few, hypergraphs
from hypothesis import given
from hypothesis import strategies as st

from hopefear import forest as hf
from hopefear.forest.io import from_json, read_json, to_json, write_json

pytestmark = pytest.mark.engine

words = st.text(st.characters(blacklist_categories=("Z", "C")), min_size=1, max_size=4)


def paths(forest: hf.Forest, scores: np.ndarray) -> list[tuple[float, str]]:
    every = range(forest.nodes)
    return [(d.score, d.text) for d in hf.kbest(forest, k=1000, scores=scores, roots=every)]


@few
@given(st.lists(hypergraphs(), max_size=3))
def test_pool_round_trip(graphs: list[Hypergraph]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool"
        assert hf.save_pool(path, (g.forest for g in graphs)) == len(graphs)
        pool = hf.ForestFile(path, verify=True)
        assert len(pool) == len(graphs)
        for graph, loaded in zip(graphs, pool, strict=True):
            assert to_json(loaded) == to_json(graph.forest)
            assert paths(loaded, graph.scores) == paths(graph.forest, graph.scores)


@few
@given(hypergraphs(), words)
def test_json_round_trip(graph: Hypergraph, id: str) -> None:
    data = to_json(graph.forest) | {"id": id}
    again = from_json(json.loads(json.dumps(data)))
    assert to_json(again) == data
    assert again.id == id
    assert paths(again, graph.scores) == paths(graph.forest, graph.scores)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forests.jsonl.gz"
        write_json(path, [again, graph.forest])
        assert [to_json(f) for f in read_json(path)] == [data, to_json(graph.forest)]


@few
@given(hypergraphs(), st.data())
def test_any_order_of_building(graph: Hypergraph, data: st.DataObject) -> None:
    """Shuffled node numbers and edges: the same derivations in topological order again."""
    number = data.draw(st.permutations(range(graph.nodes)))
    order = data.draw(st.permutations(range(len(graph.edges))))
    builder = hf.ForestBuilder()
    for _ in range(graph.nodes):
        builder.node()
    for e in order:
        edge = graph.edges[e]
        builder.edge(number[edge.head], [number[t] for t in edge.tails], edge.target, rule=e)
    forest = builder.finish()
    assert (forest.tails < np.repeat(forest.heads, np.diff(forest.tail_begin))).all()
    assert (np.diff(forest.heads.astype(int)) >= 0).all()
    assert [order[i] for i in builder.edge_order] == forest.rules.tolist()
    roots = [int(builder.node_numbers[number[r]]) for r in graph.roots]
    scores = graph.scores[forest.rules] if graph.edges else graph.scores
    found = hf.kbest(forest, k=1000, scores=scores, roots=roots)
    assert sorted((round(d.score, 6), d.text) for d in found) == sorted(
        (round(d.score, 6), " ".join(d.words)) for d in graph.derivations
    )
