"""Which two derivations an update is about: towards one, away from the other.  [eidelman2013]

One family (thesis, eq. 3.3): of the hypotheses of a sentence

    y+ = argmax  gamma+ s(y) - beta+ cost(y)          towards
    y- = argmax  gamma- s(y) + beta- cost(y)          away

| towards      | gamma+ | beta+ |                | away         | gamma- | beta- |
| hope         | 1      | 1     |                | fear         | 1      | 1     |
| local        | 0      | 1     | in the list    | max-cost     | 0      | 1     |
| max-bleu     | 0      | 1     | everywhere     | model-best   | 1      | 0     |
| model-best   | 1      | 0     |

Goes in: a forest, weights, a cost. Comes out: `Hypotheses` with their scores and gains, and the
numbers of the two. Hypotheses are the k-best list, or what a search of the whole forest for hope,
fear, oracle finds (`forest.find_candidates`) together with the list where a step or `local` needs
it; `max-bleu` without forests has a list of its own, of 50,000. Both are chosen from the same
hypotheses, so that the loss of hope and fear is never negative (errata, Alg. 4).

Differs: errata eq. 3.3: gamma and beta only select; the loss is the hinge (`steps/step.py`).
Towards the model best (eq. 3.6) is added to Alg. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, Forest, collect_rows
from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.forest import Search, choose, find_candidates, kbest
from hopefear.learn.online.cost import Cost
from hopefear.learn.pool.candidate_builder import gathered
from hopefear.learn.tuner import Space

Towards = Literal["hope", "local", "max-bleu", "model-best"]
Away = Literal["fear", "max-cost", "model-best"]
FloatArray = NDArray[np.float64]

#: gamma and beta
TOWARDS: dict[str, tuple[float, float]] = {
    "hope": (1, 1),
    "local": (0, 1),
    "max-bleu": (0, 1),
    "model-best": (1, 0),
}
AWAY: dict[str, tuple[float, float]] = {
    "fear": (1, 1),
    "max-cost": (0, 1),
    "model-best": (1, 0),
}


class Rows(NamedTuple):
    """Feature vectors, one after the other."""

    begin: NDArray[np.int64]
    ids: NDArray[np.uint64]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Hypotheses:
    """Translations of a sentence, or of a part of it, that were looked at."""

    derivations: Sequence[Derivation]  # none for parts of sentences: these have `features`
    scores: FloatArray  # of the model
    gains: FloatArray  # minus the cost
    listed: NDArray[np.bool_]  # whether it is one of the k-best list
    features: Rows | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, which: Sequence[int]) -> Rows:
        """The feature vectors of some of them."""
        if self.features is None:
            return Rows(*collect_rows([self.derivations[at] for at in which])[1:])
        begin, ids, values = self.features
        places = np.asarray(which, dtype=np.int64)
        sizes = np.diff(begin)[places]
        entries = gathered(begin[places], sizes)
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Rows(ends, ids[entries], values[entries])

    @property
    def best(self) -> int:
        """The number of the model's best."""
        return int(np.argmax(self.scores))


@dataclass(frozen=True)
class Selection:
    """A pair of the family, and where to look."""

    towards: Towards = "hope"
    away: Away = "fear"
    space: Space = "kbest"
    kbest: int = 500
    distinct: bool = True
    oracle_kbest: int = 50_000  # of max-bleu, without forests
    beam: int = 20  # in forests: derivations looked at per node

    def __post_init__(self) -> None:
        if self.towards == self.away == "model-best":
            raise OptionError(
                "towards and away: both are the model best, so nothing is learned; take hope and "
                "fear, or one of them"
            )

    def find(
        self, forest: Forest, weights: Weights, cost: Cost, sentence: int, *, lists: bool = False
    ) -> Hypotheses:
        """What there is to choose from; `lists`: the k-best list in any case."""
        if self.space == "forest":
            return self._search(forest, weights, cost, sentence, lists)
        size = self.kbest
        if self.towards == "max-bleu":
            size = max(size, self.oracle_kbest)
        found = kbest(forest, weights, size, distinct=self.distinct)
        gains = cost.gains([derivation.text for derivation in found], sentence)
        if len(found) > self.kbest:  # of the long list the oracle only
            oracle = int(np.argmax(gains))
            kept = [*range(self.kbest), *([oracle] if oracle >= self.kbest else [])]
            found, gains = [found[at] for at in kept], gains[kept]
        return Hypotheses(found, scores_of(found), gains, np.arange(len(found)) < self.kbest)

    def _search(
        self, forest: Forest, weights: Weights, cost: Cost, sentence: int, lists: bool
    ) -> Hypotheses:
        objective = cost.objective(sentence)
        kinds: dict[float, list[float]] = {}  # gamma -> signs of the gain
        for (gamma, beta), sign in ((TOWARDS[self.towards], 1.0), (AWAY[self.away], -1.0)):
            # The list has what is local; every search finds the model best too.
            if beta and not (sign > 0 and self.towards == "local"):
                kinds.setdefault(gamma, []).append(sign)
        found: list[Derivation] = []
        gains: list[FloatArray] = []
        search = Search(beam=self.beam)
        for gamma, signs in kinds.items():
            one = find_candidates(
                forest, weights, objective, signs=signs, model=gamma, scale=cost.factor,
                search=search,
            )  # fmt: skip
            found += one.derivations
            gains.append(cost.factor * one.gains)
        searched = len(found)
        if lists or self.towards == "local" or not found:
            more = kbest(forest, weights, self.kbest, distinct=self.distinct)
            found += more
            gains.append(cost.gains([derivation.text for derivation in more], sentence))
        listed = np.arange(len(found)) >= searched
        return Hypotheses(found, scores_of(found), np.concatenate([np.zeros(0), *gains]), listed)

    def choose(self, found: Hypotheses) -> tuple[int, int]:
        """The numbers of the two."""
        gamma, beta = TOWARDS[self.towards]
        everywhere = self.towards != "local"
        places = np.arange(len(found)) if everywhere else np.flatnonzero(found.listed)
        at = choose(found.scores[places], found.gains[places], sign=beta, model=gamma)
        return int(places[at]), self.choose_away(found, found.scores)

    def choose_away(self, found: Hypotheses, scores: FloatArray) -> int:
        """y- by these scores."""
        gamma, beta = AWAY[self.away]
        return choose(scores, found.gains, sign=-beta, model=gamma)

    def best_lists(self, found: Hypotheses, size: int) -> list[NDArray[np.int64]]:
        """The best few by the model, by gamma+ and beta+, by gamma- and beta-."""
        plus, minus = TOWARDS[self.towards], AWAY[self.away]
        values = (
            found.scores,
            plus[0] * found.scores + plus[1] * found.gains,
            minus[0] * found.scores - minus[1] * found.gains,
        )
        return [np.argsort(-value, kind="stable")[:size] for value in values]


def scores_of(derivations: Sequence[Derivation]) -> FloatArray:
    return np.array([derivation.score for derivation in derivations], dtype=np.float64)
