"""PRO: sampled pairs, the objective, and interpolation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from tune_toy import densified, toy_pool, toy_task

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.learn.batch.pro import Pro
from hopefear.learn.batch.problem import Matrix, Problem
from hopefear.learn.pool.candidates import from_arrays
from hopefear.learn.tuner import Pool
from hopefear.metrics import create


def test_pairs_share_a_group_and_differ_enough() -> None:
    pool, weights = toy_pool(empty=True)
    problem = Problem(pool, weights, toy_task())
    pairs = Pro(samples=200, kept=10).sample(problem, np.random.default_rng(1))
    groups = np.searchsorted(problem.begin, pairs.better, side="right")
    np.testing.assert_array_equal(groups, np.searchsorted(problem.begin, pairs.worse, side="right"))
    assert (problem.gains[pairs.better] - problem.gains[pairs.worse] >= 0.05).all()
    assert np.bincount(groups).max() == 10


def test_the_most_different_pairs_are_kept() -> None:
    pool, weights = toy_pool(sentences=1, size=12)
    problem = Problem(pool, weights, toy_task())
    every = Pro(samples=300, kept=300).sample(problem, np.random.default_rng(1))
    some = Pro(samples=300, kept=20).sample(problem, np.random.default_rng(1))
    any_20 = Pro(samples=300, kept=20, accept="random").sample(problem, np.random.default_rng(1))

    def sizes(pairs: object) -> list[float]:
        return sorted(problem.gains[pairs.better] - problem.gains[pairs.worse])  # type: ignore[attr-defined]

    assert sizes(some) == pytest.approx(sizes(every)[-20:])
    assert len(any_20.better) == 20
    assert sizes(any_20) != pytest.approx(sizes(some))


def test_bins_share_the_samples_of_their_sentence() -> None:
    sizes, sentences = [40, 0, 40, 30, 20], [0, 0, 0, 0, 1]
    counts = np.random.default_rng(2).integers(1, 9, (sum(sizes), 9))
    made = from_arrays(
        np.repeat(sentences, sizes),
        counts[:, :1].astype(np.float32),
        counts,
        ["a"],
        bins=np.repeat([1, 2, 3, 4, 2], sizes),
    )
    problem = Problem(Pool(create("bleu"), candidates=made), Weights(), toy_task())
    assert Pro(samples=300, kept=50).shares(problem).tolist() == [100, 100, 100, 300]
    assert Pro(samples=120, kept=50).shares(problem).tolist() == [50, 50, 50, 120]
    assert Pro(samples=30, kept=50).shares(problem).tolist() == [30, 30, 30, 30]
    every = Pro(samples=300, kept=100, threshold=0).sample(problem, np.random.default_rng(1))
    groups = np.searchsorted(problem.begin, every.better, side="right")
    np.testing.assert_array_equal(groups, np.searchsorted(problem.begin, every.worse, side="right"))
    kept = np.bincount(groups)[1:]
    assert kept[3] == 100  # of 300; of the others, those of equal gains are missing
    assert ((kept[:3] > 80) & (kept[:3] < 100)).all()


def test_length_cutoff_of_nakov() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    pool.candidates.statistics[::3, 1] += 6  # every third is longer
    problem = Problem(pool, weights, toy_task())
    close = Pro(samples=300, max_difference=0.1).sample(problem, np.random.default_rng(1))
    difference = problem.gains[close.better] - problem.gains[close.worse]
    assert len(difference) > 0
    assert difference.max() <= 0.1
    alike = Pro(samples=300, max_length_difference=5).sample(problem, np.random.default_rng(1))
    lengths = pool.candidates.statistics[:, 1]
    assert len(alike.better) > 0
    np.testing.assert_array_equal(lengths[alike.better], lengths[alike.worse])


def test_length_cutoff_needs_a_metric_that_counts_words() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    ter = create("ter")
    rows = pool.candidates.statistics[:, : len(ter.columns)]
    other = Pool(metric=ter, candidates=_with_statistics(pool, rows))
    with pytest.raises(OptionError, match="does not count words"):
        Pro(max_length_difference=3).optimize(other, weights, toy_task())


def test_the_gradient_is_that_of_the_loss() -> None:
    pool, weights = toy_pool(sparse=6)
    problem = Problem(pool, weights, toy_task())
    pairs = Pro(samples=50).sample(problem, np.random.default_rng(1))
    examples = Matrix.of_differences(problem.candidates.features, *pairs)
    tuner, at = Pro(precision=0.7), np.random.default_rng(2).normal(size=10)
    error = check_grad(
        lambda w: tuner.loss(w, examples, problem.free)[0],
        lambda w: tuner.loss(w, examples, problem.free)[1],
        at,
    )
    assert error < 1e-4 * np.linalg.norm(tuner.loss(at, examples, problem.free)[1])


def test_the_classifier_is_logistic_regression_on_both_signs() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    tuner = Pro(samples=100, kept=20)
    pairs = tuner.sample(problem, np.random.default_rng(1))
    examples = Matrix.of_differences(problem.candidates.features, *pairs)
    x = np.vstack([examples.dense, -examples.dense])
    y = np.repeat([1.0, -1.0], len(examples.dense))

    def plain(w: np.ndarray) -> float:
        return float(np.log1p(np.exp(-y * (x @ w))).sum() + 0.5 * w @ w)

    wanted = minimize(plain, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
    np.testing.assert_allclose(tuner.classify(examples, problem)[0], wanted, rtol=1e-2)


def test_sparse_and_dense_columns_give_the_same() -> None:
    pool, weights = toy_pool(sparse=20)
    one = Pro().optimize(pool, weights, toy_task())
    other = Pro().optimize(densified(pool), weights, toy_task())
    assert dict(one.weights.items()) == pytest.approx(dict(other.weights.items()), rel=1e-3)


def test_it_mixes_with_the_last_weights_at_their_length() -> None:
    pool, weights = toy_pool()
    alone = Pro().optimize(pool, weights, toy_task()).weights  # nobody decodes with them
    assert alone.norm() == pytest.approx(weights.norm())
    for more in ({"iteration": 1}, {"searching": True}, {"iteration": 1, "searching": True}):
        found = Pro().optimize(pool, weights, toy_task(**more)).weights
        for feature, value in weights.items():
            assert found[feature] == pytest.approx(0.1 * alone[feature] + 0.9 * value, rel=1e-4)


def test_fixed_features_stay_and_give_the_scale() -> None:
    pool, weights = toy_pool()
    fixed = frozenset([int(pool.candidates.features.ids[0])])  # type: ignore[union-attr]
    found = Pro().optimize(pool, weights, toy_task(fixed=fixed)).weights
    assert found["d0"] == weights["d0"]
    assert found["d3"] < -0.5  # as logistic regression has it, not as short as before


def test_it_improves_and_reports_the_number_of_pairs() -> None:
    pool, weights = toy_pool()
    problem = Problem(pool, weights, toy_task())
    found = Pro().optimize(pool, weights, toy_task())
    assert found.objective > problem.corpus_score(problem.start) + 0.05
    assert found.notes["pairs"] > 100
    assert found.notes["accuracy"] > 0.9


def test_weights_stay_without_pairs() -> None:
    pool, weights = toy_pool()
    found = Pro(threshold=2.0).optimize(pool, weights, toy_task())
    assert dict(found.weights.items()) == dict(weights.items())
    assert found.notes["pairs"] == 0


def _with_statistics(pool: Pool, rows: np.ndarray) -> object:
    from dataclasses import replace

    return replace(pool.candidates, statistics=rows)  # type: ignore[type-var]
