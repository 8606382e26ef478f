"""The pair of derivations of an update: towards one, away from the other.  [eidelman2013]

The family of eq. 3.3 (thesis): of the hypotheses of a sentence

    y+ = argmax  gamma+ s(y) - beta+ cost(y)          towards
    y- = argmax  gamma- s(y) + beta- cost(y)          away

| towards      | gamma+ | beta+ |                | away         | gamma- | beta- |
| hope         | 1      | 1     |                | fear         | 1      | 1     |
| local        | 0      | 1     | in the list    | max-cost     | 0      | 1     |
| max-bleu     | 0      | 1     | everywhere     | model-best   | 1      | 0     |
| model-best   | 1      | 0     |

Takes a forest, weights and a cost, and returns `Hypotheses` with their scores and gains, and the
indices of the two. Hypotheses are the k-best list, or the results of a search of the whole forest
for hope, fear and oracle (`forest.find_candidates`), together with the list if a step or `local`
needs it; `max-bleu` without forests uses a list of 50,000. Both derivations are chosen from the
same hypotheses, so that the loss of hope and fear is never negative (errata, Alg. 4).

Differs: errata eq. 3.3: gamma and beta only select; the loss is the hinge (`steps/step.py`).
`towards` the model's best (eq. 3.6) is an addition to Alg. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Derivation, Forest, collect_rows
from hopefear.base.errors import OptionError
from hopefear.base.weights import SparseVector, Weights
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
    """Sparse feature vectors in one array; `begin` has where each row begins."""

    begin: NDArray[np.int64]
    ids: NDArray[np.uint64]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Hypotheses:
    """The translations of a sentence, or of a part of it, to choose from."""

    derivations: Sequence[Derivation]  # empty for parts of sentences, which have `features`
    scores: FloatArray  # of the model
    gains: FloatArray  # minus the cost
    listed: NDArray[np.bool_]  # whether it is in the k-best list
    features: Rows | None = None
    pair: tuple[int, int] | None = None  # the indices of y+ and y-, if they are chosen already
    model_best: int | None = None  # index of the decoder's output, if not the largest score
    measures: Mapping[str, float] = field(default_factory=dict)  # numbers to log
    #: The features of a derivation, if its forest has them collapsed into one score.
    replay: Callable[[Derivation], SparseVector] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, which: Sequence[int]) -> Rows:
        """Take indices of hypotheses and return their feature vectors."""
        if self.replay is not None:
            vectors = [self.replay(self.derivations[at]) for at in which]
            ends = np.cumsum([0, *map(len, vectors)], dtype=np.int64)
            return Rows(
                ends,
                np.concatenate([vector.ids for vector in vectors]),
                np.concatenate([vector.values for vector in vectors]),
            )
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
        """The index of the model's best."""
        return int(np.argmax(self.scores)) if self.model_best is None else self.model_best


@dataclass(frozen=True)
class Selection:
    """The choice of a pair of the family, and of the hypotheses to search."""

    towards: Towards = "hope"
    away: Away = "fear"
    space: Space = "kbest"
    kbest: int = 500
    distinct: bool = True
    oracle_kbest: int = 50_000  # of max-bleu, without forests
    beam: int = 20  # in forests: derivations considered per node

    def __post_init__(self) -> None:
        if self.towards == self.away == "model-best":
            raise OptionError(
                "towards and away: both are the model's best, so the step is always 0; use hope "
                "and fear, or one of them"
            )

    def find(
        self, forest: Forest, weights: Weights, cost: Cost, sentence: int, *, lists: bool = False
    ) -> Hypotheses:
        """Return the hypotheses of a forest; `lists`: always include the k-best list."""
        if self.space == "forest":
            return self._search(forest, weights, cost, sentence, lists)
        size = self.kbest
        if self.towards == "max-bleu":
            size = max(size, self.oracle_kbest)
        best = kbest(forest, weights, size, distinct=self.distinct)
        gains = cost.gains([derivation.text for derivation in best], sentence)
        if len(best) > self.kbest:  # keep the k best and the oracle of the long list
            oracle = int(np.argmax(gains))
            kept = [*range(self.kbest), *([oracle] if oracle >= self.kbest else [])]
            best, gains = [best[at] for at in kept], gains[kept]
        return Hypotheses(best, scores_of(best), gains, np.arange(len(best)) < self.kbest)

    def _search(
        self, forest: Forest, weights: Weights, cost: Cost, sentence: int, lists: bool
    ) -> Hypotheses:
        objective = cost.objective(sentence)
        kinds: dict[float, list[float]] = {}  # gamma -> signs of the gain
        for (gamma, beta), sign in ((TOWARDS[self.towards], 1.0), (AWAY[self.away], -1.0)):
            # `local` is in the list; every search also finds the model's best.
            if beta and not (sign > 0 and self.towards == "local"):
                kinds.setdefault(gamma, []).append(sign)
        derivations: list[Derivation] = []
        gains: list[FloatArray] = []
        search = Search(beam=self.beam)
        for gamma, signs in kinds.items():
            candidates = find_candidates(
                forest, weights, objective, signs=signs, model=gamma, scale=cost.factor,
                search=search,
            )  # fmt: skip
            derivations += candidates.derivations
            gains.append(cost.factor * candidates.gains)
        searched = len(derivations)
        if lists or self.towards == "local" or not derivations:
            best = kbest(forest, weights, self.kbest, distinct=self.distinct)
            derivations += best
            gains.append(cost.gains([derivation.text for derivation in best], sentence))
        listed = np.arange(len(derivations)) >= searched
        return Hypotheses(
            derivations, scores_of(derivations), np.concatenate([np.zeros(0), *gains]), listed
        )

    def choose(self, hypotheses: Hypotheses) -> tuple[int, int]:
        """Return the indices of y+ and y-."""
        gamma, beta = TOWARDS[self.towards]
        listed_only = self.towards == "local"
        places = np.flatnonzero(hypotheses.listed) if listed_only else np.arange(len(hypotheses))
        at = choose(hypotheses.scores[places], hypotheses.gains[places], sign=beta, model=gamma)
        return int(places[at]), self.choose_away(hypotheses, hypotheses.scores)

    def choose_away(self, hypotheses: Hypotheses, scores: FloatArray) -> int:
        """Return the index of y- under the given scores."""
        gamma, beta = AWAY[self.away]
        return choose(scores, hypotheses.gains, sign=-beta, model=gamma)

    def best_lists(self, hypotheses: Hypotheses, size: int) -> list[NDArray[np.int64]]:
        """Return the best `size` indices by the model, by the objectives of y+, and of y-."""
        plus, minus = TOWARDS[self.towards], AWAY[self.away]
        scores, gains = hypotheses.scores, hypotheses.gains
        values = (
            scores,
            plus[0] * scores + plus[1] * gains,
            minus[0] * scores - minus[1] * gains,
        )
        return [np.argsort(-value, kind="stable")[:size] for value in values]


def scores_of(derivations: Sequence[Derivation]) -> FloatArray:
    """Return the model scores of derivations."""
    return np.array([derivation.score for derivation in derivations], dtype=np.float64)
