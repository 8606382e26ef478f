"""Where search goes wrong: good and bad derivations of each bin, and which bin to learn from.
[yu2013, huang2012]

Goes in: the forest of a beam search, the gold forest of the reference, weights. Comes out: per bin
(the nodes that cover i source words) the score of the best good derivation, in the beam or not, and
of the best bad one in the beam; and by each of the paper's rules the bin whose two derivations an
update is about.

    early           the first bin where all good ones fell off and none comes back; if good ones
                    reach the end but lose there, the end (3.2, the soft version)
    max-violation   the bin with the largest violation (3.3)
    standard        the end, whether good ones are there or not (3.4; "bold" [liang2006])

A violation is w.Phi(bad) - w.Phi(good) >= 0. An update without one is *invalid*: it moves the
weights where they point already. In theory early and max-violation never make one; but bins are
pruned with future costs, by cube pruning and limits, so early may, and max-violation must look.

Differs: errata yu2013 3.1: good are the states on a path to all of x and all of y; 3-4: bins
without a good derivation are passed over; 5-8: a bin counts only if its best is bad, and violation
is measured by w.Phi; 4: the best bad *derivation*, which recombination may have hidden.
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
    """Good and bad derivations of a sentence, by bin; bin 0 is the empty derivation."""

    def __init__(
        self,
        beam: Forest,
        gold: Forest,
        weights: Weights,
        *,
        complete: bool = True,
        spans: BestSpans | None = None,
    ) -> None:
        """`gold` has the derivations of the reference alone, as forced decoding gives them.

        `complete`: derivations end with the end of the sentence, and the last bin is the goal; not
        so for a prefix of a sentence pair. `spans`: scores and features are those that search ranks
        by, with the best translations of what is left open. Each edge must have at most one tail,
        words behind it.
        """
        self._found = _engine.Violations(beam, gold, weights.table, complete, spans)
        self._weights, self._spans = weights, spans
        self._names = beam.names or FeatureNames()
        self.good: FloatArray = self._found.good  # scores; -inf where there is none
        self.bad: FloatArray = self._found.bad
        self.survivor: FloatArray = self._found.survivor  # the best good one in the beam
        there = np.isfinite(self.good) & np.isfinite(self.bad)
        #: w.Phi(good) - w.Phi(bad): a violation if it is not above 0; NaN where one is missing.
        self.margins: FloatArray = np.full(len(there), np.nan)
        self.margins[there] = self.good[there] - self.bad[there]

    @property
    def length(self) -> int:
        """Source words, the number of the last bin."""
        return len(self.good) - 1

    @property
    def longest(self) -> int:
        """Source words of the longest phrase of a good derivation."""
        return self._found.longest

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Of each bin whether its best derivation is bad while a good one exists."""
        return ~np.isnan(self.margins) & (self.bad >= self.survivor)

    @property
    def last_nodes(self) -> NDArray[np.uint32]:
        """The nodes of the beam that the last bin has: the goal, if derivations are complete."""
        return self._found.last_nodes

    def pair(self, bin: int) -> tuple[Derivation, Derivation]:
        """The best good and the best bad derivation."""
        return self._found.pair(bin)

    def difference(self, bin: int) -> SparseVector:
        """Features of the good one minus features of the bad one."""
        difference = self._found.difference(bin)
        if self._spans is None:
            return difference
        return difference.plus(
            self._found.future_difference(bin, self._spans, self._weights.table, self._names)
        )


class Chosen(NamedTuple):
    """What an update is about."""

    bin: int
    margin: float  # w.(Phi(good) - Phi(bad))

    @property
    def valid(self) -> bool:
        return self.margin <= 0


def early(found: Violations, phrase_limit: int | None = None) -> Chosen | None:
    """The first of so many bins one after the other without a good derivation (3.2).

    `phrase_limit`: by default the longest phrase of a good derivation; none can come back after so
    many bins. At the end of the sentence fewer are enough.
    """
    limit = found.longest if phrase_limit is None else phrase_limit
    run: list[int] = []
    for bin in range(1, found.length + 1):
        if np.isfinite(found.survivor[bin]):
            run = []
            continue
        run.append(bin)
        usable = [b for b in run if not np.isnan(found.margins[b])]
        if usable and (len(run) >= limit or bin == found.length):
            return _chosen(found, usable[0])
    return standard(found)


def max_violation(found: Violations) -> Chosen | None:
    """Eq. 6. Where no bin has a violation though search went wrong, what is found is invalid."""
    wrong = np.flatnonzero(found.wrong)
    return _chosen(found, int(wrong[np.argmin(found.margins[wrong])])) if len(wrong) else None


def standard(found: Violations) -> Chosen | None:
    """Eq. 8; nothing if the best of the last bin is good."""
    return _chosen(found, found.length) if found.wrong[found.length] else None


def _chosen(found: Violations, bin: int) -> Chosen:
    return Chosen(bin, float(found.margins[bin]))
