"""Batch tuners on the pool of candidates that Moses's own tuners were run on.

Corpus BLEU under the new weights and CPU seconds of all threads, for each tuner and seed. Moses:
mert with 20 restarts 51.04, 50.90, 50.94 in 19 to 25 s; kbmira 49.43 in 0.26 s; pro 49.08. Budgets
on a machine where 'sum(i*i for i in range(10**7))' takes 1.05 s: mert 3 s, batch-mira 0.3 s; the
last column is scaled to that machine by the time which the same sum takes here.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Sequence

import numpy as np
from support.figures import Columns, Figure, main
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


def full(
    *,
    tuners: tuple[str, ...] = tuple(batch_tuners()),
    seeds: int = 5,
    first_seed: int = 1,
    threads: int = all_cores(),
    set: tuple[str, ...] = (),
) -> None:
    pool, start = read_pool()
    assert pool.candidates is not None
    factor = 1 / slowness(3)
    before = pool.candidates.corpus_score(pool.metric, pool.candidates.vector(start))
    print(f"{pool.candidates.rows:,} candidates of {pool.candidates.groups} sentences;", end=" ")
    print(f"start {100 * before:.2f} BLEU; {threads} threads; CPU factor {factor:.2f}")
    table = Columns(12, f"{'BLEU of each seed':40}", "min", "median", "CPU s", "scaled")
    for name in tuners:
        runs = range(first_seed, first_seed + seeds)
        found = [tuned(pool, start, name, seed, threads, set) for seed in runs]
        scores, seconds = zip(*found, strict=True)
        each = " ".join(f"{score:.2f}" for score in scores[:6]) + (" …" if len(scores) > 6 else "")
        cpu = float(np.median(seconds))
        table.row(name, each, min(scores), float(np.median(scores)), cpu, factor * cpu)


if __name__ == "__main__":
    main(__doc__, run, full)
