"""Minimum risk on forests: the gain of every derivation, gradients, the newest forest only."""

from __future__ import annotations

import numpy as np
import pytest
from forest_small import tiny_forest, tiny_weights
from tune_toy import toy_task

from hopefear.base.weights import Weights
from hopefear.forest import ForestBuilder, kbest
from hopefear.learn.batch.forest_risk import ForestGain
from hopefear.learn.batch.risk import Risk
from hopefear.learn.tuner import Pool
from hopefear.metrics import create

REFERENCES = [["the cats sleep", "cats and cats sleep"]]


@pytest.mark.engine
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_expected_gain_sums_over_all_derivations(order: int) -> None:
    forest, weights = tiny_forest(), tiny_weights()
    metric = create("linear-ngram", {"order": order, "clip": False})
    all_of_them = kbest(forest, weights, 100)
    assert len(all_of_them) == 9
    rows = metric.prepare(REFERENCES).statistics([d.text for d in all_of_them], [0] * 9)
    p = np.exp(1.5 * np.array([d.score for d in all_of_them]))
    p /= p.sum()
    expected = ForestGain.of([forest], REFERENCES, weights, order=order, beam=0)
    found = expected(expected.vector(weights), 1.5)
    assert found.gain == pytest.approx(p @ metric.sentence_scores(rows) / 3.5)  # mean length
    assert found.entropy == pytest.approx(-p @ np.log(p))


@pytest.mark.engine
def test_gradients_are_those_of_the_values() -> None:
    weights = tiny_weights()
    forests = [tiny_forest(), tiny_forest()]
    expected = ForestGain.of(forests, [*REFERENCES, ["sleep cats"]], weights, order=3, beam=0)
    at, h = expected.vector(weights) + 0.1, 1e-5
    found = expected(at, 0.7)
    for column in range(len(at)):
        e = h * np.eye(len(at))[column]
        ahead, back = expected(at + e, 0.7), expected(at - e, 0.7)
        numeric = [(a - b) / (2 * h) for a, b in zip(ahead, back, strict=True)]
        assert found.gain_gradient[column] == pytest.approx(numeric[0], rel=1e-4, abs=1e-8)
        assert found.entropy_gradient[column] == pytest.approx(numeric[2], rel=1e-4, abs=1e-8)


@pytest.mark.engine
def test_threads_do_not_change_the_result() -> None:
    weights = tiny_weights()
    forests, references = [tiny_forest()] * 5, REFERENCES * 5
    one = ForestGain.of(forests, references, weights, order=2, beam=0)
    two = ForestGain.of(forests, references, weights, order=2, beam=0, threads=3)
    at = one.vector(weights)
    a, b = one(at, 1.0), two(at, 1.0)
    assert a.gain == b.gain
    np.testing.assert_array_equal(a.gain_gradient, b.gain_gradient)


@pytest.mark.engine
def test_beam_keeps_probable_candidates() -> None:
    weights = tiny_weights()
    whole = ForestGain.of([tiny_forest()], REFERENCES, weights, order=2, beam=0)
    part = ForestGain.of([tiny_forest()], REFERENCES, weights, order=2, beam=1)
    assert part.splits[0].edges < whole.splits[0].edges
    at = whole.vector(weights)
    assert np.isfinite(part(part.vector(weights), 1.0).gain)
    assert part(part.vector(weights), 1.0).entropy < whole(at, 1.0).entropy


@pytest.mark.engine
def test_pruning_keeps_the_best() -> None:
    weights = tiny_weights()
    part = ForestGain.of([tiny_forest()], REFERENCES, weights, order=2, beam=0, density=1)
    whole = ForestGain.of([tiny_forest()], REFERENCES, weights, order=2, beam=0)
    assert 0 < part.splits[0].edges < whole.splits[0].edges
    assert kbest(part.splits[0], weights, 1)[0].text == kbest(tiny_forest(), weights, 1)[0].text


@pytest.mark.engine
def test_case_may_be_ignored() -> None:
    weights, loud = tiny_weights(), [[text.upper() for text in REFERENCES[0]]]
    plain = ForestGain.of([tiny_forest()], REFERENCES, weights, order=2, beam=0)
    at = plain.vector(weights)
    gains = [
        ForestGain.of([tiny_forest()], loud, weights, order=2, beam=0, lowercase=lower)(
            at, 1.0
        ).gain
        for lower in (True, False)
    ]
    assert gains[0] == pytest.approx(plain(at, 1.0).gain)
    assert gains[1] < 0  # not a single match


@pytest.mark.engine
def test_spread_is_a_standard_deviation() -> None:
    forest, weights = tiny_forest(), tiny_weights()
    expected = ForestGain.of([forest], REFERENCES, weights, order=2, beam=0)
    scores = [derivation.score for derivation in kbest(forest, weights, 100)]
    assert expected.spread(expected.vector(weights)) == pytest.approx(np.std(scores))


def pool(forests: list[object], references: list[list[str]]) -> Pool:
    return Pool(metric=create("bleu"), forests=forests, references=references)  # type: ignore[arg-type]


def test_it_learns_on_forests() -> None:
    weights = Weights({"tm": 1.0, "swap": 1.0, "copy": -3.0, "len": -1.0})
    task = toy_task()
    found = Risk(space="forest").optimize(
        pool([[tiny_forest()]], [["the cats sleep"]]), weights, task
    )
    assert kbest(tiny_forest(), weights, 1)[0].text != "the cats sleep"
    assert kbest(tiny_forest(), found.weights, 1)[0].text == "the cats sleep"
    assert found.notes["stages"][-1]["gain"] > 0.3


def test_only_the_newest_forest_of_a_sentence_is_used() -> None:
    weights = tiny_weights()
    builder = ForestBuilder()
    builder.edge(builder.node(), (), ["dogs"], features={"tm": 5.0})
    old = builder.finish(0)
    tuner = Risk(space="forest", l2=0.01)
    one = tuner.optimize(pool([[old, tiny_forest()]], REFERENCES), weights, toy_task())
    other = tuner.optimize(pool([[tiny_forest()]], REFERENCES), weights, toy_task())
    assert dict(one.weights.items()) == dict(other.weights.items())


def test_fixed_features_stay_and_empty_forests_are_skipped() -> None:
    weights = tiny_weights()
    names = tiny_forest().names
    fixed = frozenset([names.intern("swap")])
    empty = ForestBuilder().finish(None)
    forests: list[object] = [[tiny_forest()], [], [empty]]
    references = [*REFERENCES, ["a"], ["b"]]
    found = Risk(space="forest", l2=0.01).optimize(
        pool(forests, references), weights, toy_task(fixed=fixed)
    )
    assert found.weights["swap"] == weights["swap"]
    assert found.weights["tm"] != weights["tm"]
    nothing = Risk(space="forest").optimize(pool([[empty]], [["a"]]), weights, toy_task())
    assert dict(nothing.weights.items()) == dict(weights.items())


def test_new_features_have_names() -> None:
    found = Risk(space="forest").optimize(
        pool([[tiny_forest()]], REFERENCES), Weights({"tm": 1.0}), toy_task()
    )
    assert {"tm", "swap", "copy", "len"} == {name for name, _ in found.weights.items()}
