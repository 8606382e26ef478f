"""Large margins in lattices: oracle, violator and hinge of a sentence.  [wisniewski2013]

Goes in: a forest, references, weights. Comes out: the best derivation by the linear n-gram score
(the oracle h_1), the one that violates the margin most (h*, eq. 7), and what is to be learned from
the two. With score = Xi_1 c_1 + … + Xi_N c_N - Xi_0 c_non (eq. 8) and loss = score(h_1) - score(h),

    h*    = argmax w.f(h) + loss(h)
    hinge = max_h [loss(h) - w.(f(h_1) - f(h))]        never negative: h_1 is one of them
    its subgradient is f(h*) - f(h_1)

The forest is split so that every edge knows the words before it, and its share of the score is one
more feature. Then all three searches are best derivations (shortest paths, in a lattice) under
weights that differ in that feature only: +1 alone for the oracle, -1 for the violator, 0 for the
model's best.

Differs: errata eq. 4, 2.3, 4.1, Algorithm 1 and 4.2: the printed loss-augmented search finds the
hope. Matches are not clipped, as eq. 8 on edges implies.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear._engine import Derivation, Forest
from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.forest import edge_scores, expand, max_marginals, select, trim, viterbi
from hopefear.metrics.linear_ngram import LinearNgram
from hopefear.metrics.metric import References
from hopefear.metrics.prepared import PreparedReferences

#: The feature that split forests have more; no weights ever have it.
GAIN = FeatureNames().intern("(linear n-gram gain)")
#: Edges of a forest that is split exactly; a larger one gets a beam.
MOST_EDGES = 2_000_000
WIDE_BEAM = 100
_TIE = 1e-6  # scores of oracles differ by no more: values of features have single precision


@dataclass(frozen=True)
class Violation:
    """What a sentence has to teach."""

    hinge: float
    loss: float  # of the violator: score(h_1) - score(h*)
    difference: SparseVector  # f(h*) - f(h_1), without the features that may not move


class MarginLattice:
    """The split forest of a sentence, and its oracle."""

    def __init__(self, forest: Forest, oracle: Derivation) -> None:
        self.forest, self.oracle = forest, oracle
        self.ids: NDArray[np.uint64] = np.sort(forest.feature_ids[forest.feature_ids != GAIN])
        self.bytes: int = forest.bytes

    def violation(self, weights: Weights, fixed: frozenset[int] = frozenset()) -> Violation:
        """Under these weights; `fixed` features are left out of the subgradient."""
        augmented = weights.copy()
        augmented[GAIN] = -1.0
        scores = edge_scores(self.forest, augmented)
        worst = viterbi(self.forest, scores=scores)
        assert worst is not None, "the oracle is a derivation"
        # Summed edge by edge: equal derivations have a hinge of 0.
        hinge = float(scores[worst.edges].sum() - scores[self.oracle.edges].sum())
        difference = worst.features - self.oracle.features
        kept = ~np.isin(difference.ids, np.array([GAIN, *fixed], np.uint64))
        return Violation(
            max(0.0, hinge),
            -float(difference.get(GAIN)),
            SparseVector(difference.ids[kept], difference.values[kept]),
        )


class LinearLoss:
    """Eq. 8 for the references of a set."""

    def __init__(self, references: References, order: int, xi: Sequence[float] = ()) -> None:
        self.metric = LinearNgram(order=order, xi=list(xi), clip=False)
        self.prepared: PreparedReferences = self.metric.prepare(references)

    @property
    def xi(self) -> list[float]:
        return self.metric.xi

    def lattice(
        self,
        forest: Forest,
        sentence: int,
        weights: Weights,
        *,
        density: float = 0.0,
        beam: int = 0,
    ) -> MarginLattice | None:
        """The forest of a sentence, pruned and split; None if it has no derivation.

        The weights decide what pruning leaves, and between oracles of equal score. `density` as in
        `thin`; `beam`: derivations looked at per node, 0: all.
        """
        forest = thin(trim(forest), weights, density)
        if forest.goal is None or forest.edges == 0:
            return None
        references = self.prepared.references
        assert isinstance(references, _engine.BleuReferences)

        def split(width: int, limit: int) -> Forest:
            scorer = _engine.LinearScorer(
                forest, references, sentence, self.xi, GAIN, self.metric.lowercase
            )
            return expand(forest, scorer, weights, beam=width, limit=limit).forest

        try:
            made = split(beam, 25 * MOST_EDGES if beam else MOST_EDGES)
        except InputError:
            if beam:
                raise
            made = split(WIDE_BEAM, 25 * MOST_EDGES)
        return MarginLattice(made, find_oracle(made, weights))


def thin(forest: Forest, weights: Weights, density: float) -> Forest:
    """The edges of the best derivations: so many for each word of the best string; 0: all."""
    best = viterbi(forest, weights) if density else None
    if best is None:
        return forest
    # A derivation is there as a whole: its edges' best derivations score no less than it.
    count = max(len(best.edges), int(density * max(1, len(best.words))))
    reached = max_marginals(forest, weights)
    if count >= len(reached):
        return forest
    return select(forest, reached >= np.partition(reached, -count)[-count])


def find_oracle(forest: Forest, weights: Weights) -> Derivation:
    """Of the derivations with the best linear score the model's best.

    A derivation all of whose edges are on best ones is a best one itself.
    """
    gains = edge_scores(forest, Weights(SparseVector(np.array([GAIN]), np.ones(1, np.float32))))
    reached = max_marginals(forest, scores=gains)
    best = reached.max()
    tied = reached >= best - _TIE * (1.0 + abs(best))
    scores = np.where(tied, edge_scores(forest, weights), -np.inf)
    found = viterbi(forest, scores=scores)
    assert found is not None
    return found


class LatticeCache:
    """The split forests used last, up to a number of bytes; others are made again."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept: OrderedDict[int, MarginLattice] = OrderedDict()

    def get(self, sentence: int) -> MarginLattice | None:
        found = self._kept.get(sentence)
        if found is not None:
            self._kept.move_to_end(sentence)
        return found

    def put(self, sentence: int, lattice: MarginLattice) -> None:
        self._kept[sentence] = lattice
        self._bytes += lattice.bytes
        while self._bytes > self._most and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].bytes

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0
