"""Margins in lattices: oracles, pruning, sizes."""

from __future__ import annotations

import numpy as np
import pytest
from forest_small import tiny_forest, tiny_weights

from hopefear.base.errors import OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import Forest, ForestBuilder, kbest, viterbi
from hopefear.learn.online import margin
from hopefear.learn.online.margin import GAIN, LatticeCache, LinearLoss, MarginLattice, thin

REFERENCES = [["the cats sleep"], ["sleep cats"]]
pytestmark = pytest.mark.engine


def lattice(sentence: int = 0, order: int = 4, **more: float) -> MarginLattice:
    found = LinearLoss(REFERENCES, order).lattice(tiny_forest(), sentence, tiny_weights(), **more)
    assert found is not None
    return found


def test_the_oracle_is_the_best_string() -> None:
    assert lattice(0).oracle.text == "the cats sleep"
    assert lattice(1).oracle.text == "sleep cats"


def test_model_score_breaks_ties_of_oracles() -> None:
    """'cats sleep' has two derivations."""
    loss, forest = LinearLoss([["cats sleep"]], 2), tiny_forest()
    for tm, edges in ((1.0, 4), (-1.0, 2)):
        found = loss.lattice(forest, 0, Weights({"tm": tm}))
        assert found is not None
        assert found.oracle.text == "cats sleep"
        assert len(found.oracle.edges) == edges


def test_the_gain_column_is_not_a_feature() -> None:
    one = lattice()
    assert GAIN in one.forest.feature_ids
    assert GAIN not in one.ids
    found = one.violation(Weights())
    assert len(found.difference)
    assert GAIN not in found.difference.ids


def test_weights_are_left_alone() -> None:
    weights = tiny_weights()
    lattice().violation(weights)
    assert GAIN not in weights


def test_fixed_features_are_not_in_the_subgradient() -> None:
    names = FeatureNames()
    every = set(lattice().violation(Weights()).difference.ids.tolist())
    fixed = names.intern("tm")
    assert fixed in every
    rest = lattice().violation(Weights(), frozenset([fixed])).difference.ids.tolist()
    assert set(rest) == every - {fixed}


def test_separated_examples_have_no_hinge() -> None:
    """The one derivation of its string wins by more than any loss."""
    weights = Weights({"swap": 100.0, "len": -100.0})
    found = lattice(1).violation(weights)
    assert (found.hinge, found.loss, len(found.difference)) == (0.0, 0.0, 0)


def test_a_forest_without_derivations() -> None:
    loss = LinearLoss(REFERENCES, 2)
    for forest in (Forest(), ForestBuilder().finish()):
        assert loss.lattice(forest, 0, Weights()) is None


def test_large_forest_is_split_with_a_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lattice()
    monkeypatch.setattr(margin, "MOST_EDGES", 5)
    monkeypatch.setattr(margin, "WIDE_BEAM", 1)
    part = lattice()
    assert 0 < part.forest.edges < whole.forest.edges


@pytest.mark.parametrize("density", [0.1, 1.5, 2.5, 100.0])
def test_thin_forests_have_the_best_derivations(density: float) -> None:
    forest, weights = tiny_forest(), tiny_weights()
    every = kbest(forest, weights, 100)
    found = kbest(thin(forest, weights, density), weights, 100)
    assert [d.score for d in found] == pytest.approx([d.score for d in every[: len(found)]])
    assert len(found) >= 1
    wanted = max(len(every[0].edges), int(density * len(every[0].words)))
    assert len({e for d in found for e in d.edges}) <= max(wanted, forest.edges)


def test_density_0_keeps_everything() -> None:
    forest = tiny_forest()
    assert thin(forest, tiny_weights(), 0) is forest
    thinned = thin(forest, tiny_weights(), 1.0)
    assert thinned.edges < forest.edges
    assert viterbi(thinned, tiny_weights()).text == viterbi(forest, tiny_weights()).text


def test_constants_are_checked() -> None:
    with pytest.raises(OptionError, match="give 3 numbers"):
        LinearLoss([], 2, [1.0])
    assert len(LinearLoss([], 3).xi) == 4


def test_the_cache_is_bounded() -> None:
    one = lattice()
    cache = LatticeCache(2 * one.bytes)
    for sentence in (0, 1):
        cache.put(sentence, one)
    assert cache.get(0) is one  # used last now
    cache.put(2, one)
    assert [cache.get(sentence) is one for sentence in range(3)] == [True, False, True]
    cache.clear()
    assert cache.get(0) is None
    small = LatticeCache(1)
    small.put(5, one)
    assert small.get(5) is one  # the one in use stays


def test_scores_of_edges_sum_up() -> None:
    one = lattice()
    gains = [d.features.get(GAIN) for d in kbest(one.forest, Weights(), 100)]
    assert len(gains) == 9
    assert max(gains) == pytest.approx(one.oracle.features.get(GAIN))
    assert np.isfinite(gains).all()
