"""MERT: coordinate ascent with exact line search on the corpus score.  [och2003mert]

Takes a pool and the last weights and returns the weights of the highest corpus score found. Along a
line w + x d in weight space the score of every candidate is linear in x, so the best candidate of a
group changes only at the corners of an upper envelope. Between corners the corpus score of any
metric with additive statistics is constant, and the best interval of the line is found exactly
(`cpp/learn/line_search`).

1. Climb from the given weights and from random ones (`restarts`), in parallel: visit the features
   in random order and move along each to the middle of its best interval, until no feature gains.
2. Perturb the best end points (`kept`), multiplying every weight by a random factor, and climb
   again; keep the better point; repeat `kicks` times.
3. From the best point try random directions; after each gain climb again.
4. If a decoder uses the result and the best point is farther than `max_step` from the last weights,
   take the best of the points that lie that far on the way to an end point, or nearer. If none
   of them gains, double the distance until one gains a point of BLEU.

Only the dense features (`FeatureTable`) move; sparse features keep their weights and contribute a
constant to the scores. Features with equal values for all candidates of every group have no effect
and keep their weights too.

Differs: Och moves along the best of all coordinates in each step; moving along each coordinate that
gains, in random order, finds an equally good end point with 0.4 of the line searches
(docs/reference/tuners/mert.md).

Differs: the step is bounded. The lists of one decoding say little about weights far from those that
produced them: without a bound the first step fell from 24.9 BLEU to 3.0 (Bible es-en, 1,500 pairs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import LineSearch
from hopefear.base.config import option
from hopefear.base.executor import Job, Resources, Threads
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import Weights
from hopefear.learn.batch.forest_mert import Harvest
from hopefear.learn.pool.candidates import Candidates, FloatArray
from hopefear.learn.pool.search_aware import SearchAware
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Space, Task, check_space
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric

NARROW = 1e-7  # narrower intervals (for weights of norm 1) are rounding errors at one corner
# The smallest gain that continues a climb. With 2e-4 a search-aware climb takes a third fewer
# line searches, but without bins one seed of five ends below Moses on its pool (50.76 BLEU).
GAIN = 1e-5
FARTHEST = 2.0  # the largest distance of two vectors of norm 1
FAR_GAIN = 0.01  # the smallest gain of a step beyond `max_step`: a point of BLEU
PARTS = (0.25, 0.5, 0.75, 1.0)  # of the largest step, where a point is tried
MARGIN = 0.1  # largest distance of a new point from its corner, for weights of norm 1


@register("tuner", "mert")
@dataclass(kw_only=True)
class Mert(SearchAware, BatchTuner):
    """Minimum error rate training: exact line search on the corpus score."""

    name: ClassVar[str] = "mert"
    dense_only: ClassVar[bool] = True
    average_last: ClassVar[int] = 5  # its effect is in docs/concepts/tuning.md
    spaces: ClassVar[tuple[Space, ...]] = ("kbest", "forest")

    space: Space = option("kbest", help="search k-best lists, or all derivations of forests")
    forest_restarts: int = option(
        2, min=0, help="random starting points per round on forests, besides the best weights"
    )
    forest_rounds: int = option(
        5,
        min=1,
        help="maximum number of rounds on forests: extract derivations near the best weights, then "
        "search them",
    )
    forest_density: float = option(
        50.0, min=0, help="edges kept in a forest per word of its best translation (0: all)"
    )
    restarts: int = option(20, min=0, help="random starting points besides the given weights")
    kept: int = option(4, min=1, help="number of best end points to perturb")
    kicks: int = option(10, min=0, help="perturbations of each of these end points")
    shake: float = option(
        0.3, min=0, help="standard deviation of the logarithms of a perturbation's random factors"
    )
    directions: int = option(
        20, min=0, help="random directions in a row without a gain that end the search"
    )
    max_step: float = option(
        0.3,
        min=0.001,
        max=FARTHEST,
        help="L1 distance of the new weights from the last ones, both scaled to L1 norm 1, that is "
        "exceeded only if no nearer point gains and a farther one gains 0.01 (2: unbounded); "
        "without effect on lists that are not decoded again",
    )

    def __post_init__(self) -> None:
        check_space(
            self,
            forest=("forest_restarts", "forest_rounds", "forest_density"),
            kbest=("restarts", "kept", "kicks", "shake", "max_step"),
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

        # One seed for each job, drawn here, so that the result does not depend on threads.
        seeds = iter(task.random.integers(2**63, size=1 + self.restarts + self.kept + 1).tolist())
        starts = [problem.start, *(None for _ in range(self.restarts))]
        climbs = [Climb(start, next(seeds), number) for number, start in enumerate(starts)]
        work = Work(task, ClimbJob(problem, self))
        ends = work.run(climbs)
        kept = sorted(ends, key=lambda end: -end.score)[: self.kept]
        shaken = work.run([Shake(end, next(seeds)) for end in kept])
        best = max(shaken, key=lambda end: end.score)
        best = self._explore(problem, best, np.random.default_rng(next(seeds)))
        if task.searching and self.max_step < FARTHEST and problem.start.any():
            best = self._bounded(problem, [best, *shaken, *ends], before, task)

        vector = problem.full_vector(best.weights)
        # Weights are stored in single precision, so the score is that of the rounded vector.
        after = candidates.corpus_score(metric, vector.astype(np.float32).astype(np.float64))
        if after <= before:
            return Optimized(weights.copy(), before, notes)
        new = candidates.weights(vector, problem.rescaled(weights, task.fixed))
        return Optimized(new, after, notes)

    def _optimize_forests(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if pool.forests is None:
            raise ValueError("space=forest learns from forests, but the pool has none")
        harvest = Harvest(
            pool.metric, pool.forests, pool.references, weights,
            fixed=task.fixed, density=self.forest_density, threads=task.threads,
        )  # fmt: skip
        # No perturbations: there are several rounds, and in each they would cost much for little.
        search = Mert(
            restarts=self.forest_restarts,
            kept=1,
            kicks=0,
            directions=self.directions,
            max_step=FARTHEST,  # forests have the derivations far from the weights as well
        )
        quiet = replace(task, progress=None)
        before = reached = harvest.add(weights)
        best, rounds = weights.copy(), 0
        notes: Mapping[str, Any] = {}
        while rounds < self.forest_rounds:
            rounds += 1
            candidates = harvest.candidates()
            optimized = search._optimize_lists(pool.metric, candidates, best, quiet)
            notes = {**optimized.notes, "candidates": candidates.rows}
            if task.progress is not None:
                task.progress(rounds)
            if not gains_enough(optimized.objective, reached):
                break  # on the lines through the best weights the candidates are exact
            score = harvest.add(optimized.weights)
            if score > reached:
                best, reached = optimized.weights, score
        return Optimized(best, reached, {**notes, "before": before, "rounds": rounds})

    def _bounded(
        self, problem: LineSearchProblem, ends: Sequence[End], before: float, task: Task
    ) -> End:
        """Return the best point near the start on the way to an end point.

        If no point gains, the largest distance is doubled until one gains much: the score is a step
        function, and bad weights may have no better ones near them. For little gain good weights
        are not left, or the translations of a step of 0.9 are worse by 3 points.
        """
        step, least = self.max_step, GAIN
        while True:
            points = in_order(partial(problem.near, step=step), ends, task.threads)
            best = max(points, key=lambda end: end.score)
            if best.score >= before + least or step >= FARTHEST:
                return best if best.score >= before + least else End(before, problem.start)
            step, least = 2 * step, FAR_GAIN

    def perturb(self, problem: LineSearchProblem, end: End, random: np.random.Generator) -> End:
        for _ in range(self.kicks):
            factors = np.exp(self.shake * random.normal(size=len(end.weights)))
            other = problem.climb(end.weights * factors, random, worth=end.score)
            if other.score > end.score:
                end = other
        return end

    def _explore(self, problem: LineSearchProblem, end: End, random: np.random.Generator) -> End:
        failures = 0
        while failures < self.directions:
            # Proportional to the size of each weight, with a minimum for small weights.
            size = np.abs(end.weights).sum() or 1.0
            scales = np.maximum(np.abs(end.weights), 0.005 * size)
            other = problem.along(end, scales * random.normal(size=len(scales)))
            if gains_enough(other.score, end.score):
                end, failures = problem.climb(other.weights, random), 0
            else:
                failures += 1
        return end


class End(NamedTuple):
    """The end point of a climb and its corpus score."""

    score: float
    weights: FloatArray  # of the moving features


class LineSearchProblem:
    """The candidates prepared for line search: moving columns, and a constant for the others."""

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
        # If only the moving weights affect the scores, their norm is arbitrary and set to 1.
        self.free = not collapsed and not rest.any()
        self._base = candidates.scores(rest) if not self.free else np.zeros(candidates.rows)
        self.corpus_score = partial(candidates.corpus_score, metric)
        self._search = (
            metric,
            candidates.begin,
            candidates.features.dense,
            self.moving,
            candidates.statistics,
        )
        self._line = Line.of(*self._search)
        self._norm = float(np.abs(vector[self.moving]).sum()) or 1.0
        self._length = 1.0 if self.free else self._norm
        self.start = vector[self.moving] / self._norm * self._length

    def __getstate__(self) -> dict[str, Any]:
        """What other processes need for climbs."""
        left_out = ("_line", "corpus_score")
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._line = Line.of(*self._search)

    def full_vector(self, moving: FloatArray) -> FloatArray:
        """Take the weights of the moving features and return those of all features."""
        vector = self._vector * (self._length / self._norm)
        vector[self._fixed] = self._vector[self._fixed]
        vector[self.moving] = moving
        return vector

    def rescaled(self, weights: Weights, fixed: frozenset[int]) -> Weights:
        """Return the given weights, also of features not in the candidates, at the new norm.

        Fixed weights do not change; unless they are all 0, the norm does not change either.
        """
        new = weights.copy()
        kept = {id: weights[id] for id in fixed if id in weights}
        new.scale(self._length / self._norm)
        for id, value in kept.items():
            new[id] = value
        return new

    def climb_from(self, start: FloatArray | None, random: np.random.Generator, number: int) -> End:
        """Climb from `start`, or (None) from a random point.

        Odd numbers start from the given weights times random factors, even ones anywhere.
        """
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
        """Move along the coordinates in random order until none gains; return the end point.

        Stops early if another gain as large as the last round's would not reach `worth`, since
        gains decrease from round to round.
        """
        search = self._line.search
        weights = self._normal(weights)
        reached, idle, last, known = 0.0, 0, -np.inf, -np.inf
        while True:
            scores = search.scores(self._base, weights)  # recomputed: rounding errors accumulate
            for column in random.permutation(len(weights)).tolist():
                x, reached, current = self._line.best(scores, self._scale(weights), column=column)
                if reached > current:
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
        """Take an end point and a direction and return the best point on the line."""
        scores = self._line.search.scores(self._base, end.weights)
        slopes = self._line.search.slopes(direction)
        x, reached, _ = self._line.best(scores, self._scale(end.weights), slopes=slopes)
        return End(reached, self._normal(end.weights + x * direction))

    def near(self, end: End, step: float) -> End:
        """Return the best of a few points on the way to an end point, at most `step` away.

        The distance is the L1 norm of the difference, relative to that of the start. An end point
        within it is returned as it is.
        """
        away = end.weights - self.start
        share = step * self._length / float(np.abs(away).sum() or 1.0)
        if share >= 1.0 or step >= FARTHEST:
            return end
        points = [self._normal(self.start + part * share * away) for part in PARTS]
        return max(map(self._at, points), key=lambda point: point.score)

    def _at(self, weights: FloatArray) -> End:
        return End(self.corpus_score(self.full_vector(weights)), weights)

    def _scale(self, weights: FloatArray) -> float:
        return 1.0 if self.free else float(np.abs(weights).sum()) or 1.0

    def _normal(self, weights: FloatArray) -> FloatArray:
        size = float(np.abs(weights).sum())
        return weights / size if self.free and size > 0 else weights


class Line:
    """Line search for any metric; for BLEU the engine also scores the intervals."""

    @classmethod
    def of(cls, metric: Metric, *arrays: Any) -> Line:
        """Take the arguments of the engine's `LineSearch`."""
        return cls(metric, LineSearch(*arrays))

    def __init__(self, metric: Metric, search: LineSearch) -> None:
        self.metric, self.search = metric, search
        self._none = np.zeros(0)
        self._bleu: tuple[int, float] | None = None
        # Metrics that differ from BLEU only in their sentence scores count as BLEU.
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
        """Return the best x, its corpus score, and the score at 0; `scale`: the weights' norm."""
        along = self._none if slopes is None else slopes
        narrow, margin = NARROW * scale, MARGIN * scale
        if self._bleu is not None:
            return self.search.best_bleu(scores, column, along, *self._bleu, narrow, margin)
        corners, sums = self.search.intervals(scores, column, along)
        sums = sums.reshape(len(corners) + 1, -1)
        return best_interval(corners, self.metric.score(sums), narrow, margin)


