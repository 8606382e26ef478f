"""Batch tuners on the pool of candidates that Moses's own tuners were run on.

Corpus BLEU under the new weights and CPU seconds of all threads, for each tuner and seed. Moses:
mert with 20 restarts 51.04, 50.90, 50.94 in 19 to 25 s; kbmira 49.43 in 0.26 s; pro 49.08. Budgets
on a machine where 'sum(i*i for i in range(10**7))' takes 1.05 s: mert 3 s, batch-mira 0.3 s; the
last column is scaled to that machine by the time which the same sum takes here.

    python bench/tune_pool.py --steps      the order of MERT's steps: Och's against ours, no tuners
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from pathlib import Path

import numpy as np
from support.machine import SHARED, slowness

from hopefear.base import config, registry
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.learn.batch.mert import End, Line, LineSearchProblem, gains_enough
from hopefear.learn.pool.candidates import FloatArray, from_arrays
from hopefear.learn.tuner import BatchTuner, Pool, Task
from hopefear.metrics import create


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


class Steepest(LineSearchProblem):
    """MERT's climb as Och has it: of all coordinates the one that gains most, in each step."""

    def climb(
        self, weights: FloatArray, random: np.random.Generator, *, worth: float = -np.inf
    ) -> End:
        weights, known = self._normal(weights), -np.inf
        while True:
            scores = self._line.search.scores(self._base, weights)
            places = [
                self._line.best(scores, self._scale(weights), column=column)
                for column in range(len(weights))
            ]
            column = max(range(len(weights)), key=lambda c: places[c][1])
            x, reached, _ = places[column]
            if not gains_enough(reached, known):
                return End(reached, weights)
            weights = weights.copy()
            weights[column] += x
            weights, known = self._normal(weights), reached


class Counting(Line):
    """Counts the line searches."""

    searches = 0

    def best(self, *arguments: object, **more: object) -> tuple[float, float, float]:
        type(self).searches += 1
        return super().best(*arguments, **more)  # type: ignore[arg-type]


def compare_steps(pool: Pool, start: Weights, seeds: range, starts: int) -> None:
    """Climbs from the same starting points, with nothing before and after them."""
    candidates = pool.candidates
    assert candidates is not None
    vector = candidates.vector(start)
    print(
        f"\n{'steps':18} {'best end':>9} {'mean end':>9} {'line searches':>14}   ({starts} starts)"
    )
    for name, kind in (("best of all", Steepest), ("each at once", LineSearchProblem)):
        for seed in seeds:
            problem = kind(pool.metric, candidates, vector, candidates.fixed(frozenset()))
            problem._line = Counting(pool.metric, problem._line.search)
            Counting.searches = 0
            chance = np.random.default_rng(seed)
            first = [problem.start, *(None for _ in range(starts - 1))]
            ends = [
                100 * problem.climb_from(one, np.random.default_rng(own), number).score
                for number, (one, own) in enumerate(
                    zip(first, chance.integers(2**63, size=starts).tolist(), strict=True)
                )
            ]
            print(
                f"{name + f', seed {seed}':20} {max(ends):9.2f} {np.mean(ends):9.2f} "
                f"{Counting.searches:14,}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", action="store_true", help="compare orders of MERT's steps")
    parser.add_argument("--starts", type=int, default=8, help="of --steps: starting points")
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
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    if arguments.steps:
        compare_steps(pool, start, seeds, arguments.starts)
        return
    factor = 1 / slowness(3)
    before = pool.candidates.corpus_score(pool.metric, pool.candidates.vector(start))
    print(f"{pool.candidates.rows:,} candidates of {pool.candidates.groups} sentences;", end=" ")
    print(f"start {100 * before:.2f} BLEU; {arguments.threads} threads; CPU factor {factor:.2f}")
    print(
        f"{'tuner':12} {'BLEU of each seed':42} {'min':>6} {'median':>7} {'CPU s':>6} {'scaled':>7}"
    )
    for name in arguments.tuners:
        cls = registry.get("tuner", name)
        scores, seconds = [], []
        for seed in seeds:
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
