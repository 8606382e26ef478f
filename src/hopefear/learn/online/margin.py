"""Margins in lattices: oracle, violator and hinge of a sentence.  [wisniewski2013]

Takes a forest, references and weights, and returns the best derivation by the linear n-gram score
(the oracle h_1), the one that violates the margin most (h*, eq. 7), and the subgradient. With
score = Xi_1 c_1 + … + Xi_N c_N - Xi_0 c_non (eq. 8) and loss = score(h_1) - score(h),

    h*    = argmax w.f(h) + loss(h)
    hinge = max_h [loss(h) - w.(f(h_1) - f(h))]        never negative: h_1 is one of them
    its subgradient is f(h*) - f(h_1)

The forest is split so that every edge determines the words before it, and the score of an edge
becomes one more feature. All three searches are then best derivations (shortest paths in a lattice)
under weights that differ only in that feature: +1 alone for the oracle, -1 for the violator, 0 for
the model's best.

Differs: errata eq. 4, 2.3, 4.1, Algorithm 1 and 4.2: the loss-augmented search as printed finds the
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

#: The additional feature of split forests; it is never among learned weights.
GAIN = FeatureNames().intern("(linear n-gram gain)")
#: Maximum number of edges of a split forest; a larger one is split with a beam.
MOST_EDGES = 2_000_000
WIDE_BEAM = 100
_TIE = 1e-6  # relative difference of tied oracles: feature values have single precision


@dataclass(frozen=True)
class Violation:
    """The hinge, loss and subgradient of a sentence."""

    hinge: float
    loss: float  # of the violator: score(h_1) - score(h*)
    difference: SparseVector  # f(h*) - f(h_1), without fixed features


class MarginLattice:
    """The split forest of a sentence, and its oracle."""

    def __init__(self, forest: Forest, oracle: Derivation) -> None:
        self.forest, self.oracle = forest, oracle
        self.ids: NDArray[np.uint64] = np.sort(forest.feature_ids[forest.feature_ids != GAIN])
        self.bytes: int = forest.bytes

    def violation(self, weights: Weights, fixed: frozenset[int] = frozenset()) -> Violation:
        """Take weights and return the largest violation; the subgradient omits `fixed`."""
        augmented = weights.copy()
        augmented[GAIN] = -1.0
        scores = edge_scores(self.forest, augmented)
        worst = viterbi(self.forest, scores=scores)
        assert worst is not None, "the oracle is a derivation"
        # Summed over edges, so that equal derivations have a hinge of exactly 0.
        hinge = float(scores[worst.edges].sum() - scores[self.oracle.edges].sum())
        difference = worst.features - self.oracle.features
        kept = ~np.isin(difference.ids, np.array([GAIN, *fixed], np.uint64))
        return Violation(
            max(0.0, hinge),
            -float(difference.get(GAIN)),
            SparseVector(difference.ids[kept], difference.values[kept]),
        )


class LinearLoss:
    """The linear n-gram loss (eq. 8) with the references of a set."""

    def __init__(self, references: References, order: int, xi: Sequence[float] = ()) -> None:
        self.metric = LinearNgram(order=order, xi=list(xi), clip=False)
        self.prepared: PreparedReferences = self.metric.prepare(references)

    @property
    def xi(self) -> list[float]:
        """The constants Xi_0, Xi_1, …"""
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
        """Take the forest of a sentence; return it pruned and split, or None without derivation.

        The weights are used for pruning and for choosing among oracles of equal score. `density` as
        in `thin`; `beam`: derivations considered per node (0: all).
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
            lattice = split(beam, 25 * MOST_EDGES if beam else MOST_EDGES)
        except InputError:
            if beam:
                raise
            lattice = split(WIDE_BEAM, 25 * MOST_EDGES)
        return MarginLattice(lattice, find_oracle(lattice, weights))


def thin(forest: Forest, weights: Weights, density: float) -> Forest:
    """Prune a forest to `density` edges per word of the best string (0: all), the best ones."""
    best = viterbi(forest, weights) if density else None
    if best is None:
        return forest
    # Derivations stay complete: the max-marginal of each edge is at least the derivation's score.
    count = max(len(best.edges), int(density * max(1, len(best.words))))
    reached = max_marginals(forest, weights)
    if count >= len(reached):
        return forest
    return select(forest, reached >= np.partition(reached, -count)[-count])


def find_oracle(forest: Forest, weights: Weights) -> Derivation:
    """Return the model's best among the derivations with the highest linear score.

    A derivation whose edges all belong to highest-scoring derivations is one of these itself.
    """
    gains = edge_scores(forest, Weights(SparseVector(np.array([GAIN]), np.ones(1, np.float32))))
    reached = max_marginals(forest, scores=gains)
    best = reached.max()
    tied = reached >= best - _TIE * (1.0 + abs(best))
    scores = np.where(tied, edge_scores(forest, weights), -np.inf)
    oracle = viterbi(forest, scores=scores)
    assert oracle is not None
    return oracle


class LatticeCache:
    """A cache of the most recently used split forests, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept: OrderedDict[int, MarginLattice] = OrderedDict()

    def get(self, sentence: int) -> MarginLattice | None:
        """Return the lattice of a sentence if it is in the cache."""
        lattice = self._kept.get(sentence)
        if lattice is not None:
            self._kept.move_to_end(sentence)
        return lattice

    def put(self, sentence: int, lattice: MarginLattice) -> None:
        """Add a lattice, and remove the least recently used ones beyond the size."""
        self._kept[sentence] = lattice
        self._bytes += lattice.bytes
        while self._bytes > self._most and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].bytes

    def clear(self) -> None:
        """Remove all lattices."""
        self._kept.clear()
        self._bytes = 0
