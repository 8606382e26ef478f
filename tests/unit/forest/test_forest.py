"""The structure: building, arrays, labels, derivations."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest
from forest_small import tiny_forest, tiny_weights

from hopefear import forest as hf
from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest.io import to_graphviz

pytestmark = pytest.mark.engine


def test_arrays_are_views_that_keep_the_forest() -> None:
    forest = tiny_forest()
    tails, heads = forest.tails, forest.heads
    assert np.shares_memory(tails, forest.tails)
    assert not tails.flags.writeable
    wanted = tails.tolist(), heads.tolist()
    del forest
    gc.collect()
    assert (tails.tolist(), heads.tolist()) == wanted


def test_labels() -> None:
    forest = tiny_forest("17")
    assert forest.id == "17"
    assert (forest.nodes, forest.edges, forest.goal) == (5, 8, 3)
    assert forest.covered.tolist() == [1, 1, 2, 2, 1]
    assert forest.spans.reshape(-1, 2).tolist() == [[0, 1], [1, 2], [0, 2], [0, 2], [-1, -1]]
    symbols = [forest.vocabulary.word(s) if s >= 0 else None for s in forest.symbols.tolist()]
    assert symbols == ["N", "V", "S", None, None]
    assert forest.coverage.tolist() == [1, 2, 3, 3, 0, 1 << 6]
    assert forest.rules.tolist()[:3] == [7, 8, -1]
    assert hf.bin_nodes(forest, 2).tolist() == [2, 3]
    assert hf.bin_nodes(forest, 9).tolist() == []


def test_bins_as_roots() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    best = hf.viterbi(forest, weights, roots=hf.bin_nodes(forest, 1))
    assert best is not None
    assert (best.text, best.root) == ("sleep", 1)
    assert len(hf.kbest(forest, weights, 100, roots=hf.bin_nodes(forest, 1))) == 3


def test_equal_rows_are_shared() -> None:
    builder = hf.ForestBuilder()
    a = builder.row({"x": 1, "y": 2})
    assert builder.row({"y": 2, "x": 1}) == a
    assert builder.row({"x": 1}) != a
    assert builder.row({"x": 1, "y": 2}, share=False) != a


def test_columns_are_for_features_that_most_have() -> None:
    builder = hf.ForestBuilder()
    builder.node()
    for i in range(10):
        row = builder.row({"dense": i, f"sparse{i}": 1.5}, share=False)
        builder.edge(0, row=row, features={"lm": i, **({"rare": 1} if i == 3 else {})})
    forest = builder.finish(0)
    assert len(forest.row_columns) == len(forest.edge_columns) == 1
    assert len(forest.row_features) == 10
    assert len(forest.own_features) == 1
    weights = Weights({"dense": 1, "lm": 10, "rare": 100, "sparse4": 1000})
    assert hf.edge_scores(forest, weights).tolist() == [0, 11, 22, 133, 1544, 55, 66, 77, 88, 99]


def test_features_twice_are_summed() -> None:
    builder = hf.ForestBuilder()
    builder.node()
    number = builder.names.intern("x")
    builder.edge(0, row=builder.row({"x": 1.0}), features={number: 2.0})
    assert builder.finish(0).edge_features(0).get(number) == 3.0


@pytest.mark.parametrize("count", [100, 20_000])
def test_many_sparse_features(count: int) -> None:
    builder = hf.ForestBuilder()
    builder.node()
    for part in range(4):
        names = range(part * count // 4, (part + 1) * count // 4)
        builder.edge(0, (), ["a"], row=builder.row({f"f{i}": 1 + i % 7 for i in names}))
    goal = builder.node()
    builder.edge(goal, [0, 0], features={"f0": -1.0})
    forest = builder.finish(goal)
    weights = Weights({f"f{i}": 0.5 for i in range(count)})
    best = hf.viterbi(forest, weights)
    assert best is not None
    assert weights.dot(best.features) == pytest.approx(best.score)
    first = hf.kbest(forest, scores=[0.0, -1.0, -1.0, -1.0, 0.0])[0]
    assert len(first.features) == count // 4
    assert first.features.get(builder.names.intern("f0")) == 1  # 1 + 1 - 1
    assert first.features.get(builder.names.intern("f3")) == 8


@pytest.mark.parametrize(
    ("tails", "target", "message"),
    [
        ([0], ["a"], "each slot once"),
        ([0], [0, 0], "each slot once"),
        ([0, 0], [0, 2], "each slot once"),
        ([0], [-1], "slot -1"),
        ([9], [0], "tail 9"),
        ([1], [0], "cycle through node 1"),
        ([2], [0], "cycle"),
    ],
)
def test_bad_edges(tails: list[int], target: list[str | int], message: str) -> None:
    builder = hf.ForestBuilder()
    for _ in range(3):
        builder.node()
    builder.edge(2, [1])

    def make() -> None:
        builder.edge(1, tails, target)
        builder.finish(0)

    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39])
def test_feature_values_are_finite(value: float) -> None:
    builder = hf.ForestBuilder()
    builder.node()
    with pytest.raises(ValueError, match="expected a finite number"):
        builder.row({"x": 1.0, "y": value})
    row = builder.row({"x": 1.0})
    with pytest.raises(ValueError, match="expected a finite number"):
        builder.edge(0, features={"x": value})
    builder.edge(0, row=row)
    assert hf.edge_scores(builder.finish(0), Weights({"x": 2.0})).tolist() == [2.0]


def test_other_bad_parts() -> None:
    builder = hf.ForestBuilder()
    with pytest.raises(ValueError, match="goal"):
        builder.finish(0)
    with pytest.raises(InputError, match="white space"):
        builder.edge(0, (), ["a b"])
    with pytest.raises(ValueError, match="source positions"):
        builder.node(coverage=[-1])
    builder.edge(4)
    with pytest.raises(ValueError, match="head 4"):
        builder.finish()


def test_long_coverage() -> None:
    builder = hf.ForestBuilder()
    builder.node(coverage=range(0, 200, 3))
    forest = builder.finish()
    bits = np.unpackbits(forest.coverage.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == list(range(0, 200, 3))
    assert forest.covered.tolist() == [67]


def test_deep_forests_do_not_recurse() -> None:
    """A chain of 30,000 nodes with two edges each: 2^30,000 derivations."""
    builder = hf.ForestBuilder()
    depth = 30_000
    for node in range(depth):
        builder.node()
        for word, score in (("a", 0.0), ("b", -1.0)):
            tails = [node - 1] if node else []
            builder.edge(node, tails, [*range(len(tails)), word], features={"x": score})
    forest = builder.finish(depth - 1)
    weights = Weights({"x": 1.0})
    best = hf.viterbi(forest, weights)
    assert best is not None
    assert best.tokens.tolist() == [0] * depth
    for distinct in (False, True):
        found = hf.kbest(forest, weights, 3, distinct=distinct)
        assert [d.score for d in found] == [0, -1, -1]
    log_z = depth * math.log(1 + math.exp(-1))
    assert hf.log_partition(forest, weights) == pytest.approx(log_z)
    assert hf.outside(forest, weights)[0] == pytest.approx(log_z - math.log(1 + math.exp(-1)))
    assert len(hf.sample(forest, weights, 1, seed=3)[0].edges) == depth
    assert len(hf.envelope(forest, weights, Weights({"x": 1.0}))) == 2


def test_exponential_derivations_are_refused() -> None:
    """Sixty nodes, but a tree of 2^60 edges: it can be scored, not written out."""
    builder = hf.ForestBuilder()
    for node in range(60):
        builder.node()
        builder.edge(node, [node - 1] * 2 if node else [], features={"x": 1.0})
    forest = builder.finish(59)
    assert hf.log_partition(forest, Weights({"x": 1.0})) == pytest.approx(2.0**60, rel=1e-6)
    with pytest.raises(InputError, match=r"more than \d+ edges"):
        hf.viterbi(forest, Weights({"x": 1.0}))


def test_vocabulary_on_top_of_another() -> None:
    base = hf.Vocabulary()
    assert [base.intern(w) for w in ("a", "b")] == [0, 1]
    first, second = hf.Vocabulary(base), hf.Vocabulary(base)
    assert (first.intern("x"), second.intern("y"), first.intern("a")) == (2, 2, 0)
    base.intern("c")  # comes too late for both
    assert (first.word(2), second.word(2), base.word(2)) == ("x", "y", "c")
    assert (first.find("c"), first.intern("c"), len(first)) == (-1, 3, 4)
    with pytest.raises(IndexError):
        first.word(9)
    assert base.word(base.intern("\udcff")) == "\udcff"  # odd bytes come back


def test_a_derivation_by_hand() -> None:
    forest = tiny_forest()
    made = hf.Derivation(forest, np.array([6, 4, 1, 2], np.uint32), -3.0)
    assert made.words == ["sleep", "the", "cats"]
    assert made.children() == [[1], [2, 3], [], []]
    assert (made.root, made.score) == (3, -3.0)
    for edges in ([6], [6, 4, 2, 1], [6, 4, 1, 2, 2], [99], []):
        with pytest.raises(ValueError, match="edge"):
            hf.Derivation(forest, np.array(edges, np.uint32), 0.0)


def test_graphviz() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    best = hf.viterbi(forest, weights)
    assert best is not None
    text = to_graphviz(forest, weights, derivations=[best])
    assert text.startswith("digraph forest {")
    assert text.count(" -> ") == forest.edges + len(forest.tails)
    assert 'n3 [label="3 0-2", peripheries=2]' in text
    assert 'label="[1] and [2]\\n-0.5"' in text
    bold = [line for line in text.splitlines() if "shape=box" in line and "style=bold" in line]
    assert len(bold) == len(best.edges)


def test_names_are_optional() -> None:
    forest = tiny_forest()
    assert isinstance(forest.names, FeatureNames)
    assert hf.Forest().names is None
    assert hf.Forest().bytes < 100
