"""Search errors: good and bad derivations of each bin, and the bin to learn from.
[yu2013, huang2012]

Takes the forest of a beam search, the gold forest of the reference, and weights. For each bin (the
nodes that cover i source words) it computes the score of the best good derivation, in the beam or
not, and of the best bad one in the beam. Each rule of the paper selects the bin whose two
derivations an update uses:

    early           the first bin where all good derivations have fallen off the beam for good; if
                    good ones reach the last bin but lose there, the last bin (3.2, soft version)
    max-violation   the bin with the largest violation (3.3)
    standard        the last bin, with or without good derivations in it (3.4; "bold" [liang2006])

A violation is w.Phi(bad) - w.Phi(good) >= 0. An update without violation is *invalid*: the weights
already prefer the good derivation. In theory early and max-violation never make one. But bins are
pruned with future costs, by cube pruning and limits, so early may, and max-violation must check.

Differs: errata yu2013 3.1: good states are those on a path to all of x and all of y; 3-4: bins
without a good derivation are skipped; 5-8: a bin counts only if its best derivation is bad, and
violation is measured by w.Phi; 4: the best bad *derivation*, which recombination may have hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear._engine import BestSpans, Derivation, Forest, SparseVector
from hopefear.base.weights import FeatureNames, Weights

FloatArray = NDArray[np.float64]


class Violations:
    """The good and bad derivations of a sentence, by bin; bin 0 is the empty derivation."""

    def __init__(
        self,
        beam: Forest,
        gold: Forest,
        weights: Weights,
        *,
        complete: bool = True,
        spans: BestSpans | None = None,
    ) -> None:
        """Take the forest of beam search and `gold`, the forest of forced decoding.

        `complete`: derivations cover the sentence, and the last bin is the goal; False for a prefix
        of a sentence pair. `spans`: scores and features include the best translations of uncovered
        spans, as in the ranking of search. Each edge has at most one tail, followed by words.
        """
        self._engine = _engine.Violations(beam, gold, weights.table, complete, spans)
        self._weights, self._spans = weights, spans
        self._names = beam.names or FeatureNames()
        self.good: FloatArray = self._engine.good  # scores; -inf where there is none
        self.bad: FloatArray = self._engine.bad
        self.survivor: FloatArray = self._engine.survivor  # the best good one in the beam
        both = np.isfinite(self.good) & np.isfinite(self.bad)
        #: w.Phi(good) - w.Phi(bad): a violation if at most 0; NaN where either is missing.
        self.margins: FloatArray = np.full(len(both), np.nan)
        self.margins[both] = self.good[both] - self.bad[both]

    @property
    def length(self) -> int:
        """The number of source words, which is the number of the last bin."""
        return len(self.good) - 1

    @property
    def longest(self) -> int:
        """The number of source words of the longest phrase in a good derivation."""
        return self._engine.longest

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Mask of the bins whose best derivation is bad although a good one exists."""
        return ~np.isnan(self.margins) & (self.bad >= self.survivor)

    @property
    def last_nodes(self) -> NDArray[np.uint32]:
        """The nodes of the last bin in the beam: the goal, if derivations are complete."""
        return self._engine.last_nodes

    def pair(self, bin: int) -> tuple[Derivation, Derivation]:
        """Return the best good and the best bad derivation of a bin."""
        return self._engine.pair(bin)

    def difference(self, bin: int) -> SparseVector:
        """Return the features of the best good minus those of the best bad derivation of a bin."""
        difference = self._engine.difference(bin)
        if self._spans is None:
            return difference
        return difference.plus(
            self._engine.future_difference(bin, self._spans, self._weights.table, self._names)
        )


class Chosen(NamedTuple):
    """The bin that an update uses, and its margin."""

    bin: int
    margin: float  # w.(Phi(good) - Phi(bad))

    @property
    def valid(self) -> bool:
        """Whether there is a violation."""
        return self.margin <= 0


def early(violations: Violations, phrase_limit: int | None = None) -> Chosen | None:
    """Return the first bin of `phrase_limit` consecutive bins without a good derivation (3.2).

    By default `phrase_limit` is the length of the longest phrase in a good derivation: after that
    number of bins no good derivation can reappear. At the end of the sentence fewer bins suffice.
    """
    limit = violations.longest if phrase_limit is None else phrase_limit
    run: list[int] = []
    for bin in range(1, violations.length + 1):
        if np.isfinite(violations.survivor[bin]):
            run = []
            continue
        run.append(bin)
        usable = [b for b in run if not np.isnan(violations.margins[b])]
        if usable and (len(run) >= limit or bin == violations.length):
            return _chosen(violations, usable[0])
    return standard(violations)


def max_violation(violations: Violations) -> Chosen | None:
    """Return the bin of eq. 6; it is invalid if search failed but no bin has a violation."""
    wrong = np.flatnonzero(violations.wrong)
    if not len(wrong):
        return None
    return _chosen(violations, int(wrong[np.argmin(violations.margins[wrong])]))


def standard(violations: Violations) -> Chosen | None:
    """Return the last bin (eq. 8), or None if its best derivation is good."""
    return _chosen(violations, violations.length) if violations.wrong[violations.length] else None


def _chosen(violations: Violations, bin: int) -> Chosen:
    return Chosen(bin, float(violations.margins[bin]))
