"""Expected linear n-gram gain over forests, and its gradient: minimum risk's objective on forests.
[li2009, wisniewski2013]

Takes the newest forest of each sentence and its references, and returns the objective as a function
of the weights. A forest is pruned to its best edges (`density`) and its nodes are split by the
n-grams that their derivations begin and end with (`expand`), so that the linear n-gram gain,
unclipped, is a sum over edges. The second-order expectation semiring then gives E[gain] and its
gradient, which is the covariance of gain and features (`cpp/learn/forest_gain`). The gain of the
set is the sum of these divided by the sum of reference lengths.

Only the newest forest of a sentence is used: a union of several would count a derivation once for
each forest that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear._engine import Forest
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import prune, trim, viterbi
from hopefear.forest.expand import expand
from hopefear.learn.pool.candidates import FloatArray
from hopefear.metrics.linear_ngram import LinearNgram
from hopefear.metrics.metric import References

GAIN = "(linear n-gram gain)"  # the additional feature of split forests


class Values(NamedTuple):
    """An expected gain and the mean entropy in nats, with their gradients."""

    gain: float
    gain_gradient: FloatArray
    entropy: float
    entropy_gradient: FloatArray


class Expected(Protocol):
    """Expectations under the distribution p ~ exp(gamma w.f) over candidates or derivations."""

    def __call__(self, vector: FloatArray, gamma: float) -> Values:
        """Take a weight vector and a sharpness and return gain, entropy and gradients."""

    def spread(self, vector: FloatArray) -> float:
        """Return the standard deviation of w.f under the uniform distribution."""


class ForestGain:
    """Expected gain and entropy on forests; weight vectors are in the order of `ids`."""

    def __init__(self, splits: Sequence[Forest], gain: int, words: float, threads: int) -> None:
        self.splits, self.threads = splits, threads
        self.words = words  # sum of reference lengths
        self._engine = _engine.ForestGain(list(splits), gain)
        self.ids: NDArray[np.uint64] = self._engine.ids

    @classmethod
    def of(
        cls,
        forests: Sequence[Forest],
        references: References,
        weights: Weights,
        *,
        order: int,
        beam: int,
        lowercase: bool = False,
        density: float = 0.0,
        threads: int = 1,
    ) -> ForestGain:
        """Take forests and references; split every forest that has a derivation.

        `weights` rank derivations where a beam prunes.
        """
        metric = LinearNgram(order=order, clip=False, lowercase=lowercase)
        prepared = metric.prepare(references)
        counted = prepared.references
        assert isinstance(counted, _engine.BleuReferences)
        gain = FeatureNames().intern(GAIN)

        def split(job: tuple[int, Forest]) -> Forest | None:
            number, forest = job
            if forest.goal is None:
                return None
            forest = prune(forest, weights, density=density) if density else trim(forest)
            if forest.edges == 0:
                return None
            scorer = _engine.LinearScorer(forest, counted, number, metric.xi, gain, lowercase)
            return expand(forest, scorer, weights, beam=beam).forest

        results = in_order(split, enumerate(forests), threads)
        splits = [forest for forest in results if forest is not None]
        return cls(splits, gain, float(prepared.mean_reference_lengths().sum()), threads)

    def __call__(self, vector: FloatArray, gamma: float) -> Values:
        point = np.ascontiguousarray(vector, np.float64)
        gain, gain_slope, entropy, entropy_slope = self._engine.evaluate(point, gamma, self.threads)
        words, count = max(self.words, 1.0), max(len(self.splits), 1)
        return Values(gain / words, gain_slope / words, entropy / count, entropy_slope / count)

    def spread(self, vector: FloatArray) -> float:
        """Return the standard deviation of w.f under the uniform distribution."""
        point = np.ascontiguousarray(vector, np.float64)
        return float(np.sqrt(self._engine.variance(point, self.threads) / max(len(self.splits), 1)))

    def vector(self, weights: Weights) -> FloatArray:
        """Return the weights as a vector in the order of `ids`."""
        return np.array([weights[int(id)] for id in self.ids], np.float64)


def best_texts(forests: Sequence[Forest], weights: Weights, threads: int = 1) -> list[str]:
    """Return the best translation of each forest; an empty string if it has no derivation."""

    def text(forest: Forest) -> str:
        best = viterbi(forest, weights)
        return "" if best is None else best.text

    return list(in_order(text, forests, threads))


def remember_names(weights: Weights, forests: Sequence[Forest]) -> None:
    """Give the weights' features their names from the forests."""
    known = {id(forest.names): forest.names for forest in forests if forest.names is not None}
    if weights.names is None or set(known) == {id(weights.names)}:
        return
    for feature in weights.vector().ids.tolist():
        if weights.names.name(feature) is None:
            name = next((n for names in known.values() if (n := names.name(feature))), None)
            if name is not None:
                weights.names.intern(name)
