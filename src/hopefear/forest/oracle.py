"""Derivations that are good or bad by model and metric: oracle, hope, fear.
[li2009oracle, eidelman2013]

Goes in: a forest, weights, and what a translation gains (`Objective`). Comes out: the derivation
with the largest `model * score + gain` (hope: good score, good translation), or
`model * score - gain` (fear: good score, bad translation); with model=0 the oracle.

BLEU is no sum over edges. The search (`expand`) splits nodes by the words at both ends of their
strings and carries n-gram matches along, unclipped; the best few derivations it finds, and the
model's best one, are then compared by what they really gain (thesis 6.2.2). On a k-best list
(`search=Search(kbest=500)`, or `choose` on arrays) the choice is exact.

    objective = Objective.of(BleuPlusOne(), metric.prepare(references), sentence)
    good, bad = hope_fear(forest, weights, objective)
    good.gain - bad.gain >= abs(good.derivation.score - bad.derivation.score)   # errata, Alg. 4

Differs: a partial derivation is held against its share of the reference length.
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
    def references(self) -> Any: ...  # the engine's BleuReferences
    @property
    def lowercase(self) -> bool: ...
    def statistics(
        self, hypotheses: Sequence[Any], sentences: ArrayLike | None = None, threads: int = 1
    ) -> IntArray: ...


class SentenceMetric(Protocol):
    """A metric of n-grams, as far as it is needed here."""

    def search_gain(self) -> NgramGain: ...
    def sentence_scores(self, statistics: ArrayLike) -> FloatArray: ...


class SentenceContext(Protocol):
    """BLEU in the context of other translations (`metrics.context_bleu`)."""

    def search_gain(self, sentence: int) -> NgramGain: ...
    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray: ...


@dataclass(frozen=True)
class Objective:
    """What translations of one sentence gain."""

    prepared: PreparedNgrams
    sentence: int  # its number among the references
    search: NgramGain  # for the search, from unclipped matches
    gains: Callable[[IntArray], FloatArray]  # of rows of statistics, exactly

    @classmethod
    def of(cls, metric: SentenceMetric, prepared: PreparedNgrams, sentence: int) -> Objective:
        """A metric's score of the sentence alone."""
        return cls(prepared, sentence, metric.search_gain(), metric.sentence_scores)

    @classmethod
    def in_context(
        cls, context: SentenceContext, prepared: PreparedNgrams, sentence: int
    ) -> Objective:
        """BLEU with a background of other translations."""
        gain = context.search_gain(sentence)
        return cls(prepared, sentence, gain, lambda rows: context.gains(rows, sentence))


class Choice(NamedTuple):
    """A derivation, what it gains, and its statistics."""

    derivation: Derivation  # its score is the model's
    gain: float
    statistics: IntArray


class OracleCandidates(NamedTuple):
    """Derivations to choose from."""

    derivations: Sequence[Derivation]
    gains: FloatArray
    statistics: IntArray  # a row for each

    def best(self, sign: float, model: float = 1.0, scale: float = 1.0) -> Choice | None:
        """The one with the largest model * score + sign * scale * gain."""
        if not self.derivations:
            return None
        scores = np.array([derivation.score for derivation in self.derivations])
        at = choose(scores, self.gains, sign=sign, model=model, scale=scale)
        return Choice(self.derivations[at], float(self.gains[at]), self.statistics[at])


def choose(
    scores: ArrayLike, gains: ArrayLike, *, sign: float, model: float = 1.0, scale: float = 1.0
) -> int:
    """The number of the best candidate of a list: hope (sign 1) or fear (sign -1), exactly.

    Of equal ones that with the better score, then the first.
    """
    by_model = np.asarray(scores, np.float64)
    value = model * by_model + sign * scale * np.asarray(gains, np.float64)
    return int(np.lexsort((-by_model, -value))[0])


def candidates_of(derivations: Sequence[Derivation], objective: Objective) -> OracleCandidates:
    """A list of derivations (k-best, samples) with what they gain."""
    rows = objective.prepared.statistics(
        [derivation.text for derivation in derivations],
        np.full(len(derivations), objective.sentence, np.int32),
    )
    return OracleCandidates(derivations, np.asarray(objective.gains(rows)), rows)


@dataclass(frozen=True, kw_only=True)
class Search:
    """Where derivations are looked for: in the whole forest, or exactly in its k-best list."""

    kbest: int | None = None  # of the k-best list only; the rest does not matter then
    beam: int = 50  # derivations looked at per node; 0: all
    candidates: int = 20  # strings that are compared by what they really gain
    by_length: bool = False  # strings of different length do not recombine


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
    """What the searches for hope and fear (one for each sign) find, and the model's best."""
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
    """The derivation with the largest model * score + scale * gain; None if there is none."""
    found = find_candidates(
        forest, weights, objective, signs=(1.0,), model=model, scale=scale, search=search,
        scores=scores, roots=roots,
    )  # fmt: skip
    return found.best(1.0, model, scale)


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
    """The derivation with the largest model * score - scale * gain; None if there is none."""
    found = find_candidates(
        forest, weights, objective, signs=(-1.0,), model=model, scale=scale, search=search,
        scores=scores, roots=roots,
    )  # fmt: skip
    return found.best(-1.0, model, scale)


def oracle(
    forest: Forest,
    weights: Weights | None,
    objective: Objective,
    *,
    search: Search = FOREST,
    scores: ArrayLike | None = None,
    roots: Roots | None = None,
) -> Choice | None:
    """The derivation that gains most, whatever its score, which only decides between equals."""
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
    """Both, chosen from the same derivations, so that their loss is never negative."""
    found = find_candidates(
        forest, weights, objective, model=model, scale=scale, search=search, scores=scores,
        roots=roots,
    )  # fmt: skip
    good, bad = found.best(1.0, model, scale), found.best(-1.0, model, scale)
    return None if good is None or bad is None else (good, bad)
