"""Hope, fear and oracle derivations of a forest.
[li2009oracle, eidelman2013]

Takes a forest, weights, and the gain of a translation (`Objective`); returns the derivation with
the largest `model * score + gain` (hope: high score, good translation) or the largest
`model * score - gain` (fear: high score, bad translation). With model=0, hope is the oracle.

BLEU is not a sum over edges. The search (`expand`) splits nodes by the words at both ends of their
strings and keeps unclipped n-gram matches. The best derivations that it finds and the model's best
one are then compared by their exact gains (thesis 6.2.2). On a k-best list
(`search=Search(kbest=500)`, or `choose` on arrays) the choice is exact.

    objective = Objective.of(BleuPlusOne(), metric.prepare(references), sentence)
    good, bad = hope_fear(forest, weights, objective)
    good.gain - bad.gain >= abs(good.derivation.score - bad.derivation.score)   # errata, Alg. 4

Differs: a partial derivation is compared with its share of the reference length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear import _engine
from hopefear._engine import BleuReferences, Derivation, Forest, NgramGain
from hopefear.base.weights import Weights
from hopefear.forest.kbest import kbest
from hopefear.forest.score import Roots, roots_of, scores_of, useful_scores

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


class PreparedNgrams(Protocol):
    """References of a metric that counts n-grams (`metrics.PreparedReferences`)."""

    @property
    def references(self) -> Any:
        """The engine's `BleuReferences`."""

    @property
    def lowercase(self) -> bool:
        """Whether the metric ignores case."""

    def statistics(
        self, hypotheses: Sequence[Any], sentences: ArrayLike | None = None, threads: int = 1
    ) -> IntArray:
        """Return a row of statistics for each text."""


class SentenceMetric(Protocol):
    """The methods of an n-gram metric that the search uses."""

    def search_gain(self) -> NgramGain:
        """Return the gain as a function of n-gram counts, for the search of forests."""

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Take a row of statistics per text and return the score of each."""


class SentenceContext(Protocol):
    """BLEU in the context of other translations (`metrics.context_bleu`)."""

    def search_gain(self, sentence: int) -> NgramGain:
        """Return a sentence's gain as a function of n-gram counts, for the search of forests."""

    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        """Return the gain of each translation of a sentence."""


@dataclass(frozen=True)
class Objective:
    """The gain of a translation of one sentence."""

    prepared: PreparedNgrams
    sentence: int  #: index of the sentence in the references
    search: NgramGain  #: approximate gain for the search, from unclipped matches
    gains: Callable[[IntArray], FloatArray]  #: exact gains of rows of statistics

    @classmethod
    def of(cls, metric: SentenceMetric, prepared: PreparedNgrams, sentence: int) -> Objective:
        """The sentence score of a metric."""
        return cls(prepared, sentence, metric.search_gain(), metric.sentence_scores)

    @classmethod
    def in_context(
        cls, context: SentenceContext, prepared: PreparedNgrams, sentence: int
    ) -> Objective:
        """BLEU in the context of other translations."""
        gain = context.search_gain(sentence)
        return cls(prepared, sentence, gain, lambda rows: context.gains(rows, sentence))


class Choice(NamedTuple):
    """A chosen derivation with its gain and its metric statistics."""

    derivation: Derivation  #: with the model's score
    gain: float
    statistics: IntArray


class OracleCandidates(NamedTuple):
    """Derivations among which hope, fear and the model's best are chosen."""

    derivations: Sequence[Derivation]
    gains: FloatArray
    statistics: IntArray  #: a row per derivation

    def best(self, sign: float, model: float = 1.0, scale: float = 1.0) -> Choice | None:
        """Return the derivation with the largest model * score + sign * scale * gain."""
        if not self.derivations:
            return None
        scores = np.array([derivation.score for derivation in self.derivations])
        index = choose(scores, self.gains, sign=sign, model=model, scale=scale)
        return Choice(self.derivations[index], float(self.gains[index]), self.statistics[index])


