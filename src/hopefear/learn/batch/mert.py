"""MERT: coordinate ascent with exact line search on the corpus score.  [och2003mert]

Along a line w + x d in weight space every candidate's score is a line in x, so the best candidate
of a group changes only at the corners of an upper envelope, and the corpus score of any metric with
additive statistics is constant between corners: the line's best interval is found exactly
(`cpp/learn/line_search`).

1. From the given weights and from random ones (`restarts`), in parallel: go through the features in
   random order, move along each to the middle of its best interval, until none gains any more.
2. The best ends (`kept`) are shaken: every weight times a random factor, and again 1., keeping what
   is better; `kicks` times.
3. From the best one, random directions; whenever one gains, coordinates again.

Only the dense features (`FeatureTable`) move; sparse ones keep their weights and enter as a
constant part of the scores. Features that are equal for all candidates of every group cannot change
anything and keep their weights too.

Differs: Och takes the best of all coordinates in each step; taking each one's gain at once, in
random order, finds as good an end of many starts for 0.4 of the line searches
(docs/reference/tuners/mert.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import LineSearch
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.batch.forest_mert import Harvest
from hopefear.learn.pool.candidates import Candidates, FloatArray
from hopefear.learn.pool.search_aware import SearchAware
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Space, Task, check_space
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric

NARROW = 1e-7  # intervals narrower than this (for weights of norm 1) are corners at one place
# If no direction gains more, this is the end. With 2e-4 a search-aware climb takes a third fewer
# line searches, but without bins one seed of five ends below Moses on its pool (50.76 BLEU).
GAIN = 1e-5
MARGIN = 0.1  # how far behind a corner at most, for weights of norm 1


@register("tuner", "mert")
@dataclass(kw_only=True)
class Mert(SearchAware, BatchTuner):
    """Minimum error rate training: exact line search on the corpus score."""

    name: ClassVar[str] = "mert"
    dense_only: ClassVar[bool] = True
    average_last: ClassVar[int] = 5  # docs/concepts/tuning.md has what that does
    spaces: ClassVar[tuple[Space, ...]] = ("kbest", "forest")

    space: Space = option("kbest", help="k-best lists, or all derivations of forests")
    forest_restarts: int = option(
        2, min=0, help="on forests: starting points of a round besides the best weights so far"
    )
    forest_rounds: int = option(
        5, min=1, help="on forests: how often to ask them for what is best near the new weights"
    )
    forest_density: float = option(
        50.0, min=0, help="on forests: edges kept for every word of the best translation; 0: all"
    )
    restarts: int = option(20, min=0, help="random starting points besides the given weights")
    kept: int = option(4, min=1, help="how many of the best ends are improved further")
    kicks: int = option(10, min=0, help="how often each of these is shaken and climbed again")
    shake: float = option(0.3, min=0, help="deviation of the logarithm of the factors of a shake")
    directions: int = option(
        20, min=0, help="random directions tried at the end, until so many in a row gain nothing"
    )

    def __post_init__(self) -> None:
        check_space(
            self,
            forest=("forest_restarts", "forest_rounds", "forest_density"),
            kbest=("restarts", "kept", "kicks", "shake"),
        )

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if self.space == "forest":
            return self._optimize_forests(pool, weights, task)
        assert pool.candidates is not None, "mert works on k-best lists"
        return self._optimize_lists(pool.metric, pool.candidates, weights, task)

    def _optimize_lists(
        self, metric: Metric, candidates: Candidates, weights: Weights, task: Task
    ) -> Optimized:
        vector = candidates.vector(weights)
        before = candidates.corpus_score(metric, vector)
        problem = LineSearchProblem(
            metric, candidates, vector, candidates.fixed(task.fixed), task.collapsed
        )
        notes = {
            "before": before,
            "moving_features": len(problem.moving),
            "constant_features": int(problem.constant.sum()),
            "sparse_features": len(candidates.features.ids) - candidates.features.columns,
        }
        if not len(problem.moving) or candidates.rows == 0:
            return Optimized(weights.copy(), before, notes)

        # One seed for every piece of work, drawn here: threads and their order change nothing.
        seeds = iter(task.random.integers(2**63, size=1 + self.restarts + self.kept + 1).tolist())
        starts = [problem.start, *(None for _ in range(self.restarts))]
        jobs = [
            (start, np.random.default_rng(next(seeds)), number)
            for number, start in enumerate(starts)
        ]
        workers = Workers(task)
        ends = workers.map(lambda job: problem.climb_from(*job), jobs)
        ends = sorted(ends, key=lambda end: -end.score)[: self.kept]
        shaken = [(end, np.random.default_rng(next(seeds))) for end in ends]
        ends = workers.map(lambda job: self._shake(problem, *job), shaken)
        best = max(ends, key=lambda end: end.score)
        best = self._explore(problem, best, np.random.default_rng(next(seeds)))

        found = problem.whole(best.weights)
        # What is written has 32 bits: this is its score, not that of the 64 bits we searched with.
        after = candidates.corpus_score(metric, found.astype(np.float32).astype(np.float64))
        if after <= before:
            return Optimized(weights.copy(), before, notes)
        new = candidates.weights(found, problem.rescaled(weights, task.fixed))
        return Optimized(new, after, notes)

    def _optimize_forests(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if pool.forests is None:
            raise ValueError("space=forest learns from forests, but the pool has none")
        harvest = Harvest(
            pool.metric, pool.forests, pool.references, weights,
            fixed=task.fixed, density=self.forest_density, threads=task.threads,
        )  # fmt: skip
        # Rounds are many, and each begins anew: shaking would take long and change little.
        search = Mert(restarts=self.forest_restarts, kept=1, kicks=0, directions=self.directions)
        quiet = replace(task, progress=None)
        before = reached = harvest.add(weights)
        best, rounds = weights.copy(), 0
        notes: Mapping[str, Any] = {}
        while rounds < self.forest_rounds:
            rounds += 1
            candidates = harvest.candidates()
            found = search._optimize_lists(pool.metric, candidates, best, quiet)
            notes = {**found.notes, "candidates": candidates.rows}
            if task.progress is not None:
                task.progress(rounds)
            if not gains_enough(found.objective, reached):
                break  # and the lines through the best weights are those of the forests
            score = harvest.add(found.weights)
            if score > reached:
                best, reached = found.weights, score
        return Optimized(best, reached, {**notes, "before": before, "rounds": rounds})

    def _shake(self, problem: LineSearchProblem, end: End, random: np.random.Generator) -> End:
        for _ in range(self.kicks):
            factors = np.exp(self.shake * random.normal(size=len(end.weights)))
            other = problem.climb(end.weights * factors, random, worth=end.score)
            if other.score > end.score:
                end = other
        return end

    def _explore(self, problem: LineSearchProblem, end: End, random: np.random.Generator) -> End:
        failures = 0
        while failures < self.directions:
            # As far along each feature as its weight is large, but a little along all.
            size = np.abs(end.weights).sum() or 1.0
            scales = np.maximum(np.abs(end.weights), 0.005 * size)
            other = problem.along(end, scales * random.normal(size=len(scales)))
            if gains_enough(other.score, end.score):
                end, failures = problem.climb(other.weights, random), 0
            else:
                failures += 1
        return end


class End(NamedTuple):
    """Where a climb ended."""

    score: float
    weights: FloatArray  # of the moving features


class LineSearchProblem:
    """The candidates as a line search sees them: some columns move, the rest is constant."""

    def __init__(
        self,
        metric: Metric,
        candidates: Candidates,
        vector: FloatArray,
        fixed: NDArray[np.bool_],
        collapsed: bool = False,
    ) -> None:
        columns = candidates.features.columns
        self.constant = constant_columns(candidates)
        self.moving = np.flatnonzero(~fixed[:columns] & ~self.constant)
        self._vector, self._fixed = vector, fixed
        rest = vector.copy()
        rest[self.moving] = 0.0
        rest[:columns][self.constant] = 0.0
        # Where nothing but the moving weights counts, their length is free, and set to 1.
        self.free = not collapsed and not rest.any()
        self._base = candidates.scores(rest) if not self.free else np.zeros(candidates.rows)
        self._line = Line(
            metric,
            LineSearch(
                candidates.begin, candidates.features.dense, self.moving, candidates.statistics
            ),
        )
        self._norm = float(np.abs(vector[self.moving]).sum()) or 1.0
        self._length = 1.0 if self.free else self._norm
        self.start = vector[self.moving] / self._norm * self._length

    def whole(self, moving: FloatArray) -> FloatArray:
        """The weights of all features of the candidates."""
        found = self._vector * (self._length / self._norm)
        found[self._fixed] = self._vector[self._fixed]
        found[self.moving] = moving
        return found

    def rescaled(self, weights: Weights, fixed: frozenset[int]) -> Weights:
        """The given weights, those of features that are not in the candidates too, as `whole`.

        Fixed ones stay what they are; they are 0 here or there is nothing to rescale.
        """
        new = weights.copy()
        kept = {id: weights[id] for id in fixed if id in weights}
        new.scale(self._length / self._norm)
        for id, value in kept.items():
            new[id] = value
        return new

    def climb_from(self, start: FloatArray | None, random: np.random.Generator, number: int) -> End:
        """From the given weights; in turn from anywhere and from them with random factors."""
        if start is None:
            size = len(self.moving)
            start = random.uniform(-1, 1, size=size)
            if number % 2 and self.start.any():
                start = self.start * np.exp(random.normal(size=size))
            start *= self._length / np.abs(start).sum()
        return self.climb(start, random)

    def climb(
        self, weights: FloatArray, random: np.random.Generator, *, worth: float = -np.inf
    ) -> End:
        """Coordinate after coordinate, in random order, until none gains any more.

        Gives up where a round as good as the last one would not reach `worth`: rounds gain less
        and less.
        """
        search = self._line.search
        weights = self._normal(weights)
        reached, idle, last, known = 0.0, 0, -np.inf, -np.inf
        while True:
            scores = search.scores(self._base, weights)  # anew: rounding adds up
            for column in random.permutation(len(weights)).tolist():
                x, reached, here = self._line.best(scores, self._scale(weights), column=column)
                if reached > here:
                    weights = weights.copy()
                    weights[column] += x
                    size = float(np.abs(weights).sum()) if self.free else 1.0
                    weights /= size
                    search.step(scores, column, x, 1.0 / size)
                idle = 0 if gains_enough(reached, known) else idle + 1
                known = max(known, reached)
                if idle >= len(weights):
                    return End(reached, weights)
            if reached + (reached - last) < worth:
                return End(reached, weights)
            last = reached

    def along(self, end: End, direction: FloatArray) -> End:
        """The best place on one line."""
        scores = self._line.search.scores(self._base, end.weights)
        slopes = self._line.search.slopes(direction)
        x, reached, _ = self._line.best(scores, self._scale(end.weights), slopes=slopes)
        return End(reached, self._normal(end.weights + x * direction))

    def _scale(self, weights: FloatArray) -> float:
        return 1.0 if self.free else float(np.abs(weights).sum()) or 1.0

    def _normal(self, weights: FloatArray) -> FloatArray:
        size = float(np.abs(weights).sum())
        return weights / size if self.free and size > 0 else weights


class Line:
    """The best place on a line, for any metric; BLEU's is found in the engine."""

    def __init__(self, metric: Metric, search: LineSearch) -> None:
        self.metric, self.search = metric, search
        self._none = np.zeros(0)
        self._bleu: tuple[int, float] | None = None
        # Metrics that differ from BLEU in their sentence scores only are BLEU here.
        if isinstance(metric, Bleu) and type(metric).score is Bleu.score and metric.smooth == "exp":
            self._bleu = metric.order, float(metric.length_unit)

    def best(
        self,
        scores: FloatArray,
        scale: float,
        *,
        column: int = -1,
        slopes: FloatArray | None = None,
    ) -> tuple[float, float, float]:
        """The place, the corpus score there, and the one at 0; `scale` is the weights' norm."""
        along = self._none if slopes is None else slopes
        narrow, margin = NARROW * scale, MARGIN * scale
        if self._bleu is not None:
            return self.search.best_bleu(scores, column, along, *self._bleu, narrow, margin)
        corners, sums = self.search.intervals(scores, column, along)
        sums = sums.reshape(len(corners) + 1, -1)
        return best_interval(corners, self.metric.score(sums), narrow, margin)


