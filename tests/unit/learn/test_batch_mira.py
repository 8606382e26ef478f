"""Batch MIRA against a plain Python version of the paper's loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from hopefear.base.weights import Weights
from hopefear.learn.batch.batch_mira import BatchMira
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create

pytestmark = pytest.mark.engine


def make(sparse: bool, offset: float = 0.0) -> Candidates:
    random = np.random.default_rng(8)
    rows = 120
    counts = np.zeros((rows, 9), int)
    for n in range(4):
        counts[:, 2 * n + 1] = random.integers(8 - n, 14 - n, rows)
        counts[:, 2 * n] = random.integers(0, 8 - n, rows)
    counts[:, 8] = random.integers(8, 14, rows)
    dense = random.normal(size=(rows, 3))
    dense[:, 0] += offset
    more = None
    if sparse:
        more = csr_array(
            (random.normal(size=(rows, 6)) * (random.random((rows, 6)) < 0.3)).astype(np.float32)
        )
    names = ["a", "b", "c", *(f"s{i}" for i in range(6 if sparse else 0))]
    return from_arrays(np.arange(rows) // 12, dense, counts, names, sparse=more)


def plain(
    candidates: Candidates, weights: Any, orders: list[Any], tuner: BatchMira, moves: Any
) -> tuple[Any, Any]:
    """Cherry & Foster 2012, written as it reads: the weights, and the average after each pass."""
    features = np.array([candidates.features.row(r) for r in range(candidates.rows)])
    counts = candidates.statistics.astype(np.float64)
    background = np.ones(9)
    w, history, averages = weights.copy(), [], []

    def gain(row: int) -> float:
        s = counts[row] + background
        mean = sum(math.log(s[2 * n] / s[2 * n + 1]) for n in range(4)) / 4
        return math.exp(mean + min(0.0, 1 - s[8] / s[1])) * float(s[8])

    for order in orders:
        for group in order:
            rows = range(candidates.begin[group], candidates.begin[group + 1])
            B = {r: gain(r) for r in rows}
            score = {r: float(w @ features[r]) for r in rows}
            hope = max(rows, key=lambda r: score[r] + B[r])
            if tuner.safe_hope and abs(score[hope]) > 5 * B[hope]:
                factor = 5 * B[hope] / abs(score[hope])
                hope = max(rows, key=lambda r: factor * score[r] + B[r])
            fear = max(rows, key=lambda r: score[r] - B[r])
            best = max(rows, key=lambda r: score[r])
            if hope == fear or B[hope] <= B[fear]:
                continue
            d = (features[hope] - features[fear]) * moves
            loss = B[hope] - B[fear] - (score[hope] - score[fear])
            if loss > 0:
                w = w + min(tuner.C, loss / float(d @ d)) * d
                history.append(w)
            chosen = hope if tuner.background == "hope" else best
            background = tuner.decay * background + counts[chosen]
        averages.append(np.mean(history, axis=0) if history else w)
    return w, averages


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("options", "offset"),
    [
        ({}, 0.0),
        ({"C": 0.5, "decay": 0.9}, 0.0),
        ({"background": "model"}, 0.0),
        ({"safe_hope": True, "C": 0.05}, 300.0),  # scores so large that it matters
    ],
)
def test_steps_follow_the_paper(sparse: bool, options: dict[str, Any], offset: float) -> None:
    candidates = make(sparse, offset)
    tuner = BatchMira(**options)
    random = np.random.default_rng(1)
    start = random.normal(size=len(candidates.features.ids))
    orders = [random.permutation(candidates.groups).astype(np.int32) for _ in range(4)]
    fixed = np.zeros(len(start), dtype=bool)
    fixed[1] = True
    mira = tuner._engine(create("bleu"), candidates, start, fixed)
    expected, averages = plain(candidates, start, orders, tuner, ~fixed)
    for order, average in zip(orders, averages, strict=True):
        mira.run(order)
        np.testing.assert_allclose(mira.average, average, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mira.weights, expected, rtol=1e-9, atol=1e-12)
    assert mira.weights[1] == start[1]
    assert not np.allclose(mira.weights, start)


def test_safe_hope_changes_the_result() -> None:
    candidates = make(False, 300.0)
    start = np.random.default_rng(1).normal(size=3)
    order = np.arange(candidates.groups, dtype=np.int32)
    ends = []
    for safe in (False, True):
        tuner = BatchMira(safe_hope=safe)
        mira = tuner._engine(create("bleu"), candidates, start, np.zeros(3, dtype=bool))
        mira.run(order)
        ends.append(mira.weights)
    assert not np.array_equal(*ends)


def test_the_best_pass_is_returned() -> None:
    candidates = make(False)
    metric = create("bleu")
    pool = Pool(metric=metric, candidates=candidates)
    found = BatchMira(passes=12, C=1.0).optimize(
        pool, Weights(), Task(random=np.random.default_rng(3))
    )
    random = np.random.default_rng(3)
    mira = BatchMira(C=1.0)._engine(metric, candidates, np.zeros(3), np.zeros(3, dtype=bool))
    scores = []
    for _ in range(12):
        mira.run(random.permutation(candidates.groups).astype(np.int32))
        scores.append(candidates.corpus_score(metric, mira.average.astype(np.float32)))
    assert found.objective == max(scores)
    assert found.notes["best_pass"] == 1 + int(np.argmax(scores))
    assert found.objective == candidates.corpus_score(metric, candidates.vector(found.weights))


def test_other_metrics_take_sentence_scores() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=(60, 2))
    edits = np.clip(np.rint(10 - 3 * values[:, 0]), 0, 20).astype(int)
    rows = np.stack([edits, np.full(60, 20 * 840)], axis=1)
    made = from_arrays(np.arange(60) // 6, values, rows, ["a", "b"])
    pool = Pool(metric=create("ter"), candidates=made)
    found = BatchMira().optimize(pool, Weights({"b": 1.0}), Task(random=np.random.default_rng(1)))
    assert found.weights["a"] > abs(found.weights["b"])
    assert found.objective > found.notes["before"]
