"""The contract of feature templates (features/feature.py), for every registered one."""

from __future__ import annotations

import math

import pytest
from features_small import SmallHiero
from features_small import named as named_by
from phrase_small import SmallModel, named, phrases_of, random_model, random_weights

from hopefear.base import registry
from hopefear.base.config import fields_of
from hopefear.base.weights import SPARSE_SCORE, Weights
from hopefear.decode.contract import Request
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.feature import Feature, make_feature
from hopefear.forest import kbest, viterbi

pytestmark = pytest.mark.engine

SENTENCES = ["", "d", "neu", "d e u d", "e e e neu d f d u d e", "d " * 70]
OPTIONS = PhraseOptions(beam=30, pop_limit=100, distortion_limit=3)
LEFT_TO_RIGHT = ("rule-history",)  # not for hierarchical search


@pytest.fixture(params=registry.names("feature"))
def feature(request: pytest.FixtureRequest) -> Feature:
    return make_feature(request.param)


@pytest.fixture(params=[name for name in registry.names("feature") if name not in LEFT_TO_RIGHT])
def chart_feature(request: pytest.FixtureRequest) -> Feature:
    return make_feature(request.param)


@pytest.fixture(scope="module")
def hiero() -> SmallHiero:
    return SmallHiero()


@pytest.fixture
def model(feature: Feature, hiero: SmallHiero) -> SmallModel:
    return random_model(4, templates=(feature,), lists=hiero.full_lists)


def weights_for(model: SmallModel) -> Weights:
    """Return weights for the dense features and for the template's features."""
    decoder = model.decoder(OPTIONS)
    weights = random_weights(1, model)
    for derivation in kbest(decoder.forest("d e u d", weights), weights, 100):
        for name in named(derivation.features, decoder):
            if name not in decoder.dense:
                weights[name] = (sum(map(ord, name)) % 7 - 3) / 4
    return weights


def test_names_begin_with_the_registered_one(
    feature: Feature, model: SmallModel, hiero: SmallHiero
) -> None:
    decoder = model.decoder(OPTIONS)
    weights = random_weights(2, model)
    found = set()
    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 20):
            found |= set(named(derivation.features, decoder)) - set(decoder.dense)
    assert feature.make(hiero.full_lists).left_to_right_only == (feature.label in LEFT_TO_RIGHT)
    if feature.label not in LEFT_TO_RIGHT:
        other = hiero.decoder([feature], full_lists=True)
        for sentence in SENTENCES[:-1]:
            forest = other.forest(sentence, hiero.weights())
            for derivation in kbest(forest, hiero.weights(), 20):
                found |= set(named_by(derivation.features, other)) - set(other.dense)
    assert found, "it fires somewhere"
    assert all(name.split(":")[0] == feature.label for name in found)
    assert registry.get("feature", feature.label) is type(feature)
    assert feature.make(hiero.full_lists).name == feature.label


def test_search_and_replay_agree(model: SmallModel) -> None:
    decoder = model.decoder(OPTIONS)
    weights = weights_for(model)
    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 10):
            assert derivation.score == pytest.approx(weights.dot(derivation.features), abs=1e-3)
            vector = decoder.score_derivation(sentence, phrases_of(derivation))
            assert named(vector, decoder) == pytest.approx(
                named(derivation.features, decoder), rel=1e-4, abs=1e-3
            )
            assert all(math.isfinite(value) for value in vector.values.tolist())


def test_sparse_features_can_be_collapsed_into_one_score(model: SmallModel) -> None:
    decoder, weights = model.decoder(OPTIONS), weights_for(model)
    for sentence in SENTENCES:
        whole = kbest(decoder.forest(sentence, weights), weights, 50)
        forest = decoder.decode(Request(sentence, weights, sparse="collapsed")).forest
        names = {decoder.names.name(id) for id in forest.feature_ids.tolist()}
        assert names == {*decoder.dense, SPARSE_SCORE}
        collapsed = kbest(forest, decoder.collapsed_weights(weights), 50)
        assert [d.score for d in collapsed] == pytest.approx([d.score for d in whole], abs=1e-3)
        vectors = {phrases_of(d): named(d.features, decoder) for d in whole}
        for derivation in collapsed:
            full = vectors.get(phrases_of(derivation))
            if full is None:  # one of several with the same score, at the end of the list
                continue
            fired = sum(weights[name] * full[name] for name in full.keys() - {*decoder.dense})
            own = named(derivation.features, decoder)
            assert own.pop(SPARSE_SCORE, 0.0) == pytest.approx(fired, abs=1e-3)
            dense = {name: value for name, value in full.items() if name in decoder.dense}
            assert own == pytest.approx(dense, rel=1e-4, abs=1e-4)


def hiero_weights(feature: Feature, hiero: SmallHiero) -> Weights:
    decoder, weights = hiero.decoder([feature], full_lists=True), hiero.weights()
    for derivation in kbest(decoder.forest("d e f u d", weights), weights, 100):
        for name in named_by(derivation.features, decoder):
            if name not in decoder.dense:
                weights[name] = (sum(map(ord, name)) % 7 - 3) / 4
    return weights


def test_scores_of_hierarchical_search_are_weights_times_features(
    chart_feature: Feature, hiero: SmallHiero
) -> None:
    decoder = hiero.decoder([chart_feature], full_lists=True)
    weights = hiero_weights(chart_feature, hiero)
    for sentence in SENTENCES[:-1]:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 10):
            assert derivation.score == pytest.approx(weights.dot(derivation.features), abs=1e-3)


def test_hierarchical_recombination_keeps_the_best_derivation(
    chart_feature: Feature, hiero: SmallHiero
) -> None:
    """Cube pruning without a limit finds the best of all derivations."""
    weights = hiero_weights(chart_feature, hiero)
    words = "d e f u"
    full = hiero.decoder([chart_feature], full_lists=True, search="full")
    best = viterbi(full.forest(words, weights), weights)
    assert best is not None
    every = hiero.decoder([chart_feature], full_lists=True, search="full", rule_limit=0)
    # Each string of the forest before templates with a state, decoded by force.
    texts = {derivation.text for derivation in kbest(every.parse(words, weights), weights, 2000)}
    forced = [viterbi(every.forest(words, weights, text), weights) for text in sorted(texts)[:60]]
    scores = [each.score for each in forced if each is not None]
    assert scores
    assert best.score >= max(scores) - 1e-4


def test_recombination_keeps_the_best_derivation(model: SmallModel) -> None:
    """Without limits, search finds the best of all derivations."""
    exact = PhraseOptions(beam=10**6, pop_limit=10**8, distortion_limit=-1, table_limit=0)
    decoder = model.decoder(exact)
    weights = weights_for(model)
    words = ["d", "e", "u", "d"]
    best = viterbi(decoder.forest(words, weights), weights)
    assert best is not None
    scores = [
        weights.dot(decoder.score_derivation(words, phrases))
        for phrases in model.derivations(words)
    ]
    assert best.score == pytest.approx(max(scores), abs=1e-4)


def test_equal_calls_fire_equal_features(model: SmallModel) -> None:
    decoder = model.decoder(OPTIONS)
    weights = random_weights(3, model)

    def once(threads: int) -> list[bytes]:
        forests = decoder.forests(SENTENCES, weights, threads=threads)
        return [
            f.own_values.tobytes() + f.row_values.tobytes() + f.target.tobytes() for f in forests
        ]

    assert once(1) == once(1) == once(3)


def test_options_have_defaults_and_help(feature: Feature) -> None:
    for field in fields_of(type(feature)):
        assert not field.required
        assert field.option.help