def gains_enough(reached: float, known: float) -> bool:
    """Whether to go on; scores may be so large that GAIN is nothing to them."""
    return reached > known and reached >= known + GAIN


def best_interval(
    corners: FloatArray, gains: FloatArray, narrow: float, margin: float
) -> tuple[float, float, float]:
    """As the engine's: the middle of the first best interval that is not too narrow.

    But no further than `margin` from its end that is nearer to 0; and 0 where nothing is better
    than the interval around it. On a corner the gain at 0 is -inf: which of equally good candidates
    is first decides there, and it is left in any case.
    """
    edges = np.concatenate([[-np.inf], corners, [np.inf]])
    around = int(np.searchsorted(corners, 0.0, side="right"))
    here = float(gains[around])
    if min(-edges[around], edges[around + 1]) < narrow / 2:
        here = -np.inf
    wide = edges[1:] - edges[:-1] >= narrow
    best = int(np.argmax(np.where(wide, gains, -np.inf)))
    if gains[best] <= here or not wide[best]:
        return 0.0, here, here
    low, high = float(edges[best]), float(edges[best + 1])
    half = min((high - low) / 2, margin)
    x = high - half if abs(high) < abs(low) else low + half
    return x, float(gains[best]), here


def constant_columns(candidates: Candidates) -> NDArray[np.bool_]:
    """Which dense features are equal for all candidates of every group."""
    dense = candidates.features.dense
    if candidates.rows == 0:
        return np.ones(dense.shape[1], dtype=bool)
    filled = np.flatnonzero(np.diff(candidates.begin) > 0)
    first = dense[candidates.begin[:-1][filled]]
    same = np.ones(dense.shape[1], dtype=bool)
    for number, group in enumerate(filled.tolist()):
        rows = dense[candidates.begin[group] : candidates.begin[group + 1]]
        same &= (rows == first[number]).all(axis=0)
        if not same.any():
            break
    return same


Job = TypeVar("Job")


class Workers:
    """Work on the task's threads, results in order; reports how many pieces are done."""

    def __init__(self, task: Task) -> None:
        self._task, self._done = task, 0

    def map(self, work: Callable[[Job], End], jobs: Sequence[Job]) -> list[End]:
        threads = ThreadPoolExecutor(max(1, self._task.threads))
        found = []
        try:
            for end in threads.map(work, jobs):
                found.append(end)
                self._done += 1
                if self._task.progress is not None:
                    self._task.progress(self._done)
        finally:  # after an interrupt nobody waits for what has not begun
            threads.shutdown(wait=True, cancel_futures=True)
        return found