def gains_enough(reached: float, known: float) -> bool:
    """Whether a score exceeds the known one by GAIN; GAIN may vanish beside large scores."""
    return reached > known and reached >= known + GAIN


def best_interval(
    corners: FloatArray, gains: FloatArray, narrow: float, margin: float
) -> tuple[float, float, float]:
    """Take corners and the gains between them; return the best x, its gain, and the gain at 0.

    As in the engine, x is the middle of the first best interval that is not `narrow`, but at most
    `margin` away from the end of the interval nearer to 0; it is 0 if no interval is better than
    the one around 0. If 0 is a corner, its gain is -inf: it depends on the order of tied
    candidates, so the search always leaves it.
    """
    edges = np.concatenate([[-np.inf], corners, [np.inf]])
    around = int(np.searchsorted(corners, 0.0, side="right"))
    current = float(gains[around])
    if min(-edges[around], edges[around + 1]) < narrow / 2:
        current = -np.inf
    wide = edges[1:] - edges[:-1] >= narrow
    best = int(np.argmax(np.where(wide, gains, -np.inf)))
    if gains[best] <= current or not wide[best]:
        return 0.0, current, current
    low, high = float(edges[best]), float(edges[best + 1])
    half = min((high - low) / 2, margin)
    x = high - half if abs(high) < abs(low) else low + half
    return x, float(gains[best]), current


