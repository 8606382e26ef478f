"""Small pools of candidates with known answers, for tests of tuners."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.pool.candidates import Candidates, FeatureTable
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create


def toy_pool(
    *,
    sentences: int = 30,
    size: int = 12,
    dense: int = 4,
    sparse: int = 0,
    seed: int = 5,
    metric: str = "bleu",
    empty: bool = False,
) -> tuple[Pool, Weights]:
    """Candidates of 20 words whose matches grow with a hidden linear score of their features.

    With `sparse` that many more features, each in a tenth of the candidates. With `empty` the
    second sentence has no candidate.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(2, size + 1, sentences)
    if empty:
        sizes[1] = 0
    rows = int(sizes.sum())
    table = random.normal(size=(rows, dense)).astype(np.float32)
    more: Any = None
    hidden = table @ np.linspace(1.0, -1.0, dense)
    if sparse:
        values = random.normal(size=(rows, sparse)) * (random.random((rows, sparse)) < 0.1)
        more = csr_array(values.astype(np.float32))
        hidden = hidden + values @ random.normal(size=sparse)
    good = 1.0 / (1.0 + np.exp(-hidden + random.normal(scale=0.3, size=rows)))
    statistics = np.zeros((rows, 9), np.int32)
    for order in range(4):
        statistics[:, 2 * order] = np.floor((20 - order) * good ** (1 + order / 2))
        statistics[:, 2 * order + 1] = 20 - order
    statistics[:, 8] = np.repeat(random.integers(18, 24, sentences), sizes)
    names = FeatureNames()
    labels = [f"d{i}" for i in range(dense)] + [f"s{i}" for i in range(sparse)]
    ids = np.array([names.intern(label) for label in labels], np.uint64)
    candidates = Candidates(
        begin=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        sentences=np.arange(sentences, dtype=np.int32),
        features=FeatureTable(ids=ids, dense=table, sparse=more),
        statistics=statistics,
        names=names,
    )
    weights = Weights({f"d{i}": 0.2 for i in range(dense)})
    return Pool(metric=create(metric), candidates=candidates), weights


def toy_task(seed: int = 1, **more: Any) -> Task:
    return Task(random=np.random.default_rng(seed), **more)


def densified(pool: Pool) -> Pool:
    """The same candidates with all features in columns."""
    assert pool.candidates is not None
    old = pool.candidates
    table = FeatureTable(
        ids=old.features.ids,
        dense=np.hstack([old.features.dense, old.features.sparse.toarray()]),
    )
    same = {key: getattr(old, key) for key in ("begin", "sentences", "statistics", "names")}
    return Pool(metric=pool.metric, candidates=Candidates(features=table, **same))
