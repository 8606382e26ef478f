"""The structured SVM against a quadratic programme, and its duality gap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from tune_toy import densified, toy_pool, toy_task

from hopefear.base.weights import Weights
from hopefear.learn.batch.problem import Problem
from hopefear.learn.batch.svm import Svm
from hopefear.learn.tuner import Pool


def programme(tuner: Svm, pool: Pool, weights: Weights) -> tuple[np.ndarray, float]:
    """The primal with slacks, solved by SciPy."""
    problem = Problem(pool, weights, toy_task())
    f, gains = problem.matrix.dense, tuner.alpha * problem.gains
    hopes = problem.best(f @ problem.start + gains)
    n, d = problem.groups, f.shape[1]
    group = problem.repeat(np.arange(n))
    # w.(f+ - f) + xi >= gain+ - gain
    rows = np.hstack([f[hopes][group] - f, np.eye(n)[group]])
    bound = gains[hopes][group] - gains

    def value(x: np.ndarray) -> float:
        return float(0.5 * x[:d] @ x[:d] + tuner.C / n * x[d:].sum())

    def slope(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:d], np.full(n, tuner.C / n)])

    start = np.concatenate([np.zeros(d), np.full(n, bound.max())])
    found = minimize(
        value,
        start,
        jac=slope,
        method="SLSQP",
        constraints=LinearConstraint(rows, bound, np.inf),
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    return found.x[:d], float(found.fun)


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_it_finds_the_optimum(C: float) -> None:
    pool, weights = toy_pool(sentences=8, size=5)
    tuner = Svm(C=C, gap=1e-7, epochs=5000)
    wanted, value = programme(tuner, pool, weights)
    found = tuner.optimize(pool, weights, toy_task())
    assert found.notes["reached"]
    assert found.notes["primal"] == pytest.approx(value, rel=1e-5)
    vector = pool.candidates.vector(found.weights)  # type: ignore[union-attr]
    np.testing.assert_allclose(vector, wanted, atol=2e-3)


def test_duality_gap_meets_the_tolerance_and_bounds_the_optimum() -> None:
    pool, weights = toy_pool(sentences=8, size=5)
    best = Svm(gap=1e-6, epochs=5000).optimize(pool, weights, toy_task()).notes["primal"]
    notes = Svm(gap=0.05).optimize(pool, weights, toy_task()).notes
    assert notes["reached"]
    assert notes["gap"] <= 0.05 * notes["primal"]
    assert notes["dual"] <= best * (1 + 1e-6)
    assert best <= notes["primal"] * (1 + 1e-6)


def test_too_few_passes_are_reported() -> None:
    pool, weights = toy_pool()
    notes = Svm(gap=1e-6, epochs=1).optimize(pool, weights, toy_task()).notes
    assert not notes["reached"]
    assert notes["gap"] > 1e-6 * notes["primal"]


@pytest.mark.parametrize("sparse", [5, 300])
def test_sparse_and_dense_columns_give_the_same(sparse: int) -> None:
    pool, weights = toy_pool(sparse=sparse)
    tuner = Svm(gap=1e-5, epochs=2000)
    one = tuner.optimize(pool, weights, toy_task())
    other = tuner.optimize(densified(pool), weights, toy_task())
    assert one.notes["primal"] == pytest.approx(other.notes["primal"], rel=1e-4)
    assert one.objective == pytest.approx(other.objective, abs=0.01)


def test_fixed_features_count_in_scores_and_stay() -> None:
    pool, weights = toy_pool()
    fixed = frozenset([int(pool.candidates.features.ids[0])])  # type: ignore[union-attr]
    weights["d0"] = 2.0
    found = Svm().optimize(pool, weights, toy_task(fixed=fixed))
    assert found.weights["d0"] == 2.0
    weights["d0"] = -2.0
    other = Svm().optimize(pool, weights, toy_task(fixed=fixed))
    assert other.notes["primal"] > found.notes["primal"]


def test_it_improves_in_one_round_and_in_three() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    start = problem.corpus_score(problem.start)
    assert Svm().optimize(pool, weights, toy_task()).objective > start + 0.05
    assert Svm(rounds=3).optimize(pool, weights, toy_task()).objective > start + 0.05


def test_weights_stay_without_candidates() -> None:
    pool, weights = toy_pool(sentences=2, empty=True)
    assert pool.candidates is not None
    from dataclasses import replace

    none = replace(
        pool.candidates,
        begin=np.zeros(3, np.int64),
        features=replace(pool.candidates.features, dense=np.zeros((0, 4), np.float32)),
        statistics=np.zeros((0, 9), np.int32),
    )
    found = Svm().optimize(Pool(metric=pool.metric, candidates=none), weights, toy_task())
    assert dict(found.weights.items()) == dict(weights.items())
