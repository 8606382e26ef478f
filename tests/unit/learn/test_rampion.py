"""RAMPION: losses, steps, and the stored initial weights."""

from __future__ import annotations

import numpy as np
import pytest
from tune_toy import densified, toy_pool, toy_task

from hopefear.base.weights import Weights
from hopefear.learn.batch.problem import Problem
from hopefear.learn.batch.rampion import Rampion


def by_hand(tuner: Rampion, problem: Problem, centre: np.ndarray, seed: int) -> np.ndarray:
    """The algorithm of the paper with whole vectors."""
    random = np.random.default_rng(seed)
    features = problem.matrix.dense
    cost = tuner.alpha * (1 - problem.gains)
    groups = [
        range(b, b + n) for b, n in zip(problem.begin.tolist(), problem.sizes.tolist(), strict=True)
    ]
    w = problem.start.copy()
    for _ in range(tuner.outer):
        s = features @ w
        hope_scores = s if tuner.loss == 1 else s - cost
        hopes = [max(rows, key=lambda r: hope_scores[r]) for rows in groups]
        for _ in range(tuner.inner):
            for g in random.permutation(len(groups)):
                scores = features @ w + (0 if tuner.loss == 2 else cost)
                fear = max(groups[g], key=lambda r: scores[r])
                w = w - tuner.eta * tuner.C * (w - centre) / len(groups)
                w = w + tuner.eta * (features[hopes[g]] - features[fear])
    return w


@pytest.mark.parametrize("loss", [1, 2, 3])
def test_it_is_the_algorithm_of_the_paper(loss: int) -> None:
    pool, weights = toy_pool(empty=True)
    tuner = Rampion(loss=loss, outer=3, inner=2, eta=0.01, C=5.0)  # type: ignore[arg-type]
    problem = Problem(pool, weights, toy_task(seed=4))
    wanted = by_hand(tuner, problem, problem.start, seed=4)
    found = tuner.optimize(pool, weights, toy_task(seed=4)).weights
    np.testing.assert_allclose(problem.candidates.vector(found), wanted, rtol=1e-5)


@pytest.mark.parametrize("loss", [1, 2, 3])
def test_the_objective_falls_and_is_never_negative(loss: int) -> None:
    pool, weights = toy_pool()
    found = Rampion(loss=loss, eta=1e-3).optimize(pool, weights, toy_task())  # type: ignore[arg-type]
    assert 0 <= found.notes["ramp_loss"] <= found.notes["ramp_objective"]
    assert found.notes["ramp_objective"] < found.notes["ramp_objective_before"]


def test_ramp_3_is_the_sum_of_ramps_1_and_2() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    cost = 10 * (1 - problem.gains)
    one, two, three = (
        Rampion(loss=n).ramp(problem, problem.start, cost, problem.start)[0] for n in (1, 2, 3)
    )
    assert one + two == pytest.approx(three)


def test_strong_regularisation_returns_the_initial_weights() -> None:
    pool, weights = toy_pool()
    tuner = Rampion(C=3e5, eta=1e-4)  # each step goes all the way
    tuner.optimize(pool, weights, toy_task())
    elsewhere = Weights({"d0": 7.0})
    found = tuner.optimize(pool, elsewhere, toy_task(iteration=1)).weights
    for feature, value in weights.items():
        assert found[feature] == pytest.approx(value, abs=0.01)


def test_its_state_is_the_first_weights() -> None:
    pool, weights = toy_pool(sparse=3)
    tuner = Rampion(eta=0.01)
    assert tuner.state() == {}
    after = tuner.optimize(pool, weights, toy_task()).weights
    again = Rampion(eta=0.01)
    again.restore(tuner.state())
    one = tuner.optimize(pool, after, toy_task(seed=2, iteration=1)).weights
    other = again.optimize(pool, after, toy_task(seed=2, iteration=1)).weights
    assert dict(one.items()) == dict(other.items())
    fresh = Rampion(eta=0.01).optimize(pool, after, toy_task(seed=2, iteration=1)).weights
    assert dict(fresh.items()) != dict(one.items())


@pytest.mark.parametrize("sparse", [5, 300])
def test_sparse_and_dense_columns_give_the_same(sparse: int) -> None:
    pool, weights = toy_pool(sparse=sparse)
    one = Rampion(eta=0.01, outer=2).optimize(pool, weights, toy_task()).weights
    other = Rampion(eta=0.01, outer=2).optimize(densified(pool), weights, toy_task()).weights
    assert dict(one.items()) == pytest.approx(dict(other.items()), rel=1e-4, abs=1e-6)


def test_fixed_features_stay() -> None:
    pool, weights = toy_pool()
    fixed = frozenset([int(pool.candidates.features.ids[2])])  # type: ignore[union-attr]
    found = Rampion(eta=0.01).optimize(pool, weights, toy_task(fixed=fixed)).weights
    assert found["d2"] == weights["d2"]
    assert found["d0"] != weights["d0"]


def test_it_improves() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    found = Rampion(eta=1e-3).optimize(pool, weights, toy_task())
    assert found.objective > problem.corpus_score(problem.start) + 0.05
