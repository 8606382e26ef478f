"""MERT on forests: line search over all derivations that search kept.  [macherey2008, kumar2009]

Goes in: the forests of each sentence (all iterations'), references, weights. Along a line in weight
space the best derivation of a forest changes at the corners of its envelope. `harvest` follows the
lines through given weights along every feature, and keeps the derivations that are best somewhere
on them (`forest.best_on_lines`). On these derivations line search from the given weights is exact:
it is that of the forests. Elsewhere they are the most of what can be best, and `mert.py` searches
them as it searches k-best lists, which takes microseconds a line where forests take milliseconds.
Where it ends the forests are asked again, until they have nothing better to say.

Differs: the papers merge envelopes at every node for every line that is tried. Here most lines are
tried on the derivations known so far. Unless the rounds are over before, the result is the same in
kind: no line along a feature through it gains anything, over all derivations that pruning left.

Forests are pruned first, under the given weights: the newest of a sentence to its best edges for
every word (`density`), and all older ones together to as many, so that time does not grow with
their number as fast.

The features that move are those that nearly every rule or edge of a forest has; all if there are
few.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopefear._engine import Derivation, Forest
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.forest import best_on_lines, prune
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.learn.pool.candidates import Candidates
from hopefear.metrics.metric import Metric, References

FEW = 64  # features; as many columns k-best lists may have
_ONE = np.ones(1, np.float32)
REACH = 10.0  # how far a line is followed, for weights of norm 1


class Harvest:
    """The derivations found so far, as candidates."""

    def __init__(
        self,
        metric: Metric,
        forests: Sequence[Sequence[Forest]],
        references: References,
        weights: Weights,
        *,
        fixed: frozenset[int],
        density: float,
        threads: int,
    ) -> None:
        self.metric, self.threads = metric, threads

        def thin(several: Sequence[Forest]) -> list[Forest]:
            if not density:
                return list(several)
            share = density / max(1, len(several) - 1)
            older = [prune(forest, weights, density=share) for forest in several[:-1]]
            return older + [prune(forest, weights, density=density) for forest in several[-1:]]

        self.forests = forests = list(in_order(thin, forests, threads))
        dense, names = features_of(forests)
        self.moving = sorted(dense - fixed)
        self._prepared = metric.prepare(references)
        self._builder = CandidateBuilder(
            metric, references, names=names, dense=dense, dense_share=2.0, dense_limit=0
        )

    def add(self, weights: Weights) -> float:
        """Follow the lines through these weights; returns the forests' score at them."""
        axes = [Weights(SparseVector(np.array([id], np.uint64), _ONE)) for id in self.moving]
        reach = REACH * (sum(abs(weights[id]) for id in self.moving) or 1.0)

        def follow(forests: Sequence[Forest]) -> list[list[Derivation]]:
            return [best_on_lines(forest, weights, axes, reach=reach) for forest in forests]

        texts: list[str] = []
        for sentence, found in enumerate(in_order(follow, self.forests, self.threads)):
            there = [derivations for derivations in found if derivations]
            self._builder.add(sentence, [one for derivations in there for one in derivations])
            # The first one of a forest is its best at the weights themselves.
            best = max((derivations[0] for derivations in there), key=_score, default=None)
            texts.append("" if best is None else best.text)
        return self.metric.corpus_score(self._prepared.statistics(texts, threads=self.threads))

    def candidates(self) -> Candidates:
        """All that was found."""
        return self._builder.candidates()


def _score(derivation: Derivation) -> float:
    return derivation.score


def features_of(forests: Sequence[Sequence[Forest]]) -> tuple[set[int], FeatureNames]:
    """The features that may move, and the names of all."""
    every: set[int] = set()
    dense: set[int] = set()
    names = FeatureNames()
    known: dict[int, FeatureNames] = {}
    for several in forests:
        for forest in several:
            every.update(forest.feature_ids.tolist())
            columns = np.concatenate([forest.row_columns, forest.edge_columns])
            dense.update(forest.feature_ids[columns].tolist())
            if forest.names is not None:
                known[id(forest.names)] = forest.names
    for feature in sorted(every):
        name = next((n for table in known.values() if (n := table.name(feature))), None)
        if name is not None:
            names.intern(name)
    return (every if len(every) <= FEW else dense), names
