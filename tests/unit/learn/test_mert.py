"""MERT: the line search against brute force, and the search over lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hopefear._engine import LineSearch
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.base.weights import Weights
from hopefear.learn.batch.mert import NARROW, Line, Mert, best_interval
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import Optimized, Pool, Task
from hopefear.metrics import create
from hopefear.metrics.given import GivenScore

pytestmark = pytest.mark.engine

BLEU = create("bleu")


@st.composite
def problems(draw: st.DrawFn) -> tuple[Candidates, Any, Any]:
    """Small pools with many ties, weights, and a direction."""
    seed = draw(st.integers(0, 2**32 - 1))
    coarse = draw(st.booleans())
    sizes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    random = np.random.default_rng(seed)
    rows, columns = sum(sizes), 3
    values = random.integers(-3, 4, (rows, columns)) if coarse else random.normal(size=(rows, 3))
    counts = np.zeros((rows, 9), np.int64)
    for n in range(4):
        counts[:, 2 * n + 1] = 12 - n
        counts[:, 2 * n] = random.integers(0, 13 - n, rows)
    counts[:, 8] = random.integers(8, 15, rows)
    made = from_arrays(np.repeat(np.arange(len(sizes)), sizes), values, counts, ["a", "b", "c"])
    weights = random.integers(-2, 3, columns) if coarse else random.normal(size=columns)
    direction = random.normal(size=columns)
    if coarse:
        direction = np.eye(columns)[random.integers(columns)] * random.choice([-1, 1])
    return made, weights.astype(np.float64), direction.astype(np.float64)


def search_of(candidates: Candidates) -> LineSearch:
    dense = candidates.features.dense
    return LineSearch(candidates.begin, dense, np.arange(dense.shape[1]), candidates.statistics)


def all_crossings(candidates: Candidates, scores: Any, slopes: Any) -> Any:
    """Where any two lines of a group meet."""
    found = []
    for first, last in pairwise(candidates.begin.tolist()):
        s, b = scores[first:last], slopes[first:last]
        for i in range(len(s)):
            for j in range(i):
                if b[i] != b[j]:
                    found.append((s[j] - s[i]) / (b[i] - b[j]))
    return np.unique(found)


def brute_force(candidates: Candidates, scores: Any, slopes: Any) -> tuple[Any, Any]:
    """Between any two neighbouring crossings: a place, and the corpus statistics there."""
    crossings = all_crossings(candidates, scores, slopes)
    edges = np.concatenate([[-np.inf], crossings, [np.inf]])
    places = []
    for low, high in pairwise(edges.tolist()):
        if np.isinf(low) and np.isinf(high):
            places.append(0.0)
        elif np.isinf(low):
            places.append(high - 1.0)
        elif np.isinf(high):
            places.append(low + 1.0)
        elif high - low > 1e-6:
            places.append((low + high) / 2)
    sums = [candidates.total(candidates.best(scores + x * slopes)) for x in places]
    return np.array(places), np.array(sums).reshape(len(places), -1)


@given(problems())
@settings(max_examples=150)
def test_intervals_have_the_statistics_of_brute_force(problem: tuple[Candidates, Any, Any]) -> None:
    candidates, weights, direction = problem
    search = search_of(candidates)
    scores = search.scores(np.zeros(candidates.rows), weights)
    slopes = search.slopes(direction)
    corners, sums = search.intervals(scores, -1, slopes)
    sums = sums.reshape(len(corners) + 1, -1)
    assert (np.diff(corners) >= 0).all()
    places, expected = brute_force(candidates, scores, slopes)
    assert (sums[np.searchsorted(corners, places)] == expected).all()


@given(problems(), st.integers(0, 2))
@settings(max_examples=150)
def test_best_point_has_the_largest_gain(problem: tuple[Candidates, Any, Any], column: int) -> None:
    candidates, weights, _ = problem
    search = search_of(candidates)
    scores = search.scores(np.zeros(candidates.rows), weights)
    slopes = search.slopes(np.eye(3)[column])
    x, reached, here = search.best_bleu(scores, column, slopes, 4, 1.0, 1e-6, 0.1)
    _, sums = brute_force(candidates, scores, slopes)
    gains = BLEU.score(sums)
    assert reached == pytest.approx(max(float(gains.max()), here), abs=1e-12)
    assert here <= reached + 1e-15
    if reached > here + 1e-12:
        there = BLEU.score(candidates.total(candidates.best(scores + x * slopes)))
        assert float(there) == pytest.approx(reached, abs=1e-12)
    else:
        assert x == 0.0
    # Along a column and along its slopes, in the engine and for metrics in general: all the same.
    # Rounding decides between places with equal scores.
    along = search.best_bleu(scores, -1, slopes, 4, 1.0, 1e-6, 0.1)
    corners, flat = search.intervals(scores, column, slopes)
    general = best_interval(corners, BLEU.score(flat.reshape(-1, 9)), 1e-6, 0.1)
    for other in (along, general):
        assert other[1:] == pytest.approx((reached, here), abs=1e-9)
        if reached > here + 1e-12:
            there = BLEU.score(candidates.total(candidates.best(scores + other[0] * slopes)))
            assert float(there) == pytest.approx(reached, abs=1e-9)


@pytest.mark.parametrize(
    ("corners", "gains", "expected"),
    [
        ([], [0.5], (0.0, 0.5, 0.5)),
        ([1.0], [0.5, 0.7], (1.1, 0.7, 0.5)),
        ([-1.0], [0.7, 0.5], (-1.1, 0.7, 0.5)),
        ([1.0, 1.1], [0.5, 0.7, 0.6], (1.05, 0.7, 0.5)),
        ([1.0, 9.0], [0.5, 0.7, 0.6], (1.1, 0.7, 0.5)),  # not in the middle of nowhere
        ([-9.0, -1.0], [0.5, 0.7, 0.6], (-1.1, 0.7, 0.6)),
        ([1.0, 1.0 + 1e-9], [0.5, 0.9, 0.5], (0.0, 0.5, 0.5)),  # too narrow
        ([1.0, 2.0, 3.0], [0.5, 0.7, 0.5, 0.7], (1.1, 0.7, 0.5)),  # the first of equals
        ([1.0, 2.0], [0.7, 0.7, 0.5], (0.0, 0.7, 0.7)),  # no move without a gain
        ([0.0], [0.5, 0.7], (0.1, 0.7, -np.inf)),  # away from a corner, also if it looks as good
        ([0.0], [0.7, 0.5], (-0.1, 0.7, -np.inf)),
        ([-1.0, 1e-9], [0.5, 0.7, 0.6], (-0.1, 0.7, -np.inf)),
    ],
)
def test_choice_of_the_interval(
    corners: list[float], gains: list[float], expected: tuple[float, float, float]
) -> None:
    found = best_interval(np.array(corners), np.array(gains), NARROW, 0.1)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("start", [{}, {"a": 1.0}])
def test_score_right_of_a_tie_is_reached_by_a_move(start: dict[str, float]) -> None:
    """Every line begins on a corner: what is right of it is not yet reached."""
    counts = np.tile(np.arange(12, 3, -1), (4, 1))
    counts[[0, 2], 6] = 1  # the first of each group is bad
    made = from_arrays([0, 0, 1, 1], [[1, 0], [1, 1], [2, 0], [2, 2]], counts, ["a", "b"])
    found = Mert().optimize(
        Pool(metric=BLEU, candidates=made),
        Weights(start),
        Task(random=np.random.default_rng(1)),
    )
    vector = made.vector(found.weights)
    assert made.best(made.scores(vector)).tolist() == [1, 3]
    assert found.objective == made.corpus_score(BLEU, vector)


def test_large_scores_do_not_hide_gains() -> None:
    scores = np.array([1e30, -1.0, 1e30, 3e30])
    metric = GivenScore.of(scores)
    made = from_arrays([0, 0, 1, 1], [[0, 1], [1, 0], [0, 1], [0, 2]], metric.rows(scores), "ab")
    found = Mert().optimize(
        Pool(metric=metric, candidates=made), Weights(), Task(random=np.random.default_rng(1))
    )
    assert found.objective == pytest.approx(2e30)


def test_first_row_wins_for_equal_lines() -> None:
    counts = np.zeros((3, 9), int)
    counts[:, 0] = [1, 2, 3]
    made = from_arrays([0, 0, 0], [[1.0], [1.0], [0.0]], counts, ["x"])
    corners, sums = search_of(made).intervals(np.zeros(3), 0, np.zeros(3))
    assert corners.tolist() == [0.0]
    assert sums.reshape(2, 9)[:, 0].tolist() == [3, 1]
    same = search_of(made).intervals(np.zeros(3), -1, np.array([1.0, 1.0, 0.0]))
    assert same[1].tolist() == sums.tolist()


def test_engine_bleu_equals_the_metric() -> None:
    """Also where an order has no match, and with reference lengths that are no whole numbers."""
    random = np.random.default_rng(5)
    for options in ({}, {"reference_length": "average"}, {"order": 2}):
        metric = create("bleu", options)
        width = len(metric.columns)
        counts = random.integers(0, 3, (40, width))
        counts[:, 1::2] = random.integers(0, 5, counts[:, 1::2].shape)
        counts[:, -1] = random.integers(1, 9, 40) * metric.length_unit  # type: ignore[attr-defined]
        for row in range(40):
            one = from_arrays([0], [[1.0]], counts[row : row + 1], ["x"])
            line = Line(metric, search_of(one))
            assert line._bleu is not None
            found = line.best(np.zeros(1), 1.0, column=0)
            expected = float(metric.score(counts[row]))
            assert found == pytest.approx((0.0, expected, expected), rel=1e-12)


def toy(rows: int = 200) -> Candidates:
    random = np.random.default_rng(2)
    values = random.normal(size=(rows, 3))
    counts = np.zeros((rows, 9), int)
    for n in range(4):
        counts[:, 2 * n + 1] = 20 - n
        counts[:, 2 * n] = np.clip(10 + 3 * (values[:, 0] - values[:, 1]), 1, 20 - n)
    counts[:, 8] = 20
    return from_arrays(np.arange(rows) // 10, values, counts, ["a", "b", "c"])


def test_weights_have_norm_1_without_fixed_features() -> None:
    pool = Pool(metric=BLEU, candidates=toy())
    start = Weights({"a": 1.0, "b": 2.0, "c": 1.0, "elsewhere": 8.0})
    found = Mert(restarts=2).optimize(pool, start, Task(random=np.random.default_rng(1)))
    assert sum(abs(found.weights[name]) for name in "abc") == pytest.approx(1.0, abs=1e-6)
    assert found.weights["elsewhere"] == pytest.approx(2.0)  # as the others were scaled
    fixed = frozenset([start._id("c")])
    found = Mert(restarts=2).optimize(
        pool, start, Task(random=np.random.default_rng(1), fixed=fixed)
    )
    assert found.weights["c"] == 1.0
    assert found.weights["elsewhere"] == 8.0


def test_sparse_features_are_a_constant_part() -> None:
    from scipy.sparse import csr_array

    old = toy()
    table = old.features
    sparse = csr_array(np.random.default_rng(3).normal(size=(200, 2)).astype(np.float32))
    names = ["a", "b", "c", "s", "t"]
    made = from_arrays(np.arange(200) // 10, table.dense, old.statistics, names, sparse=sparse)
    start = Weights({"a": 0.1, "s": 0.5, "t": -0.25})
    pool = Pool(metric=BLEU, candidates=made)
    found = Mert(restarts=3).optimize(pool, start, Task(random=np.random.default_rng(1)))
    assert found.weights["s"] == 0.5
    assert found.weights["t"] == -0.25
    assert found.objective > found.notes["before"]
    assert found.objective == pytest.approx(
        made.corpus_score(BLEU, made.vector(found.weights)), abs=1e-12
    )
    assert found.notes["sparse_features"] == 2


def test_progress_counts_pieces_of_work() -> None:
    seen: list[int] = []
    task = Task(random=np.random.default_rng(1), progress=seen.append)
    Mert(restarts=3, kept=2).optimize(Pool(metric=BLEU, candidates=toy()), Weights(), task)
    assert seen == [1, 2, 3, 4, 5, 6]


def narrow(width: float = 0.1, gap: float = 0.0) -> tuple[Candidates, Weights]:
    """One sentence whose better candidates need ever larger weights of `b`, up to 20 times `a`."""
    features, statistics = [], []
    for step in range(21):
        features.append([width * -(step**2) - gap * (step > 0), float(step)])
        matched = step if step < 20 else 19
        statistics.append([matched, 20, matched, 19, matched, 18, matched, 17, 20])
    made = from_arrays(
        np.zeros(21, np.int32), np.array(features, np.float32), np.array(statistics), ["a", "b"]
    )
    return made, Weights({"a": 0.9, "b": 0.1})


def distance(one: Weights, two: Weights) -> float:
    def scaled(weights: Weights) -> dict[str, float]:
        return {name: value / weights.norm(1) for name, value in weights.items()}

    before, after = scaled(one), scaled(two)
    return sum(abs(before[name] - after[name]) for name in before)


def test_a_step_is_bounded_if_a_decoder_uses_the_result() -> None:
    candidates, start = narrow()
    pool = Pool(metric=BLEU, candidates=candidates)

    def found(searching: bool, **options: Any) -> Optimized:
        task = Task(random=np.random.default_rng(1), searching=searching)
        return Mert(restarts=4, **options).optimize(pool, start, task)

    free, bounded = found(False), found(True)
    assert distance(start, free.weights) > 0.5
    assert distance(start, bounded.weights) <= 0.3 + 1e-6
    assert free.notes["before"] < bounded.objective < free.objective
    farther = found(True, max_step=0.6)
    assert 0.3 < distance(start, farther.weights) <= 0.6 + 1e-6
    assert bounded.objective < farther.objective < free.objective
    unbounded = found(True, max_step=2.0)
    assert dict(unbounded.weights.items()) == dict(free.weights.items())


def test_a_step_is_longer_if_no_short_one_gains() -> None:
    candidates, start = narrow(gap=2.0)
    pool = Pool(metric=BLEU, candidates=candidates)
    task = Task(random=np.random.default_rng(1), searching=True)
    found = Mert(restarts=4, max_step=0.01).optimize(pool, start, task)
    assert found.objective > found.notes["before"]
    assert 0.01 < distance(start, found.weights) < 2


def test_good_weights_are_not_left_for_little() -> None:
    candidates, start = narrow(gap=2.0)
    flat = candidates.statistics.copy()
    flat[:, :-1] = flat[0, :-1] + 20
    flat[:, [1, 3, 5, 7]] = [200, 199, 198, 197]
    flat[1:, 0] += 1  # gains that are tiny, and far away
    made = from_arrays(np.zeros(21, np.int32), candidates.features.dense, flat, ["a", "b"])
    pool = Pool(metric=BLEU, candidates=made)

    def found(max_step: float) -> Optimized:
        task = Task(random=np.random.default_rng(1), searching=True)
        return Mert(restarts=4, max_step=max_step).optimize(pool, start, task)

    far = found(2.0)
    assert 0 < far.objective - far.notes["before"] < 0.01
    near = found(0.01)
    assert near.objective == near.notes["before"]
    assert distance(start, near.weights) == 0
