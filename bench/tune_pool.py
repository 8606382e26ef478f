"""Batch tuners on the pool of candidates that Moses's own tuners were run on.

Corpus BLEU under the new weights and CPU seconds of all threads, for each tuner and seed. Moses:
mert with 20 restarts 51.04, 50.90, 50.94 in 19 to 25 s; kbmira 49.43 in 0.26 s; pro 49.08. Budgets
on a machine where 'sum(i*i for i in range(10**7))' takes 1.05 s: mert 3 s, batch-mira 0.3 s; the
last column is scaled to that machine by the time which the same sum takes here.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Sequence

import numpy as np
from support.figures import Figure, main
from support.machine import shared, slowness

from hopefear.base import config, registry
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.learn.pool.candidates import from_arrays
from hopefear.learn.tuner import BatchTuner, Pool, Task
from hopefear.metrics import create

BUDGETS = {"mert": 3.0, "batch-mira": 0.3}


def read_pool() -> tuple[Pool, Weights]:
    with gzip.open(shared("golden/tuning/pool.tsv.gz"), "rt") as file:
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


def tuned(
    pool: Pool, start: Weights, name: str, seed: int, threads: int, pairs: Sequence[str] = ()
) -> tuple[float, float]:
    """BLEU and CPU seconds."""
    assert pool.candidates is not None
    cls = registry.get("tuner", name)
    tuner = config.from_mapping(cls, config.parse_pairs(cls, pairs))
    task = Task(random=np.random.default_rng(seed), threads=threads)
    begin = time.process_time()
    found = tuner.optimize(pool, start, task).weights
    seconds = time.process_time() - begin
    vector = pool.candidates.vector(found)
    return 100 * pool.candidates.corpus_score(pool.metric, vector), seconds


def run(quick: bool) -> list[Figure]:
    pool, start = read_pool()
    figures = []
    for name, budget in BUDGETS.items():
        bleu, seconds = tuned(pool, start, name, 1, all_cores())
        figures.append(Figure(f"{name}, CPU, scaled", seconds / slowness(), "s", most=budget))
        figures.append(Figure(f"{name}, BLEU of the pool", bleu))
    return figures


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tuners", nargs="+", default=batch_tuners(), help="all if not given")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=all_cores())
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of the tuner")


def full(a: argparse.Namespace) -> None:
    pool, start = read_pool()
    assert pool.candidates is not None
    factor = 1 / slowness(3)
    before = pool.candidates.corpus_score(pool.metric, pool.candidates.vector(start))
    print(f"{pool.candidates.rows:,} candidates of {pool.candidates.groups} sentences;", end=" ")
    print(f"start {100 * before:.2f} BLEU; {a.threads} threads; CPU factor {factor:.2f}")
    print(
        f"{'tuner':12} {'BLEU of each seed':42} {'min':>6} {'median':>7} {'CPU s':>6} {'scaled':>7}"
    )
    for name in a.tuners:
        seeds = range(a.first_seed, a.first_seed + a.seeds)
        found = [tuned(pool, start, name, seed, a.threads, a.set) for seed in seeds]
        scores, seconds = zip(*found, strict=True)
        each = " ".join(f"{score:.2f}" for score in scores[:7]) + (" …" if len(scores) > 7 else "")
        print(
            f"{name:12} {each:42} {min(scores):6.2f} {np.median(scores):7.2f} "
            f"{np.median(seconds):6.2f} {factor * np.median(seconds):7.2f}"
        )


if __name__ == "__main__":
    main(__doc__, run, full, options)
