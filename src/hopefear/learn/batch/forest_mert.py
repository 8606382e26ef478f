"""MERT on forests: line search over all derivations that search kept.  [macherey2008, kumar2009]

Takes the forests of each sentence (of all iterations), references and weights, and returns the
derivations that can be best near the weights, as candidates. Along a line in weight space the best
derivation of a forest changes at the corners of its envelope. `Harvest.add` follows the lines
through given weights along every feature and keeps the derivations that are best somewhere on them
(`forest.best_on_lines`). On these derivations line search from the given weights gives the same
result as on the forests. Elsewhere they are most of the derivations that can be best, and `mert.py`
searches them like k-best lists, in microseconds per line instead of milliseconds. At the end point
more derivations are extracted from the forests, until there is no further gain.

Differs: the papers merge envelopes at every node for every line. Here most lines are searched on
the derivations known so far. Unless the number of rounds ends the search, the result has the same
property: no line along a feature through it gains, over all derivations of the pruned forests.

Forests are first pruned under the given weights: the newest of a sentence to its best edges
(`density` for each word), and all older ones together to the same number, which limits the growth
of time over iterations.

The moving features are those that nearly every rule or edge of a forest has, or all features if
there are at most FEW.
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

FEW = 64  # features; also the limit of dense columns in k-best lists
_ONE = np.ones(1, np.float32)
REACH = 10.0  # how far a line is followed, for weights of norm 1


class Harvest:
    """A growing set of derivations extracted from forests, as candidates."""

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

        def pruned(versions: Sequence[Forest]) -> list[Forest]:
            if not density:
                return list(versions)
            share = density / max(1, len(versions) - 1)
            older = [prune(forest, weights, density=share) for forest in versions[:-1]]
            return older + [prune(forest, weights, density=density) for forest in versions[-1:]]

        self.forests = forests = list(in_order(pruned, forests, threads))
        dense, names = features_of(forests)
        self.moving = sorted(dense - fixed)
        self._prepared = metric.prepare(references)
        self._builder = CandidateBuilder(
            metric, references, names=names, dense=dense, dense_share=2.0, dense_limit=0
        )

    def add(self, weights: Weights) -> float:
        """Add the derivations that are best on the lines through these weights.

        Returns the corpus score of the forests' best derivations under the weights.
        """
        axes = [Weights(SparseVector(np.array([id], np.uint64), _ONE)) for id in self.moving]
        reach = REACH * (sum(abs(weights[id]) for id in self.moving) or 1.0)

        def follow(forests: Sequence[Forest]) -> list[list[Derivation]]:
            return [best_on_lines(forest, weights, axes, reach=reach) for forest in forests]

        texts: list[str] = []
        for sentence, by_forest in enumerate(in_order(follow, self.forests, self.threads)):
            extracted = [derivations for derivations in by_forest if derivations]
            self._builder.add(sentence, [d for derivations in extracted for d in derivations])
            # The first derivation of a forest is the best under the weights themselves.
            best = max((derivations[0] for derivations in extracted), key=_score, default=None)
            texts.append("" if best is None else best.text)
        return self.metric.corpus_score(self._prepared.statistics(texts, threads=self.threads))

    def candidates(self) -> Candidates:
        """Return all derivations extracted so far."""
        return self._builder.candidates()


def _score(derivation: Derivation) -> float:
    return derivation.score


def features_of(forests: Sequence[Sequence[Forest]]) -> tuple[set[int], FeatureNames]:
    """Take forests and return the ids of the features to move, and the names of all features."""
    every: set[int] = set()
    dense: set[int] = set()
    names = FeatureNames()
    known: dict[int, FeatureNames] = {}
    for versions in forests:
        for forest in versions:
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