def choose(
    scores: ArrayLike, gains: ArrayLike, *, sign: float, model: float = 1.0, scale: float = 1.0
) -> int:
    """Return the index of the hope (sign 1) or fear (sign -1) candidate of a list, exactly.

    Ties go to the higher score, then to the first candidate.
    """
    model_scores = np.asarray(scores, np.float64)
    values = model * model_scores + sign * scale * np.asarray(gains, np.float64)
    return int(np.lexsort((-model_scores, -values))[0])


def candidates_of(derivations: Sequence[Derivation], objective: Objective) -> OracleCandidates:
    """Take a list of derivations (k-best, samples) and return them with their gains."""
    rows = objective.prepared.statistics(
        [derivation.text for derivation in derivations],
        np.full(len(derivations), objective.sentence, np.int32),
    )
    return OracleCandidates(derivations, np.asarray(objective.gains(rows)), rows)


@dataclass(frozen=True, kw_only=True)
class Search:
    """Search space of hope and fear: the whole forest (approximate) or its k-best list (exact)."""

    kbest: int | None = None  #: size of the k-best list, for which the other fields are ignored
    beam: int = 50  #: derivations examined per node; 0: all
    candidates: int = 20  #: number of strings compared by their exact gains
    by_length: bool = False  #: do not recombine strings of different length


FOREST = Search()


def find_candidates(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    signs: Sequence[float] = (1.0, -1.0),
    model: float = 1.0,
    scale: float = 1.0,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> OracleCandidates:
    """Return derivations found by one search per sign (1: hope, -1: fear), and the model's best.

    The derivations come with their gains; `OracleCandidates.best` chooses among them.
    """
    values = scores_of(forest, weights, scores)
    if search.kbest is not None:
        return candidates_of(kbest(forest, k=search.kbest, scores=values, roots=roots), objective)
    references = objective.prepared.references
    if not isinstance(references, BleuReferences):
        raise TypeError("the search needs a metric of n-grams; use a k-best list for others")
    covered = forest.covered
    nodes = roots_of(forest, roots)
    derivations, rows = _engine.oracle_candidates(
        forest,
        useful_scores(forest, values, nodes),
        nodes,
        references,
        objective.sentence,
        objective.search,
        model,
        [scale * sign for sign in signs],
        search.beam,
        search.candidates,
        search.by_length,
        int(covered.max()) if len(covered) else 0,
        objective.prepared.lowercase,
    )
    table = rows.reshape(len(derivations), references.columns)
    gains = np.asarray(objective.gains(table)) if len(derivations) else np.zeros(0)
    return OracleCandidates(derivations, gains, table)


def hope(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    model: float = 1.0,
    scale: float = 1.0,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Choice | None:
    """Return the derivation with the largest model * score + scale * gain, or None if empty."""
    candidates = find_candidates(
        forest, weights, objective, signs=(1.0,), model=model, scale=scale, search=search,
        scores=scores, roots=roots,
    )  # fmt: skip
    return candidates.best(1.0, model, scale)


def fear(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    model: float = 1.0,
    scale: float = 1.0,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Choice | None:
    """Return the derivation with the largest model * score - scale * gain, or None if empty."""
    candidates = find_candidates(
        forest, weights, objective, signs=(-1.0,), model=model, scale=scale, search=search,
        scores=scores, roots=roots,
    )  # fmt: skip
    return candidates.best(-1.0, model, scale)


def oracle(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Choice | None:
    """Return the derivation with the largest gain; the model's score only breaks ties."""
    return hope(forest, weights, objective, model=0.0, search=search, scores=scores, roots=roots)


def hope_fear(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    model: float = 1.0,
    scale: float = 1.0,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> tuple[Choice, Choice] | None:
    """Return hope and fear, chosen from the same derivations: the loss is never negative."""
    candidates = find_candidates(
        forest, weights, objective, model=model, scale=scale, search=search, scores=scores,
        roots=roots,
    )  # fmt: skip
    good, bad = candidates.best(1.0, model, scale), candidates.best(-1.0, model, scale)
    return None if good is None or bad is None else (good, bad)
