"""Pairwise ranking optimisation: a linear classifier of pairs of candidates.  [hopkins2011]

Takes a pool and the last weights and returns new weights. For each group (the candidates of a
sentence) `samples` pairs are drawn with replacement. Of the pairs whose gains differ by at least
`threshold`, the `kept` pairs with the largest difference are used. A pair gives the examples
+(f1 - f2) and -(f1 - f2); L-BFGS minimises the logistic loss without a bias plus
(precision / 2) |w|^2. The result is `interpolation` times the new weights plus
(1 - `interpolation`) times the last ones.

Options against known problems of PRO: `smooth_brevity` adds one to the reference length in the
brevity penalty of BLEU+1, as one is added to the counts of n-grams [nakov2012]; `max_difference`
and `max_length_difference` exclude pairs with a "monster", and `accept=random` keeps any `kept` of
the remaining pairs instead of those with the largest difference [nakov2013].

Differs: where bins are groups, [liu2014] uses all pairs of each (eq. 9). Here the bins of a
sentence share its `samples`, but each draws at least `kept` pairs and keeps its own `kept`: |x|
times as many examples as without bins, from about as many draws.

Differs: new and last weights are scaled to equal norm (L2, of the free features) before they are
mixed, since the classifier's scale does not affect the direction; unless a fixed feature with a
weight determines the scale. The first iteration also mixes with the initial weights if a decoder
uses the result, because the candidates of one decoding carry little information about weights far
from those that produced them. Without mixing (interpolation 1), the first weights made translations
of the Bible (zh-en) one and a half times too long with hierarchical rules, and twice too long with
the bins of phrase search, which [liu2014] also report: BLEU fell from 34 to 10. For lists that are
not decoded again the new weights are not mixed.
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

_PAIRS_AT_ONCE = 250_000  # these fit into a cache; all pairs at once take 1.5 times as long


class Pairs(NamedTuple):
    """The rows of the better and of the worse candidate of each pair."""

    better: IntArray
    worse: IntArray


@register("tuner", "pro")
@dataclass(kw_only=True)
class Pro(SearchAware, BatchTuner):
    """Pairwise ranking optimisation."""

    name: ClassVar[str] = "pro"
    kbest: ClassVar[int] = 1500

    samples: int = option(
        5000, min=1, help="pairs drawn per sentence (Gamma); the bins of a sentence share them"
    )
    kept: int = option(50, min=1, help="maximum number of pairs kept per sentence or bin (Xi)")
    threshold: float = option(0.05, min=0, help="minimum difference of gains of a pair (alpha)")
    interpolation: float = option(
        0.1,
        min=0,
        max=1,
        help="weight of the new weights in the mean with the last ones (Psi)",
    )
    precision: float = option(
        1.0, min=0, help="precision of the prior, which adds precision / 2 times |w| squared"
    )
    max_steps: int = option(100, min=1, help="maximum number of L-BFGS steps")
    accept: Literal["largest", "random"] = option(
        "largest", help="pairs to keep: those of largest difference, or random ones (Nakov 2013)"
    )
    max_difference: float | None = option(
        None,
        min=0,
        help="maximum difference of gains of a pair, such as 0.1 (Nakov 2013); if not given, "
        "unlimited",
    )
    max_length_difference: int | None = option(
        None,
        min=0,
        help="maximum difference of lengths of a pair in words (Nakov 2013); if not given, "
        "unlimited",
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
        """Draw the pairs to learn from and return them in the order of their groups."""
        counts = self.shares(problem)
        samples = []
        # Consecutive groups with equal numbers of draws are sampled as a rectangular array.
        changes = np.flatnonzero(np.diff(counts)) + 1
        for same in np.split(np.arange(problem.groups), changes):
            count = int(counts[same[0]]) if len(same) else 0
            at_once = max(1, _PAIRS_AT_ONCE // max(1, count))
            for first in range(0, len(same), at_once):
                samples.append(self._sample(problem, random, same[first : first + at_once], count))
        none = np.zeros(0, np.int64)
        return Pairs(
            np.concatenate([none, *(pairs.better for pairs in samples)]),
            np.concatenate([none, *(pairs.worse for pairs in samples)]),
        )

    def shares(self, problem: Problem) -> IntArray:
        """Return the number of pairs to draw from each group; the bins of a sentence share."""
        _, which, bins = np.unique(problem.sentences, return_inverse=True, return_counts=True)
        return np.maximum(self.samples // bins[which], min(self.samples, self.kept))

    def _sample(
        self, problem: Problem, random: np.random.Generator, groups: IntArray, count: int
    ) -> Pairs:
        # Vectorised over groups: sampling them one by one takes as long as learning.
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
            # Pairs are in random order, so it does not matter how ties are broken.
            ranked = np.argpartition(np.where(good, -size, 1.0), self.kept - 1, axis=1)
            kept = np.zeros_like(good)
            np.put_along_axis(kept, ranked[:, : self.kept], True, axis=1)
            good &= kept
        else:
            good &= np.cumsum(good, axis=1) <= self.kept
        first, second, swap = first[good], second[good], difference[good] < 0
        return Pairs(np.where(swap, second, first), np.where(swap, first, second))

    def classify(self, examples: Matrix, problem: Problem) -> tuple[FloatArray, int]:
        """Return weights that rank the pairs, and the number of steps; fixed weights stay."""
        free = problem.free
        start = np.where(free, 0.0, problem.start)

        def loss(vector: FloatArray) -> tuple[float, FloatArray]:
            return self.loss(vector, examples, free)

        minimum = minimize(loss, start, self.max_steps)
        return minimum.vector, minimum.steps

    def loss(
        self, vector: FloatArray, examples: Matrix, free: BoolArray
    ) -> tuple[float, FloatArray]:
        """Return the logistic loss with its prior and the gradient, 0 for fixed features."""
        margin = examples.dot(vector)
        prior = np.where(free, vector, 0.0)
        # Factor 2: both examples of a pair have the same loss.
        value = 2.0 * np.logaddexp(0.0, -margin).sum() + 0.5 * self.precision * (prior @ prior)
        # 1 / (1 + exp(m)) without overflow.
        slope = -np.exp(-np.logaddexp(0.0, margin))
        gradient = 2.0 * examples.adjoint(slope) + self.precision * prior
        return float(value), np.where(free, gradient, 0.0)


def mixed(learned: FloatArray, problem: Problem, share: float) -> FloatArray:
    """Return `share` of the learned plus 1 - `share` of the last weights, at equal norm."""
    last, free = problem.start, problem.free
    if not last[free].any():
        return learned
    return share * problem.as_long_as_before(learned) + (1.0 - share) * last
