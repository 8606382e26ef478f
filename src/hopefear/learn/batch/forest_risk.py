"""Expected linear n-gram gain over forests, and its gradient: minimum risk's objective on forests.
[li2009, wisniewski2013]

Goes in: per sentence the newest forest and its references. A forest is pruned to its best edges
(`density`) and split by the n-grams that its derivations end and begin with (`expand`), so that the
linear n-gram gain, unclipped, is a sum over edges; the second-order expectation semiring then gives
E[gain] and its gradient, which is the covariance of gain and features (`cpp/learn/forest_gain`).
The gain of the set is their sum by the sum of reference lengths.

Only the newest forest of a sentence is used: a union of several would count a derivation as often
as it was found.
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

GAIN = "(linear n-gram gain)"  # the feature that the split forest has more


class Values(NamedTuple):
    """An expected gain and the mean entropy in nats, each with its gradient by the vector."""

    gain: float
    gain_gradient: FloatArray
    entropy: float
    entropy_gradient: FloatArray


class Expected(Protocol):
    """Of the distribution p ~ exp(gamma w.f) over candidates or derivations."""

    def __call__(self, vector: FloatArray, gamma: float) -> Values: ...

    def spread(self, vector: FloatArray) -> float:
        """The standard deviation of w.f where all are equally probable, over all sentences."""


class ForestGain:
    """Expected gain and entropy on forests; a vector has the order of `ids`."""

    def __init__(self, splits: Sequence[Forest], gain: int, words: float, threads: int) -> None:
        self.splits, self.threads = splits, threads
        self.words = words  # of the references, summed
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
        """Splits every forest that has a derivation; under a beam, by these weights."""
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

        made = in_order(split, enumerate(forests), threads)
        splits = [one for one in made if one is not None]
        return cls(splits, gain, float(prepared.mean_reference_lengths().sum()), threads)

    def __call__(self, vector: FloatArray, gamma: float) -> Values:
        at = np.ascontiguousarray(vector, np.float64)
        gain, gain_slope, entropy, entropy_slope = self._engine.evaluate(at, gamma, self.threads)
        words, count = max(self.words, 1.0), max(len(self.splits), 1)
        return Values(gain / words, gain_slope / words, entropy / count, entropy_slope / count)

    def spread(self, vector: FloatArray) -> float:
        at = np.ascontiguousarray(vector, np.float64)
        return float(np.sqrt(self._engine.variance(at, self.threads) / max(len(self.splits), 1)))

    def vector(self, weights: Weights) -> FloatArray:
        return np.array([weights[int(id)] for id in self.ids], np.float64)


def best_texts(forests: Sequence[Forest], weights: Weights, threads: int = 1) -> list[str]:
    """The model's best translation of each forest; nothing where there is none."""

    def text(forest: Forest) -> str:
        best = viterbi(forest, weights)
        return "" if best is None else best.text

    return list(in_order(text, forests, threads))


def remember_names(weights: Weights, forests: Sequence[Forest]) -> None:
    """Give the weights the names that the forests know of their features."""
    known = {id(forest.names): forest.names for forest in forests if forest.names is not None}
    if weights.names is None or set(known) == {id(weights.names)}:
        return
    for feature in weights.vector().ids.tolist():
        if weights.names.name(feature) is None:
            name = next((n for names in known.values() if (n := names.name(feature))), None)
            if name is not None:
                weights.names.intern(name)
