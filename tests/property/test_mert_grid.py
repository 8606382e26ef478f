"""An exhaustive grid is never better than MERT."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.weights import Weights
from hopefear.learn.batch.mert import Mert
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create
from hopefear.metrics.metric import Metric

pytestmark = pytest.mark.engine

GRID = np.arange(-10, 11) / 10


def lists(metric: Metric, seed: int, count: int = 40, size: int = 12) -> Candidates:
    random = np.random.default_rng(seed)
    references = [[f"w{w}" for w in random.integers(30, size=12)] for _ in range(count)]
    texts, numbers, errors = [], [], []
    for number, reference in enumerate(references):
        for _ in range(size):
            wrong = random.random(len(reference)) < random.random() * 0.6
            text = [
                w if not bad else f"x{random.integers(30)}"
                for w, bad in zip(reference, wrong, strict=True)
            ]
            texts.append(text)
            numbers.append(number)
            errors.append(wrong.sum())
    statistics = metric.statistics(texts, [[r] for r in references], sentences=numbers)
    noise = random.normal(size=(len(texts), 3))
    features = np.array([[-0.5, 0.3, 0.1]]) * np.array(errors)[:, None] + 1.5 * noise
    return from_arrays(numbers, features, statistics, ["a", "b", "c"])


@pytest.mark.parametrize("name", ["bleu", "wer", "chrf"])
@pytest.mark.parametrize("seed", range(4))
def test_a_grid_over_three_features_is_not_better(name: str, seed: int) -> None:
    metric = create(name)
    candidates = lists(metric, seed)
    pool = Pool(metric=metric, candidates=candidates)
    task = Task(random=np.random.default_rng(seed), threads=1)
    reached = Mert().optimize(pool, Weights(), task).objective
    best = max(
        candidates.corpus_score(metric, np.array([a, b, c]))
        for a in (-1.0, 1.0)
        for b in GRID
        for c in GRID
    )
    assert reached >= best
