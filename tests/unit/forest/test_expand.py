"""Expanding by hand: states, ties, bounds and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from forest_small import tiny_forest, tiny_weights

from hopefear import forest as hf
from hopefear.base.errors import InputError
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.ter import Ter

pytestmark = pytest.mark.engine


def one_state(edge: int, tails: tuple[Any, ...]) -> tuple[float, None]:
    return 0.0, None


def test_stateless_scorer_keeps_the_forest() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    for beam in (0, 100):
        made = hf.expand(forest, one_state, weights, beam=beam)
        assert sorted(made.edges.tolist()) == list(range(8))
        assert (made.forest.nodes, made.forest.id) == (4, "tiny")  # one had no derivation
        assert hf.count(made.forest) == hf.count(forest)
        assert made.forest.covered.tolist() == [1, 1, 2, 2]
        assert made.forest.coverage.tolist() == [1, 2, 3, 3]
        assert made.forest.spans.tolist() == forest.spans.tolist()[:8]
        assert made.forest.symbols.tolist() == forest.symbols.tolist()[:4]
        best, wanted = hf.viterbi(made.forest, weights), hf.viterbi(forest, weights)
        assert best is not None
        assert wanted is not None
        assert (best.text, best.score) == (wanted.text, wanted.score)
        assert best.features == wanted.features


def test_equal_scores_keep_the_order_of_edges() -> None:
    builder = hf.ForestBuilder()
    node, goal = builder.node(), builder.node()
    for word in "abc":
        builder.edge(node, (), [word])
    builder.edge(goal, [node])
    forest = builder.finish(goal)
    made = hf.expand(forest, lambda edge, tails: (0.0, edge), scores=np.zeros(4), beam=2)
    assert made.edges.tolist() == [0, 1, 3, 3]
    best = hf.viterbi(made.forest, scores=made.scores)
    assert best is not None
    assert best.text == "a"


def test_guesses_save_calls_without_search_errors() -> None:
    """Under a beam the scorer is asked less often than there are candidates."""
    builder = hf.ForestBuilder()
    left, right, goal = builder.node(), builder.node(), builder.node()
    for n in range(30):
        builder.edge(left, (), [f"l{n}"])
        builder.edge(right, (), [f"r{n}"])
    builder.edge(goal, [left, right])
    forest = builder.finish(goal)
    scores = -np.arange(forest.edges) / 10.0
    asked = []
    for eager in (True, False):
        made = hf.expand(
            forest, lambda edge, tails: (0.0, (edge, tails)), scores=scores, beam=20, eager=eager
        )
        asked.append(made.scored)
        assert made.forest.edges == 60
    assert asked[1] < asked[0]


def test_scores_from_a_scorer_must_be_numbers() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="expected a number or -infinity"):
            hf.expand(forest, lambda edge, tails, bad=bad: (bad, None), weights)
    with pytest.raises(ValueError, match="not finite"):
        hf.expand(forest, lambda edge, tails: (0.0, None, {1: math.inf}), weights)
    with pytest.raises(TypeError, match=r"must return \(score, state\)"):
        hf.expand(forest, lambda edge, tails: (0.0,), weights)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        hf.expand(forest, lambda edge, tails: (1 / 0, None), weights)
    nothing = hf.expand(forest, lambda edge, tails: None, weights, beam=5)
    assert (nothing.forest.nodes, nothing.forest.goal) == (0, None)


def test_limits() -> None:
    forest, weights = tiny_forest("s17"), tiny_weights()
    with pytest.raises(InputError, match=r"s17.*more than 3 edges; give a \(smaller\) beam"):
        hf.expand(forest, one_state, weights, limit=3)
    with pytest.raises(ValueError, match="beam -1"):
        hf.expand(forest, one_state, weights, beam=-1)
    with pytest.raises(TypeError, match="either weights or scores"):
        hf.expand(forest, one_state)


def test_empty_forest() -> None:
    empty = hf.Forest()
    assert hf.expand(empty, one_state, scores=[]).forest.nodes == 0
    metric = BleuPlusOne()
    objective = hf.Objective.of(metric, metric.prepare([["a"]]), 0)
    assert hf.hope_fear(empty, None, objective, scores=[]) is None
    assert hf.consensus(empty, scores=[]) is None
    assert hf.mbr(empty, None, metric, scores=[]) is None
    assert hf.intersect(empty, "a").forest.nodes == 0
    assert hf.best_other(empty, "a", scores=[]) == []


@pytest.mark.parametrize(("lowercase", "matches"), [(True, 3), (False, 2)])
def test_case_of_references(lowercase: bool, matches: int) -> None:
    metric = BleuPlusOne(lowercase=lowercase)
    prepared = metric.prepare([["THE cats sleep"]])
    found = hf.oracle(tiny_forest(), tiny_weights(), hf.Objective.of(metric, prepared, 0))
    assert found is not None
    assert found.statistics[0] == matches  # the same in the search as in exact counting
    assert found.gain == pytest.approx(
        float(metric.sentence_scores(prepared.statistics([found.derivation.text]))[0])
    )


def test_the_search_is_for_ngrams_of_words() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    characters = BleuPlusOne(unit="char")
    objective = hf.Objective.of(characters, characters.prepare([["cats"]]), 0)
    with pytest.raises(ValueError, match="needs references of words"):
        hf.hope(forest, weights, objective)
    listed = hf.hope(forest, weights, objective, search=hf.Search(kbest=10))
    assert listed is not None
    ter = Ter()
    others = hf.Objective(
        ter.prepare([["cats sleep"]]), 0, characters.search_gain(), ter.sentence_scores
    )
    with pytest.raises(TypeError, match="use a k-best list"):
        hf.fear(forest, weights, others)
    best = hf.hope(forest, weights, others, model=0.0, search=hf.Search(kbest=10))
    assert best is not None
    assert (best.derivation.text, best.gain) == ("cats sleep", 0.0)


def test_choosing_from_a_list() -> None:
    scores, gains = [3.0, 2.0, 2.0, 1.0], [0.0, 0.5, 0.5, 1.0]
    assert hf.choose(scores, gains, sign=1, scale=1) == 0
    assert hf.choose(scores, gains, sign=1, scale=4) == 3
    assert hf.choose(scores, gains, sign=-1) == 0
    assert hf.choose(scores, [1.0, 1.0, 1.0, 1.0], sign=1, model=0) == 0  # the better score
    assert hf.choose([0.0, 2.0, 2.0], [1.0, 0.0, 0.0], sign=-1) == 1  # the first of equals


def test_goal_of_an_intersection() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    made = hf.intersect(forest, "the cats and cats")
    assert made.forest.goal == made.roots[0]
    best = hf.viterbi(made.forest, weights)
    assert best is not None
    assert best.text == "the cats and cats"
    assert hf.count(hf.intersect(forest, "cats sleep").forest) == 2  # both derivations
    assert hf.intersect(forest, "dogs sleep").forest.goal is None
    prefixes = hf.intersect(forest, "cats and the", prefix=True, roots=[0, 2])
    assert prefixes.nodes[prefixes.roots].tolist() == [0]


def test_a_no_break_space_is_inside_its_word() -> None:
    builder = hf.ForestBuilder()
    builder.edge(builder.node(), (), ["10\u00a0000", "men"])
    forest = builder.finish(0)
    assert hf.count(hf.intersect(forest, "10\u00a0000 men").forest) == 1
    assert hf.best_other(forest, "10\u00a0000 men", scores=[0.0]) == [None]
