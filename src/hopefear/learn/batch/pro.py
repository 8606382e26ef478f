"""PRO: tuning as ranking: pairs of candidates are examples of a linear classifier.  [hopkins2011]

Per group (the candidates of a sentence) `samples` pairs are drawn with replacement; those whose
gains differ by at least `threshold` are left, and of these the `kept` with the largest difference.
A pair gives the examples +(f1 - f2) and -(f1 - f2); logistic loss without a bias plus
(precision / 2) |w|^2 is minimised by L-BFGS. The result is `interpolation` times the new weights
plus the rest of the last ones.

Options against what goes wrong with it: `smooth_brevity` adds one to the reference length in the
brevity penalty of BLEU+1, as the counts of n-grams have one added [nakov2012]; `max_difference` and
`max_length_difference` are the cut-offs against pairs with a "monster", and `accept=random` takes
any `kept` of the pairs that are left instead of the most different [nakov2013].

Differs: where bins are groups, [liu2014] has all pairs of each (eq. 9). Here the bins of a sentence
share its `samples`, though each draws at least `kept`, and each keeps its own `kept`: |x| times as
many examples as without bins, from about as many draws.

Differs: new and last weights are brought to one length (L2, of the free features) before they are
mixed, since the classifier's scale says nothing about the direction; unless a fixed feature with a
weight gives the scale. The first iteration mixes with the start, too, if a decoder goes on with the
result; the candidates of one decoding say little about weights far from those that made them. Taken
alone (interpolation 1), the first weights made translations of the Bible (zh-en) one and a half
times too long with hierarchical rules, and twice too long with the bins of phrases, as [liu2014]
met too: BLEU fell from 34 to 10. For lists that nobody decodes again the new weights are taken
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.batch.lbfgs import minimize
from hopefear.learn.batch.problem import (
    BoolArray,
    IntArray,
    Matrix,
    Problem,
    counts_words,
    sentence_metric,
)
from hopefear.learn.pool.candidates import FloatArray
from hopefear.learn.pool.search_aware import SearchAware
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task
from hopefear.metrics.metric import Metric

_PAIRS_AT_ONCE = 250_000  # what a cache holds; all at once takes half as long again


class Pairs(NamedTuple):
    """Rows of candidates: the better one and the worse one of each pair."""

    better: IntArray
    worse: IntArray


@register("tuner", "pro")
@dataclass(kw_only=True)
class Pro(SearchAware, BatchTuner):
    """Pairwise ranking optimisation."""

    name: ClassVar[str] = "pro"
    kbest: ClassVar[int] = 1500

    samples: int = option(
        5000, min=1, help="pairs drawn for each sentence (Gamma), shared by its bins if there are"
    )
    kept: int = option(50, min=1, help="pairs kept of these, at most, in each bin (Xi)")
    threshold: float = option(0.05, min=0, help="smallest difference of gains of a pair (alpha)")
    interpolation: float = option(
        0.1,
        min=0,
        max=1,
        help="share of the new weights, the rest are those of before (Psi)",
    )
    precision: float = option(1.0, min=0, help="of the prior: precision / 2 times |w| squared")
    max_steps: int = option(100, min=1, help="steps of L-BFGS, at most")
    accept: Literal["largest", "random"] = option(
        "largest", help="which pairs are kept: those of largest difference, or any (Nakov 2013)"
    )
    max_difference: float | None = option(
        None, min=0, help="largest difference of gains of a pair, such as 0.1 (Nakov 2013)"
    )
    max_length_difference: int | None = option(
        None, min=0, help="largest difference of a pair's lengths in words (Nakov 2013)"
    )
    smooth_brevity: bool = option(
        False, help="add one to the reference length in BLEU+1's brevity penalty (Nakov 2012)"
    )

    def check(self, metric: Metric) -> None:
        sentence_metric(metric, self.smooth_brevity)
        if self.max_length_difference is not None:
            counts_words(metric)

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        problem = Problem(pool, weights, task, smooth_brevity=self.smooth_brevity)
        pairs = self.sample(problem, task.random)
        if len(pairs.better) == 0:
            return Optimized(
                weights.copy(), problem.corpus_score(problem.start), {"pairs": 0, "steps": 0}
            )
        examples = Matrix.of_differences(problem.candidates.features, pairs.better, pairs.worse)
        learned, steps = self.classify(examples, problem)
        alone = task.iteration == 0 and not task.searching
        share = 1.0 if alone else self.interpolation
        vector = mixed(learned, problem, share)
        accuracy = float((examples.dot(vector) > 0).mean())
        notes = {"pairs": len(pairs.better), "steps": steps, "accuracy": accuracy}
        return Optimized(problem.weights(vector), problem.corpus_score(vector), notes)

    def sample(self, problem: Problem, random: np.random.Generator) -> Pairs:
        """The pairs that are learned from, in the order of their groups."""
        counts = self.shares(problem)
        found = []
        # Groups that draw equally many, one after the other, are a rectangle of pairs.
        changes = np.flatnonzero(np.diff(counts)) + 1
        for same in np.split(np.arange(problem.groups), changes):
            count = int(counts[same[0]]) if len(same) else 0
            at_once = max(1, _PAIRS_AT_ONCE // max(1, count))
            for first in range(0, len(same), at_once):
                found.append(self._sample(problem, random, same[first : first + at_once], count))
        none = np.zeros(0, np.int64)
        return Pairs(
            np.concatenate([none, *(pairs.better for pairs in found)]),
            np.concatenate([none, *(pairs.worse for pairs in found)]),
        )

    def shares(self, problem: Problem) -> IntArray:
        """How many pairs each group draws: the bins of a sentence share what it may."""
        _, which, bins = np.unique(problem.sentences, return_inverse=True, return_counts=True)
        return np.maximum(self.samples // bins[which], min(self.samples, self.kept))

    def _sample(
        self, problem: Problem, random: np.random.Generator, groups: IntArray, count: int
    ) -> Pairs:
        # Everything at once for many groups: one by one costs as much again as learning.
        drawn = random.random((2, len(groups), count))
        drawn *= problem.sizes[groups, None]
        first, second = drawn.astype(np.int64) + problem.begin[groups, None]
        difference = problem.gains[first] - problem.gains[second]
        size = np.abs(difference)
        good = (size >= self.threshold) & (size > 0)
        if self.max_difference is not None:
            good &= size <= self.max_difference
        if self.max_length_difference is not None:
            lengths = problem.lengths
            good &= np.abs(lengths[first] - lengths[second]) <= self.max_length_difference
        if self.accept == "largest" and self.kept < count:
            # Drawn at random, so equal differences are in no order that would matter.
            ranked = np.argpartition(np.where(good, -size, 1.0), self.kept - 1, axis=1)
            kept = np.zeros_like(good)
            np.put_along_axis(kept, ranked[:, : self.kept], True, axis=1)
            good &= kept
        else:
            good &= np.cumsum(good, axis=1) <= self.kept
        first, second, swap = first[good], second[good], difference[good] < 0
        return Pairs(np.where(swap, second, first), np.where(swap, first, second))

    def classify(self, examples: Matrix, problem: Problem) -> tuple[FloatArray, int]:
        """Weights that rank the pairs, and the number of steps; fixed features stay."""
        free = problem.free
        start = np.where(free, 0.0, problem.start)

        def loss(vector: FloatArray) -> tuple[float, FloatArray]:
            return self.loss(vector, examples, free)

        found = minimize(loss, start, self.max_steps)
        return found.vector, found.steps

    def loss(
        self, vector: FloatArray, examples: Matrix, free: BoolArray
    ) -> tuple[float, FloatArray]:
        """The logistic loss with its prior, and its gradient, 0 for what is fixed."""
        margin = examples.dot(vector)
        prior = np.where(free, vector, 0.0)
        # Both examples of a pair have the same loss, hence 2.
        value = 2.0 * np.logaddexp(0.0, -margin).sum() + 0.5 * self.precision * (prior @ prior)
        # 1 / (1 + exp(m)) without overflow.
        slope = -np.exp(-np.logaddexp(0.0, margin))
        gradient = 2.0 * examples.adjoint(slope) + self.precision * prior
        return float(value), np.where(free, gradient, 0.0)


def mixed(learned: FloatArray, problem: Problem, share: float) -> FloatArray:
    """`share` of the learned weights and the rest of the last ones, at one length."""
    last, free = problem.start, problem.free
    if not last[free].any():
        return learned
    return share * problem.as_long_as_before(learned) + (1.0 - share) * last
