"""Weights at scale: loading, memory and dot products of 20 million features.

Budgets: load from the binary file in under 2 s, under 32 bytes each without names, a dot product
with a 1,000-entry vector under 50 us.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from hopefear.base.weights import SparseVector, Weights


def best(repeat: int, work) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=20_000_000)
    arguments = parser.parse_args()
    n = arguments.features
    random = np.random.default_rng(1)
    ids = np.unique(random.integers(1, 2**64, n, dtype=np.uint64))
    vector = SparseVector(ids, random.normal(size=len(ids)).astype(np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.bin"
        weights = Weights(vector)
        weights.drop_names()
        start = time.perf_counter()
        weights.save(path)
        saved = time.perf_counter() - start
        loaded = best(3, lambda: Weights.load(path, names=False))
        verified = best(1, lambda: Weights.load(path, names=False, verify=True))
        weights = Weights.load(path, names=False)
    # Fresh vectors each time, so that the table's slots are not in the cache already.
    vectors = [
        SparseVector(random.choice(ids, 1000).copy(), np.ones(1000, np.float32)) for _ in range(200)
    ]
    dot = statistics.median(best(1, lambda v=v: weights.dot(v)) for v in vectors)
    memory = weights.table.bytes / len(weights)
    print(f"features              {len(weights):>12,}")
    print(f"save                  {saved:>12.2f} s")
    print(f"load                  {loaded:>12.2f} s      (budget 2 s)")
    print(f"load, fully checked   {verified:>12.2f} s")
    print(f"memory                {memory:>12.1f} bytes each (budget 32)")
    print(f"dot, 1,000 entries    {1e6 * dot:>12.1f} us     (budget 50 us)")


if __name__ == "__main__":
    main()
