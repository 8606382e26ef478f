"""The source and target words of a derivation's edges, in phrase forests and in trees."""

from __future__ import annotations

import pytest

from hopefear.base.weights import Weights
from hopefear.decode.trace import word_alignment
from hopefear.decode.trace.phrases import phrase_uses, segmentation
from hopefear.decode.trace.trees import bracketed, tree_uses
from hopefear.forest import Forest, ForestBuilder, viterbi


def phrase_forest() -> Forest:
    """`a b c` with the order c, a b."""
    builder = ForestBuilder()
    start = builder.node()
    first = builder.node(coverage=[2])
    both = builder.node(coverage=[0, 1, 2])
    goal = builder.node(coverage=[0, 1, 2])
    builder.edge(start, (), ())
    builder.edge(first, [start], [0, "C"])
    builder.edge(both, [first], [0, "A", "x", "B"], rule=5)
    builder.edge(goal, [both], [0], features={"lm": -1})
    return builder.finish(goal)


def tree_forest() -> Forest:
    """X -> <a [1] b [2], [2] A [1]> over `a c b d`."""
    builder = ForestBuilder()
    one, two = builder.node(span=(1, 2), symbol="X"), builder.node(span=(3, 4), symbol="X")
    top = builder.node(span=(0, 4), symbol="S")
    goal = builder.node(span=(0, 4), symbol="Goal")
    builder.edge(one, (), ["C"])
    builder.edge(two, (), ["D", "("])
    builder.edge(top, [one, two], [1, "A", 0], rule=9)
    builder.edge(goal, [top])
    return builder.finish(goal)


@pytest.mark.engine
def test_phrases_from_left_to_right() -> None:
    best = viterbi(phrase_forest(), Weights({"lm": 1.0}))
    assert best is not None
    uses = phrase_uses(best)
    assert segmentation(uses) == "2=0 0-1=1-3"
    assert [use.source for use in uses] == [(), (2,), (0, 1), ()]
    links = {5: [(0, 0), (1, 2)]}
    assert word_alignment(uses, links.__getitem__) == [(0, 1), (1, 3), (2, 0)]


@pytest.mark.engine
def test_tree() -> None:
    best = viterbi(tree_forest(), Weights())
    assert best is not None
    uses = tree_uses(best)
    assert best.text == "D ( A C"
    top = uses[1]
    assert (top.symbol, top.span, top.source, top.gaps) == ("S", (0, 4), (0, 2), ((1, 2), (3, 4)))
    assert (top.places, top.begin, top.end) == ((2,), 0, 4)
    assert [use.depth for use in uses] == [0, 1, 2, 2]
    # Symbols of the rule: a [1] b [2] and [2] A [1].
    assert word_alignment(uses, {9: [(0, 1), (1, 2), (2, 1)]}.__getitem__) == [
        (0, 2),
        (1, 3),
        (2, 2),
    ]
    assert bracketed(uses) == "(S (X D -LRB-) A (X C))"


@pytest.mark.engine
def test_a_tree_without_branches_is_not_a_phrase_derivation() -> None:
    builder = ForestBuilder()
    below, top = builder.node(span=(0, 1), symbol="X"), builder.node(span=(0, 2), symbol="S")
    builder.edge(below, (), ["A"])
    builder.edge(top, [below], [0, "B"])
    best = viterbi(builder.finish(top), Weights())
    assert best is not None
    uses = tree_uses(best)
    assert [use.symbol for use in uses] == ["S", "X"]
    assert bracketed(uses) == "(S (X A) B)"
