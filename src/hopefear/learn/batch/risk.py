"""Minimum risk: the expected gain of a distribution over candidates, annealed.  [smith2006]

Takes a pool and the last weights and returns new weights. With p(y) proportional to
exp(gamma w.f(y)) among the candidates of a sentence, it maximises

    G(w) + T H(w) - (l2 / 2) |w - w_0|^2

with H the mean entropy of p in nats and w_0 the last weights. On k-best lists G is the corpus
metric of the *expected statistics* (`gain=corpus`): E[statistics], summed over sentences and scored
once, since a sum of sentence BLEUs is not BLEU; or the mean expected gain of a sentence
(`gain=sentence`: BLEU+1 for BLEU). The gradient is exact: dG / d statistics times the covariance of
statistics and features; of metrics other than BLEU, which have few statistics, the former are
central differences.

On forests (`space=forest`) BLEU does not decompose, and G is the expected linear n-gram gain
(metrics/linear_ngram.py) by reference length on a forest that is split by its n-grams
(learn/batch/forest_risk.py).  [li2009]

Annealing: one stage for each of the `temperatures` T at the first gamma, then T = 0 and one stage
for each of the `gammas`; each stage starts from the weights of the one before. A larger gamma gives
a sharper distribution and, with l2 > 0, weaker regularisation. Flat distributions lead to much
better weights than a sharp start: on the golden pool BLEU 51.80 instead of 50.80.

The final distribution is sharp, so w is long. Unless a fixed feature determines the scale, it does
not matter for the result: the search starts at a scale where scores differ by about 1 (with
l2 = 0), and the result is rescaled to the length of the last weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hopefear._engine import Forest
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.batch.forest_risk import (
    Expected,
    ForestGain,
    Values,
    best_texts,
    remember_names,
)
from hopefear.learn.batch.lbfgs import minimize
from hopefear.learn.batch.problem import BoolArray, Problem, times, times_transposed
from hopefear.learn.pool.candidates import FloatArray
from hopefear.learn.tuner import (
    BatchTuner,
    Optimized,
    Pool,
    Space,
    Task,
    bleu_in_forests,
    check_space,
)
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric


@register("tuner", "risk")
@dataclass(kw_only=True)
class Risk(BatchTuner):
    """Minimum risk training."""

    name: ClassVar[str] = "risk"
    spaces: ClassVar[tuple[Space, ...]] = ("kbest", "forest")

    space: Space = option("kbest", help="learn from k-best lists, or from the newest forests")
    gain: Literal["corpus", "sentence"] = option(
        "corpus",
        help="gain on k-best lists: corpus metric of the expected statistics, or mean expected "
        "sentence score",
    )
    gammas: list[float] = option(
        [1.0, 2.0, 4.0, 8.0], min=0, help="sharpness gamma of the distribution in each stage"
    )
    temperatures: list[float] = option(
        [0.1, 0.03, 0.01],
        may_be_empty=True,
        min=0,
        help="weight of the entropy in each of the stages at the first gamma, before the others",
    )
    l2: float = option(
        0.0,
        min=0,
        help="regularisation: l2 / 2 times the squared distance from the last weights",
    )
    max_steps: int = option(100, min=1, help="maximum number of L-BFGS steps per stage")
    order: int = option(2, min=1, max=4, help="longest n-gram of the linear gain on forests")
    beam: int = option(
        200, min=0, help="derivations considered per node when n-grams split a forest (0: all)"
    )
    density: float = option(
        50.0, min=0, help="edges kept in a forest per word of its best translation (0: all)"
    )

    def __post_init__(self) -> None:
        if not self.gammas or min(self.gammas) <= 0:
            raise OptionError(f"gammas: {self.gammas} is not valid; give numbers above 0")
        check_space(self, forest=("order", "beam", "density"), kbest=("gain",))

    def check(self, metric: Metric) -> None:
        if self.space == "forest":
            bleu_in_forests(metric)

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if self.space == "forest":
            return self._optimize_forests(pool, weights, task)
        problem = Problem(pool, weights, task)
        before = problem.corpus_score(problem.start)
        if problem.groups == 0:
            return Optimized(weights.copy(), before, {"stages": []})
        expected = KbestGain(problem, corpus=self.gain == "corpus")
        vector, stages = self.anneal(expected, problem.start, problem.free, task)
        return Optimized(problem.weights(vector), problem.corpus_score(vector), {"stages": stages})

    def _optimize_forests(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if pool.forests is None:
            raise ValueError("space=forest learns from forests, but the pool has none")
        # Sentences without a forest contribute no gain, but their references count.
        newest = [forests[-1] if forests else Forest() for forests in pool.forests]
        expected = ForestGain.of(
            newest,
            pool.references,
            weights,
            order=self.order,
            beam=self.beam,
            lowercase=bleu_in_forests(pool.metric).lowercase,
            density=self.density,
            threads=task.threads,
        )
        start = expected.vector(weights)
        free = ~np.isin(expected.ids, np.array(sorted(task.fixed), np.uint64))
        stages: list[dict[str, float]] = []
        vector = start
        if expected.splits:
            vector, stages = self.anneal(expected, start, free, task)
        new = weights.copy()
        for id, value in zip(expected.ids[free].tolist(), vector[free].tolist(), strict=True):
            new.table.set(id, value)
        remember_names(new, newest)
        rows = pool.metric.prepare(pool.references).statistics(
            best_texts(newest, new, task.threads), threads=task.threads
        )
        return Optimized(new, pool.metric.corpus_score(rows), {"stages": stages})

    def anneal(
        self, expected: Expected, start: FloatArray, free: BoolArray, task: Task
    ) -> tuple[FloatArray, list[dict[str, float]]]:
        """Run all stages from `start`; return the vector and the log of each stage."""
        plan = [(t, self.gammas[0]) for t in self.temperatures] + [(0.0, g) for g in self.gammas]
        fixed = np.where(free, 0.0, start)
        scale_is_free = expected.spread(fixed) <= 1e-9 * max(
            1.0, float(np.abs(fixed).max(initial=0))
        )
        vector, stages = start, []
        if scale_is_free and self.l2 == 0:
            # A sharp distribution has a gradient near 0: start where scores differ by about 1.
            spread = self.gammas[0] * expected.spread(start)
            vector = np.where(free, start / spread, start) if spread > 0 else start
        for number, (temperature, gamma) in enumerate(plan, 1):

            def loss(
                w: FloatArray, temperature: float = temperature, gamma: float = gamma
            ) -> tuple[float, FloatArray]:
                return self.loss(expected, w, start, free, temperature, gamma)

            minimum = minimize(loss, vector, self.max_steps)
            vector = np.where(free, minimum.vector, start)
            reached = expected(vector, gamma)
            stages.append(
                {
                    "gamma": gamma,
                    "temperature": temperature,
                    "gain": reached.gain,
                    "entropy": reached.entropy,
                    "steps": minimum.steps,
                }
            )
            if task.progress is not None:
                task.progress(number)
        length, start_length = np.linalg.norm(vector[free]), np.linalg.norm(start[free])
        if scale_is_free and length > 0 and start_length > 0:
            vector = np.where(free, vector * (start_length / length), start)
        return vector, stages

    def loss(
        self,
        expected: Expected,
        vector: FloatArray,
        centre: FloatArray,
        free: BoolArray,
        temperature: float,
        gamma: float,
    ) -> tuple[float, FloatArray]:
        """Return the loss that L-BFGS minimises and its gradient, 0 for fixed features."""
        values = expected(vector, gamma)
        away = vector - centre
        value = -values.gain - temperature * values.entropy + 0.5 * self.l2 * float(away @ away)
        slope = -values.gain_gradient - temperature * values.entropy_gradient + self.l2 * away
        return value, np.where(free, slope, 0.0)


class KbestGain:
    """Expected gain and entropy on the candidates of a problem."""

    def __init__(self, problem: Problem, *, corpus: bool) -> None:
        self.problem = problem
        self.corpus = corpus
        self._statistics = problem.candidates.statistics.astype(np.float64)

    def __call__(self, vector: FloatArray, gamma: float) -> Values:
        problem = self.problem
        log_p = self._log_probabilities(gamma * problem.matrix.dot(vector))
        p = np.exp(log_p)
        if self.corpus:
            total = times_transposed(self._statistics, p)
            gain, slope = score_gradient(problem.metric, total)
            per_row = times(self._statistics, slope)
        else:
            per_row = problem.gains / problem.groups
            gain = float(p @ per_row)
        # Where p is 0, p log p is 0 too.
        surprise = -log_p / problem.groups
        return Values(
            gain,
            self._covariance(p, per_row, gamma),
            float(p @ surprise),
            self._covariance(p, surprise, gamma),
        )

    def spread(self, vector: FloatArray) -> float:
        """Return the standard deviation of w.f under the uniform distribution."""
        problem = self.problem
        scores = problem.matrix.dot(vector)
        means = problem.per_group(np.add, scores) / problem.sizes
        squares = (scores - problem.repeat(means)) ** 2
        return float(np.sqrt((problem.per_group(np.add, squares) / problem.sizes).mean()))

    def _log_probabilities(self, scores: FloatArray) -> FloatArray:
        problem = self.problem
        shifted = scores - problem.repeat(problem.per_group(np.maximum, scores))
        total = np.log(problem.per_group(np.add, np.exp(shifted)))
        log_p: FloatArray = np.maximum(shifted - problem.repeat(total), -700.0)
        return log_p

    def _covariance(self, p: FloatArray, values: FloatArray, gamma: float) -> FloatArray:
        """Return the gradient of the sum of E[values]: gamma times the covariance with features.

        This holds for the surprise too, whose own derivative has expectation 0.
        """
        means = self.problem.repeat(self.problem.per_group(np.add, p * values))
        return gamma * self.problem.matrix.adjoint(p * (values - means))


def score_gradient(metric: Metric, total: FloatArray) -> tuple[float, FloatArray]:
    """Return the metric of summed statistics and its derivatives with respect to them."""
    value = float(metric.score(total))
    if type(metric).score is Bleu.score and isinstance(metric, Bleu) and _plain(metric, total):
        matches, totals, reference = metric.parts(total)
        slope = np.zeros_like(total)
        width = 2 * metric.order
        slope[0:width:2] = value / (metric.order * matches)
        slope[1:width:2] = -value / (metric.order * totals)
        if totals[0] < reference:  # exp(1 - reference / length)
            slope[1] += value * reference / totals[0] ** 2
            slope[width] -= value / (totals[0] * metric.length_unit)
        return value, slope
    # Central differences; the columns are counts, so steps are relative to at least 1.
    steps = 1e-5 * np.maximum(np.abs(total), 1.0)
    ahead = np.asarray(metric.score(total + np.diag(steps)), np.float64)
    back = np.asarray(metric.score(total - np.diag(steps)), np.float64)
    return value, (ahead - back) / (2.0 * steps)


def _plain(metric: Bleu, total: FloatArray) -> bool:
    """Whether BLEU of these statistics involves no smoothing."""
    matches, totals, _ = metric.parts(total)
    return bool((matches > 0).all() and (totals > 0).all()) and metric.smooth != "add-k"