def constant_columns(candidates: Candidates) -> NDArray[np.bool_]:
    """Return a mask of the dense features that are equal for all candidates of every group."""
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


class Climb(NamedTuple):
    """A climb to do: from a point, or from a random one."""

    start: FloatArray | None
    seed: int
    number: int


class Shake(NamedTuple):
    """Perturbations of an end point to do."""

    end: End
    seed: int


@dataclass
class ClimbJob(Job[Climb | Shake, End]):
    """Climbs and perturbations on the same candidates."""

    problem: LineSearchProblem
    mert: Mert

    def open(self, resources: Resources) -> Callable[[Climb | Shake], End]:
        def climb(item: Climb | Shake) -> End:
            random = np.random.default_rng(item.seed)
            if isinstance(item, Shake):
                return self.mert.perturb(self.problem, item.end, random)
            return self.problem.climb_from(item.start, random, item.number)

        return climb


class Work:
    """Runs climbs on the executor of the task; reports the number of finished ones as progress."""

    def __init__(self, task: Task, job: ClimbJob) -> None:
        self._task, self._job, self._done = task, job, 0
        self._executor = task.executor or Threads(max(1, task.threads))

    def run(self, items: Sequence[Climb | Shake]) -> list[End]:
        """Return the end points of climbs or perturbations, in their order."""
        ends = []
        for end in self._executor.map(self._job, items):
            ends.append(end)
            self._done += 1
            if self._task.progress is not None:
                self._task.progress(self._done)
        return ends
