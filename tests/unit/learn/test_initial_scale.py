"""The scale of initial weights: spreads of scores and gains, and fixed weights."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.batch.batch_mira import BatchMira
from hopefear.learn.batch.initial_scale import stretched
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create

pytestmark = pytest.mark.engine
START = {"a": 0.01, "b": -0.02, "c": 0.0, "elsewhere": 3.0}


def ids(*names: str) -> frozenset[int]:
    return frozenset(FeatureNames().intern(name) for name in names)


def task(*fixed: str, iteration: int = 0, searching: bool = True) -> Task:
    return Task(
        np.random.default_rng(1), fixed=ids(*fixed), iteration=iteration, searching=searching
    )


def candidates() -> Candidates:
    """Groups of 0 and more rows; the feature d is constant in each."""
    random = np.random.default_rng(8)
    numbers = np.repeat([0, 1, 3], [7, 1, 12])
    edits = random.integers(0, 9, (20, 1)) * [1, 0] + [0, 20 * 840]
    features = np.column_stack([random.normal(size=(20, 3)), numbers])
    return from_arrays(numbers, features, edits, ["a", "b", "c", "d"])


def test_spread_is_within_groups() -> None:
    made = candidates()
    values = np.random.default_rng(2).normal(size=20)
    parts = np.split(values, [7, 8])
    squares = np.concatenate([(part - part.mean()) ** 2 for part in parts])
    assert made.spread(values) == pytest.approx(np.sqrt(squares.mean()))
    assert made.spread(np.repeat([5.0, 1.0, 2.0], [7, 1, 12])) == 0
    assert made.part([]).spread(np.zeros(0)) == 0


@pytest.mark.parametrize("times", [0.5, 3.0])
def test_scale_is_the_ratio_of_score_and_gain_spreads(times: float) -> None:
    pool = Pool(create("ter"), candidates=candidates())
    assert pool.candidates is not None
    longer, factor = stretched(pool, Weights(START), task("d"), times, 100.0, 10.0)
    gains = 10 * pool.metric.sentence_scores(pool.candidates.statistics)
    scores = pool.candidates.scores(pool.candidates.vector(longer))
    assert pool.candidates.spread(scores) == pytest.approx(times * pool.candidates.spread(gains))
    for name, value in START.items():  # those too that no candidate has
        assert longer[name] == pytest.approx(factor * value)


def test_fixed_weights_stay() -> None:
    pool = Pool(create("ter"), candidates=candidates())
    start = Weights({**START, "d": -100.0})
    longer, factor = stretched(pool, start, task("d", "unknown"), 4.0, 100.0, 10.0)
    assert factor > 10
    assert longer["d"] == -100
    assert "unknown" not in longer
    # A fixed weight that tells candidates apart gives the length.
    same, factor = stretched(pool, start, task("a", "d"), 4.0, 100.0, 10.0)
    assert (factor, same.vector()) == (1.0, start.vector())


def test_scale_is_limited_by_the_reach_of_steps() -> None:
    pool = Pool(create("ter"), candidates=candidates())
    made = pool.candidates
    assert made is not None
    start = Weights({"a": 0.3, "b": 0.4, "d": 7.0})
    longer, factor = stretched(pool, start, task("d"), 1e6, 1.0, 10.0)
    squares = [made.spread(made.features.dense[:, column]) ** 2 for column in range(3)]
    assert np.hypot(longer["a"], longer["b"]) == pytest.approx(1.5 * np.sqrt(2 * sum(squares)))
    assert factor > 1
    assert stretched(pool, start, task("d"), 1e6, 1e-9, 10.0)[1] == 1


def test_scale_of_zero_weights_is_unchanged() -> None:
    pool = Pool(create("ter"), candidates=candidates())
    for weights in (Weights(), Weights({"d": 1.0})):
        assert stretched(pool, weights, task(), 4.0, 100.0, 10.0)[1] == 1


def test_scale_is_chosen_only_at_the_start_with_a_decoder() -> None:
    pool = Pool(create("ter"), candidates=candidates())
    cases = (
        (BatchMira(), task(), True),
        (BatchMira(), task(iteration=1), False),
        (BatchMira(), task(searching=False), False),
        (BatchMira(stretch=0), task(), False),
    )
    for tuner, given, wanted in cases:
        notes = tuner.optimize(pool, Weights(START), given).notes
        assert ("stretched" in notes) == wanted


def test_tuner_leaves_bad_start_weights() -> None:
    rows = np.tile([[0, 20 * 840], [10, 20 * 840]], (10, 1))
    made = from_arrays(np.arange(20) // 2, np.tile([[-1.0], [1.0]], (10, 1)), rows, ["a"])
    pool = Pool(create("ter"), candidates=made)
    # Model scores so far apart that hope and fear are both the model's best.
    found = BatchMira(stretch=1000, C=100).optimize(pool, Weights({"a": 1.0}), task())
    assert found.weights["a"] < 0
    assert "stretched" not in found.notes
