"""Minimum risk on k-best lists: gradients by finite differences, values by enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tune_toy import densified, toy_pool, toy_task

from hopefear.base.errors import OptionError
from hopefear.learn.batch.problem import Problem
from hopefear.learn.batch.risk import KbestGain, Risk, score_gradient
from hopefear.learn.tuner import Pool
from hopefear.metrics import create


@pytest.mark.parametrize("corpus", [True, False])
@pytest.mark.parametrize("metric", ["bleu", "bleu+1", "linear-ngram"])
def test_gradients_are_those_of_the_values(metric: str, corpus: bool) -> None:
    pool, weights = toy_pool(sparse=3, metric=metric, empty=True)
    problem = Problem(pool, weights, toy_task())
    gain = KbestGain(problem, corpus=corpus)
    at, h = np.random.default_rng(3).normal(size=7), 1e-5
    found = gain(at, 0.8)
    ahead = [gain(at + h * e, 0.8) for e in np.eye(7)]
    back = [gain(at - h * e, 0.8) for e in np.eye(7)]
    np.testing.assert_allclose(
        found.gain_gradient,
        [(a.gain - b.gain) / (2 * h) for a, b in zip(ahead, back, strict=True)],
        rtol=1e-4,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        found.entropy_gradient,
        [(a.entropy - b.entropy) / (2 * h) for a, b in zip(ahead, back, strict=True)],
        rtol=1e-4,
        atol=1e-8,
    )


def test_the_value_is_bleu_of_expected_counts() -> None:
    pool, weights = toy_pool(sentences=3, size=4)
    assert pool.candidates is not None
    problem = Problem(pool, weights, toy_task())
    total, entropies = np.zeros(9), []
    for begin, size in zip(problem.begin, problem.sizes, strict=True):
        rows = slice(begin, begin + size)
        scores = np.exp(2.0 * problem.matrix.dense[rows] @ problem.start)
        p = scores / scores.sum()
        total += p @ pool.candidates.statistics[rows]
        entropies.append(-(p * np.log(p)).sum())
    found = KbestGain(problem, corpus=True)(problem.start, 2.0)
    assert found.gain == pytest.approx(float(pool.metric.score(total)))
    assert found.entropy == pytest.approx(np.mean(entropies))


@pytest.mark.parametrize("reflen", [60.0, 90.0])
@pytest.mark.parametrize("lengths", ["closest", "average"])
def test_bleu_has_its_own_derivatives(reflen: float, lengths: str) -> None:
    metric = create("bleu", {"reference_length": lengths})
    unit = metric.length_unit  # type: ignore[attr-defined]
    total = np.array([50.5, 80, 30.25, 76, 20, 72, 10, 68, reflen * unit])
    value, slope = score_gradient(metric, total)
    assert value == pytest.approx(float(metric.score(total)))
    h = 1e-4
    for column in range(9):
        e = h * np.eye(9)[column]
        numeric = float(metric.score(total + e) - metric.score(total - e)) / (2 * h)
        assert slope[column] == pytest.approx(numeric, rel=1e-4, abs=1e-10)


def test_loss_has_entropy_and_regularisation() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    gain = KbestGain(problem, corpus=True)
    at = problem.start + 0.3
    tuner = Risk(l2=0.5)
    value, slope = tuner.loss(gain, at, problem.start, problem.free, 0.2, 1.5)
    found = gain(at, 1.5)
    assert value == pytest.approx(-found.gain - 0.2 * found.entropy + 0.25 * 4 * 0.09)
    h = 1e-5
    for column in range(4):
        e = h * np.eye(4)[column]
        ahead = tuner.loss(gain, at + e, problem.start, problem.free, 0.2, 1.5)[0]
        back = tuner.loss(gain, at - e, problem.start, problem.free, 0.2, 1.5)[0]
        assert slope[column] == pytest.approx((ahead - back) / (2 * h), rel=1e-4)


def test_stages_run_in_order() -> None:
    pool, weights = toy_pool()
    tuner = Risk(temperatures=[0.5, 0.1], gammas=[0.5, 4.0], max_steps=5)
    stages = tuner.optimize(pool, weights, toy_task()).notes["stages"]
    plan = [(stage["temperature"], stage["gamma"]) for stage in stages]
    assert plan == [(0.5, 0.5), (0.1, 0.5), (0.0, 0.5), (0.0, 4.0)]
    assert stages[0]["entropy"] > stages[-1]["entropy"]


@pytest.mark.parametrize("gain", ["corpus", "sentence"])
def test_it_improves_and_keeps_the_length(gain: str) -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    found = Risk(gain=gain).optimize(pool, weights, toy_task())  # type: ignore[arg-type]
    assert found.objective > problem.corpus_score(problem.start) + 0.05
    assert found.weights.norm() == pytest.approx(weights.norm(), rel=1e-5)


def test_sparse_and_dense_columns_give_the_same() -> None:
    pool, weights = toy_pool(sparse=20)
    tuner = Risk(l2=0.01, gammas=[1.0])
    one = tuner.optimize(pool, weights, toy_task()).weights
    other = tuner.optimize(densified(pool), weights, toy_task()).weights
    assert dict(one.items()) == pytest.approx(dict(other.items()), rel=0.02, abs=0.002)


def test_fixed_features_stay() -> None:
    pool, weights = toy_pool()
    fixed = frozenset([int(pool.candidates.features.ids[1])])  # type: ignore[union-attr]
    found = Risk(l2=0.01).optimize(pool, weights, toy_task(fixed=fixed)).weights
    assert found["d1"] == weights["d1"]
    assert found["d0"] != weights["d0"]


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_scale_of_the_start_has_no_effect(scale: float) -> None:
    pool, weights = toy_pool()
    one = Risk().optimize(pool, weights, toy_task()).weights
    weights.scale(scale)
    other = Risk().optimize(pool, weights, toy_task()).weights
    for feature, value in one.items():
        assert other[feature] == pytest.approx(scale * value, rel=0.02)


def test_spread_is_a_standard_deviation() -> None:
    pool, weights = toy_pool(sentences=1)
    problem = Problem(pool, weights, toy_task())
    found = KbestGain(problem, corpus=True).spread(problem.start)
    assert found == pytest.approx(np.std(problem.matrix.dot(problem.start)))


def test_large_score_differences_do_not_overflow() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    weights.scale(1e6)
    found = Risk().optimize(pool, weights, toy_task())
    assert np.isfinite(found.objective)
    values = KbestGain(Problem(pool, weights, toy_task()), corpus=True)(
        pool.candidates.vector(weights), 1.0
    )
    assert np.isfinite(values.gain_gradient).all()
    assert values.entropy == pytest.approx(0.0, abs=1e-6)


def test_stages_need_a_gamma_above_0() -> None:
    with pytest.raises(OptionError, match="above 0"):
        Risk(gammas=[1.0, 0.0])
    with pytest.raises(OptionError, match="above 0"):
        Risk(gammas=[])


def test_weights_stay_without_candidates() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    none = replace(
        pool.candidates,
        begin=np.zeros(31, np.int64),
        features=replace(pool.candidates.features, dense=np.zeros((0, 4), np.float32)),
        statistics=np.zeros((0, 9), np.int32),
    )
    found = Risk().optimize(Pool(metric=pool.metric, candidates=none), weights, toy_task())
    assert dict(found.weights.items()) == dict(weights.items())
