"""Two kinds of steps in MERT: only the best coordinate (Och), or every coordinate in turn.

    python experiments/mert_steps.py --starts 20 --seeds 6

Uses the candidate pool of Moses's tuners. Both kinds climb from the same random points; prints BLEU
of the best end point, the mean of all, and the number of line searches.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from harness import data_folders, parser

from hopefear.base.weights import Weights
from hopefear.learn.batch.mert import End, Line, LineSearchProblem, gains_enough
from hopefear.learn.pool.candidates import FloatArray, from_arrays
from hopefear.learn.tuner import Pool
from hopefear.metrics import create


def read_pool(path: Path) -> tuple[Pool, Weights]:
    """Returns the pool of a file and Moses's start weights."""
    with gzip.open(path, "rt") as file:
        names = file.readline().split()[1:15]
        table = np.loadtxt(file)
    candidates = from_arrays(table[:, 0], table[:, 1:15], table[:, 15:].astype(int), names)
    start = dict(zip(names, [0.3] * 7 + [0.5, -1.0] + [0.2] * 5, strict=True))
    return Pool(metric=create("bleu"), candidates=candidates), Weights(start)


class Steepest(LineSearchProblem):
    """Och's climb: each step moves the coordinate that gains most."""

    def climb(
        self, weights: FloatArray, random: np.random.Generator, *, worth: float = -np.inf
    ) -> End:
        """Moves along the best coordinate until none gains; returns the end point."""
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
    """A line search that counts its calls."""

    searches = 0

    def best(self, *arguments: object, **more: object) -> tuple[float, float, float]:
        """Counts the call; takes and returns what `Line.best` does."""
        type(self).searches += 1
        return super().best(*arguments, **more)  # type: ignore[arg-type]


def compare_steps(pool: Pool, start: Weights, seeds: range, starts: int) -> None:
    """Print the results of both kinds of steps from the same starting points."""
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
            points = [problem.start, *(None for _ in range(starts - 1))]
            ends = [
                100 * problem.climb_from(point, np.random.default_rng(own), number).score
                for number, (point, own) in enumerate(
                    zip(points, chance.integers(2**63, size=starts).tolist(), strict=True)
                )
            ]
            print(
                f"{name + f', seed {seed}':20} {max(ends):9.2f} {np.mean(ends):9.2f} "
                f"{Counting.searches:14,}",
                flush=True,
            )


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__, writes=False)
    made.add_argument("--starts", type=int, default=8, help="starting points")
    made.add_argument("--seeds", type=int, default=5, help="number of seeds")
    made.add_argument("--first-seed", type=int, default=1)
    a = made.parse_args()
    pool, start = read_pool(data_folders(a)["data"] / "golden" / "tuning" / "pool.tsv.gz")
    compare_steps(pool, start, range(a.first_seed, a.first_seed + a.seeds), a.starts)


if __name__ == "__main__":
    main()
