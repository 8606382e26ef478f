"""The arrays that batch tuners on k-best pools share."""

from __future__ import annotations

import numpy as np
import pytest
from tune_toy import densified, toy_pool, toy_task

from hopefear.base.errors import OptionError
from hopefear.learn.batch import problem as problem_module
from hopefear.learn.batch.problem import Matrix, Problem
from hopefear.learn.tuner import Pool
from hopefear.metrics import create


def test_products_equal_those_of_the_whole_matrix() -> None:
    pool, weights = toy_pool(sparse=7)
    sparse = Problem(pool, weights, toy_task()).matrix
    dense = Problem(densified(pool), weights, toy_task()).matrix.dense
    random = np.random.default_rng(1)
    right, left = random.normal(size=11), random.normal(size=len(dense))
    assert sparse.shape == dense.shape
    np.testing.assert_allclose(sparse.dot(right), dense @ right)
    np.testing.assert_allclose(sparse.adjoint(left), left @ dense)
    first, second = np.array([3, 0]), np.array([1, 5])
    np.testing.assert_allclose(
        Matrix.of_differences(pool.candidates.features, first, second).dot(right),  # type: ignore[union-attr]
        (dense[first] - dense[second]) @ right,
    )


def test_a_large_table_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, weights = toy_pool(sparse=7)
    vector = np.random.default_rng(1).normal(size=11)
    small = Problem(pool, weights, toy_task())
    wanted = small.matrix.dot(vector), small.gains, small.blocks()[0].dot(vector)
    monkeypatch.setattr(problem_module, "_MOST_IN_DOUBLE", 10)
    monkeypatch.setattr(problem_module, "_ROWS_AT_ONCE", 7)
    large = Problem(pool, weights, toy_task())
    assert large.matrix.dense is pool.candidates.features.dense  # type: ignore[union-attr]
    np.testing.assert_allclose(large.matrix.dot(vector), wanted[0])
    np.testing.assert_array_equal(large.gains, wanted[1])
    np.testing.assert_allclose(large.blocks()[0].dot(vector), wanted[2])


@pytest.mark.parametrize("sparse", [0, 5, 400])
def test_blocks_are_the_groups_of_the_matrix(sparse: int) -> None:
    pool, weights = toy_pool(sparse=sparse, empty=True)
    fixed = frozenset([int(pool.candidates.features.ids[1])])  # type: ignore[union-attr]
    problem = Problem(pool, weights, toy_task(fixed=fixed))
    vector = np.random.default_rng(1).normal(size=problem.matrix.shape[1])
    blocks = problem.blocks()
    assert len(blocks) == problem.groups == 29
    scores = problem.matrix.dot(vector)
    np.testing.assert_allclose(np.concatenate([b.dot(vector) for b in blocks]), scores)
    here = blocks[3].difference(1, 0)
    assert here[1] == 0.0
    begin = problem.begin[3]
    free = np.where(problem.free, vector, 0.0)
    of_free = problem.matrix.dot(free)
    assert here @ vector[blocks[3].columns] == pytest.approx(of_free[begin + 1] - of_free[begin])


def test_gains_of_bleu_are_those_of_bleu_plus_one() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    rows = pool.candidates.statistics
    problem = Problem(pool, weights, toy_task())
    np.testing.assert_array_equal(problem.gains, create("bleu+1").sentence_scores(rows))
    smooth = Problem(pool, weights, toy_task(), smooth_brevity=True)
    wanted = create("bleu+1", {"smooth_brevity": True}).sentence_scores(rows)
    np.testing.assert_array_equal(smooth.gains, wanted)
    assert (smooth.gains <= problem.gains).all()
    assert (smooth.gains < problem.gains).any()


def test_metric_without_brevity_penalty_has_nothing_to_smooth() -> None:
    pool, weights = toy_pool()
    other = Pool(metric=create("linear-ngram"), candidates=pool.candidates)
    with pytest.raises(OptionError, match="no brevity penalty"):
        Problem(other, weights, toy_task(), smooth_brevity=True)


def test_fixed_and_unknown_weights_stay() -> None:
    pool, weights = toy_pool()
    weights["elsewhere"] = 3.0
    fixed = frozenset([int(pool.candidates.features.ids[0])])  # type: ignore[union-attr]
    problem = Problem(pool, weights, toy_task(fixed=fixed))
    found = problem.weights(np.array([9.0, 1.0, 0.0, -1.0]))
    wanted = {"d0": 0.2, "d1": 1.0, "d2": 0.0, "d3": -1.0, "elsewhere": 3.0}
    assert dict(found.items()) == pytest.approx(wanted)
    assert weights["d1"] == pytest.approx(0.2)


def test_norm_is_restored_only_if_the_scale_is_free() -> None:
    pool, weights = toy_pool()
    assert pool.candidates is not None
    vector = np.array([0.2, 3.0, 0.0, 0.0])
    fixed = toy_task(fixed=frozenset([int(pool.candidates.features.ids[0])]))
    np.testing.assert_array_equal(Problem(pool, weights, fixed).as_long_as_before(vector), vector)
    pool.candidates.features.dense[:, 0] = 5.0  # the same for all: no scale
    found = Problem(pool, weights, fixed).as_long_as_before(vector)
    np.testing.assert_allclose(found, [0.2, 0.2 * np.sqrt(3), 0, 0], rtol=1e-6)
    weights["d0"] = 0.0
    assert Problem(pool, weights, fixed).scale_is_free
