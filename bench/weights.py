"""Weights at scale: loading, memory and dot products of 20 million features.

Budgets: load from the binary file in under 2 s, under 32 bytes each without names, a dot product
with a 1,000-entry vector under 50 us.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.figures import Figure, main

from hopefear.base.weights import SparseVector, Weights

FEATURES = 20_000_000


def best(repeat: int, work: Callable[[], object]) -> float:
    """Wall seconds: what loads a file waits for it, too."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(features: int = FEATURES) -> list[Figure]:
    random = np.random.default_rng(1)
    ids = np.unique(random.integers(1, 2**64, features, dtype=np.uint64))
    vector = SparseVector(ids, random.normal(size=len(ids)).astype(np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.bin"
        weights = Weights(vector)
        weights.drop_names()
        saved = best(1, lambda: weights.save(path))
        loaded = best(3, lambda: Weights.load(path, names=False))
        weights = Weights.load(path, names=False)
    # Fresh vectors each time, so that the table's slots are not in the cache already.
    vectors = [
        SparseVector(random.choice(ids, 1000).copy(), np.ones(1000, np.float32)) for _ in range(200)
    ]
    dot = statistics.median(best(1, lambda v=v: weights.dot(v)) for v in vectors)
    memory = weights.table.bytes / len(weights)
    return [
        Figure(f"{len(weights):,} features: load", loaded, "s", most=2 * features / FEATURES),
        Figure("save", saved, "s"),
        Figure("memory", memory, "bytes each", most=32),
        Figure("dot, 1,000 entries", 1e6 * dot, "us", most=50),
    ]


def run(quick: bool) -> list[Figure]:
    return measure(FEATURES // 10 if quick else FEATURES)


if __name__ == "__main__":
    main(__doc__, run, measure)
