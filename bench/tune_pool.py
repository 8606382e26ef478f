"""Batch tuners on the pool of candidates that Moses's own tuners were run on.

Corpus BLEU under the new weights and CPU seconds of all threads, for each tuner and seed. Moses:
mert with 20 restarts 51.04, 50.90, 50.94 in 19 to 25 s; kbmira 49.43 in 0.26 s; pro 49.08. Budgets
on a machine where 'sum(i*i for i in range(10**7))' takes 1.05 s: mert 3 s, batch-mira 0.3 s; the
last column is scaled to that machine by the time which the same sum takes here.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np

from hopefear import config, registry
from hopefear.metrics import create
from hopefear.threads import all_cores
from hopefear.tune.candidates import from_arrays
from hopefear.tune.tuner import BatchTuner, Pool, Task
from hopefear.weights import Weights

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))
REFERENCE_SECONDS = 1.05


def calibrate() -> float:
    """CPU seconds of the sum that the budgets' machine needs 1.05 s for; the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        sum(i * i for i in range(10**7))
        times.append(time.process_time() - start)
    return min(times)


def read_pool(path: Path) -> tuple[Pool, Weights]:
    with gzip.open(path, "rt") as file:
        names = file.readline().split()[1:15]
        table = np.loadtxt(file)
    candidates = from_arrays(table[:, 0], table[:, 1:15], table[:, 15:].astype(int), names)
    start = dict(zip(names, [0.3] * 7 + [0.5, -1.0] + [0.2] * 5, strict=True))
    return Pool(metric=create("bleu"), candidates=candidates), Weights(start)


def batch_tuners() -> list[str]:
    return [
        name
        for name in registry.names("tuner")
        if issubclass(registry.get("tuner", name), BatchTuner)
        and "kbest" in registry.get("tuner", name).spaces
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuners", nargs="+", default=batch_tuners(), help="all if not given")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=all_cores())
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of the tuner")
    arguments = parser.parse_args()
    path = SHARED / "golden" / "tuning" / "pool.tsv.gz"
    if not path.is_file():
        print(f"no {path}; set HOPEFEAR_SHARED")
        sys.exit(0)
    pool, start = read_pool(path)
    assert pool.candidates is not None
    factor = REFERENCE_SECONDS / calibrate()
    before = pool.candidates.corpus_score(pool.metric, pool.candidates.vector(start))
    print(f"{pool.candidates.rows:,} candidates of {pool.candidates.groups} sentences;", end=" ")
    print(f"start {100 * before:.2f} BLEU; {arguments.threads} threads; CPU factor {factor:.2f}")
    print(
        f"{'tuner':12} {'BLEU of each seed':42} {'min':>6} {'median':>7} {'CPU s':>6} {'scaled':>7}"
    )
    for name in arguments.tuners:
        cls = registry.get("tuner", name)
        scores, seconds = [], []
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            tuner = config.from_mapping(cls, config.parse_pairs(cls, arguments.set))
            task = Task(random=np.random.default_rng(seed), threads=arguments.threads)
            begin = time.process_time()
            found = tuner.optimize(pool, start, task).weights
            seconds.append(time.process_time() - begin)
            vector = pool.candidates.vector(found)
            scores.append(100 * pool.candidates.corpus_score(pool.metric, vector))
        each = " ".join(f"{score:.2f}" for score in scores[:7]) + (" …" if len(scores) > 7 else "")
        print(
            f"{name:12} {each:42} {min(scores):6.2f} {np.median(scores):7.2f} "
            f"{np.median(seconds):6.2f} {factor * np.median(seconds):7.2f}"
        )


if __name__ == "__main__":
    main()
