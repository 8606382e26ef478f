"""Large-margin learning with latent derivations: expectations in place of single derivations.
[eidelman2013, blunsom2008, quattoni2007, yu2009, gimpel2010]

A translation y has many derivations d. With s = w.f, D = -gain (the cost) and

    F(y) = 1/eta log SUM_d in D(y) exp[eta s(d)]        dF/dw = E_p(d|y) [f(d)],  p ~ exp(eta s)

the family of thesis eq. 6.15 has the surrogate reference y+ and, against it,

| loss |         | eta | beta | gamma |                                              | eq.  |
| lmm  | H =     | eta | inf  | 1     | -F(y+) - D(y+) + max_y [F(y) + D(y)]          | 6.19 |
| lsvm |         | inf | inf  | 1     | the same with the best derivation for F       | 6.17 |
| lsmm |         | eta | 1    | 1     | -F(y+) - D(y+) + 1/eta log SUM_d exp[eta (s + D)] | 6.18 |
| hcrf |         | eta | 1    | 0     | -F(y+)         + 1/eta log SUM_d exp[eta s]   | 6.16 |

The rows of `Hypotheses` are expectations: F or the second term is a row's score, E[f] its features.
Every step, rate and number of learners applies to them as to derivations (`large_margin.py`): a
step sees the loss to first order. eta is `posterior_scale`.

The strings y+ (hope) and y- (fear) are those of `choose`:

    derivation   hope and fear derivations of the k-best list or forest, as of MIRA (LMM_d)
    sampling     derivations drawn from exp[eta (s -/+ D)], the cost on the edges of the forest; the
                 most frequent strings are compared by F -/+ D, with exact sums and costs (LMM_t)

D(y) are the derivations of y in the forest of the search, or with constrain=grammar all that the
grammar has.

Differs: errata eq. 6.15: beta acts on the sum over the derivations of a string. Errata eq. 6.8,
6.14: the loss is that of eq. 6.16-6.19, whose F is E[s] plus entropy / eta. Errata eq. 3.3, 6.20:
hope and fear only select; the loss has -D(y+), like that of MIRA. Errata eq. 6.22: the expectation
of lsmm is under exp[eta (s + D)]. Thesis 6.2.1 takes the most frequent string; on edges the cost is
an approximation, so the most frequent ones are compared by exact costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from hopefear._engine import Derivation, Forest
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest import (
    DerivationSum,
    Expanded,
    augment,
    derivation_sum,
    edge_scores,
    sample_strings,
    string_sums,
    viterbi,
)
from hopefear.forest.intersect import derivation_of
from hopefear.learn.online.large_margin import Group, LargeMargin
from hopefear.learn.online.selection import FloatArray, Hypotheses, Rows, Selection
from hopefear.learn.tuner import Example, Space, Task

Loss = Literal["lmm", "lsmm", "hcrf", "lsvm"]
Choose = Literal["derivation", "sampling"]
Constrain = Literal["forest", "grammar"]

#: Number of the most frequent strings of a sample that are compared by exact sums and costs.
CANDIDATES = 10


@register("tuner", "latent")
@dataclass(kw_only=True)
class Latent(LargeMargin):
    """Large-margin learning that sums over the derivations of a translation (thesis, chapter 6)."""

    name: ClassVar[str] = "latent"
    defaults: ClassVar[Mapping[str, tuple[Any, str]]] = {
        **LargeMargin.defaults,
        "space": ("kbest", "choose derivation"),
        "samples": (1000, "choose sampling"),
        "beam": (20, "space forest, choose sampling or loss lsmm"),
        "posterior_scale": (None, "loss lmm, lsmm or hcrf, or choose sampling"),
    }

    loss: Loss = option(
        "lmm",
        help="loss: latent max-margin, latent softmax-margin, hidden CRF, or latent SVM (the best "
        "derivation alone)",
    )
    choose: Choose = option(
        "derivation",
        help="hope and fear are the strings of the best derivations, or of sampled ones",
    )
    space: Space | None = option(
        None,
        help="choose the best derivations from a k-best list, or whole forests; if not given, "
        "kbest",
    )
    samples: int | None = option(
        None,
        min=1,
        help="derivations drawn for hope and as many for fear; if not given, 1000",
    )
    posterior_scale: float | None = option(
        None,
        min=0,
        help="scores times this factor are log probabilities; if not given, the factor that makes "
        "the language model's current weight 1",
    )
    constrain: Constrain = option(
        "forest",
        help="derivations of a string: those in the forest of the search, or all that the grammar "
        "has (a second decoding)",
    )
    beam: int | None = option(
        None, min=0, help="derivations considered per node of a forest (0: all); if not given, 20"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.posterior_scale == 0:
            raise OptionError("posterior_scale: 0 is out of range; give a number above 0")

    # -- the contract with the loop --

    @property
    def takes_lists(self) -> bool:
        return self.choose == "derivation" and (self.space == "kbest" or self._lists)

    @property
    def needs_target(self) -> bool:
        return self.constrain == "grammar"

    # -- the choices of `large_margin.py` --

    @property
    def _lists(self) -> bool:
        """Whether the step uses a row for each string."""
        return self._step.lists and self.loss in ("lmm", "lsvm")

    def _used(self) -> dict[str, bool]:
        sampling = self.choose == "sampling"
        return {
            **super()._used(),
            "space": not sampling,
            "samples": sampling,
            "beam": sampling or self.space == "forest" or self.loss == "lsmm",
            "posterior_scale": sampling or self.loss != "lsvm",
        }

    @property
    def _searches_cost(self) -> str:
        if self.choose == "sampling":
            return "choose sampling"
        if self.space == "forest":
            return "space forest"
        return "loss lsmm" if self.loss == "lsmm" else ""

    @property
    def _same_objective(self) -> bool:
        # Chosen by the scores of derivations, a pair may have a negative loss by their sums.
        chosen = self.choose == "sampling" or self.loss == "lsvm"
        return self.loss in ("lmm", "lsvm") and self.constrain == "forest" and chosen

    def _selection_with(self, size: int, distinct: bool) -> Selection:
        space: Space = "forest" if self.space == "forest" else "kbest"
        more = {} if self.beam is None else {"beam": self.beam}
        return Selection("hope", "fear", space, size, distinct, **more)

    def _find(self, weights: Weights, groups: Sequence[Group], task: Task) -> list[Hypotheses]:
        seeds = [0] * len(groups)
        if self.choose == "sampling":
            seeds = task.random.integers(2**63, size=len(groups)).tolist()
        items = [(example, seed) for (example, _), seed in zip(groups, seeds, strict=True)]
        return list(in_order(partial(self._hypotheses, weights), items, task.threads))

    # -- inside --

    def _hypotheses(self, weights: Weights, item: tuple[Example, int]) -> Hypotheses:
        """Return the rows of a sentence, with the pair of the update."""
        sentence = _Sentence(self, weights, *item)
        chosen = sentence.sampled() if self.choose == "sampling" else sentence.listed()
        if not len(chosen):
            return chosen
        rows = sentence.expectations(chosen)
        return rows if self.loss in ("lmm", "lsvm") else sentence.against_all(rows)


class _Sentence:
    """A sentence of a minibatch under the current weights."""

    def __init__(self, tuner: Latent, weights: Weights, example: Example, seed: int) -> None:
        self.tuner, self.weights, self.example, self.seed = tuner, weights, example, seed
        self.forest: Forest = example.forest
        self.scores = edge_scores(self.forest, weights)
        self.scale = posterior_scale(tuner.posterior_scale, example.language_weight)
        #: eta of the sums over the derivations of a string.
        self.eta = math.inf if tuner.loss == "lsvm" else self.scale
        self.fears: Expanded | None = None
        self.sums: list[DerivationSum] | None = None  # of the chosen strings, within the forest

    def listed(self) -> Hypotheses:
        """Return the strings of the hope, the fear and the model's best derivations (LMM_d)."""
        tuner = self.tuner
        found = tuner._selection.find(
            self.forest, self.weights, tuner._cost, self.example.sentence, lists=tuner._lists
        )
        if not len(found):
            return found
        return replace(found, pair=tuner._selection.choose(found), model_best=found.best)

    def sampled(self) -> Hypotheses:
        """Return the most frequent strings of samples, and the best of F -/+ D (LMM_t)."""
        tuner, forest = self.tuner, self.forest
        best = viterbi(forest, scores=self.scores)
        derivations = [] if best is None else [best]
        seen = {derivation.tokens.tobytes() for derivation in derivations}
        for side, sign in enumerate((1.0, -1.0)):
            split = self.augmented(sign)
            strings = sample_strings(
                split.forest, n=tuner.samples or 1, seed=self.seed + side, scale=self.scale,
                scores=split.scores,
            )  # fmt: skip
            for string, _ in strings[:CANDIDATES]:
                if string.tokens.tobytes() not in seen:
                    seen.add(string.tokens.tobytes())
                    derivations.append(
                        derivation_of(forest, split.edges[string.edges], self.scores)
                    )
        gains = tuner._cost.gains([d.text for d in derivations], self.example.sentence)
        self.sums = self.within_forest(derivations)
        scores = _array(total.log_sum for total in self.sums)
        found = Hypotheses(derivations, scores, gains, np.ones(len(gains), bool))
        if not len(found):
            return found
        return replace(found, pair=tuner._selection.choose(found), model_best=found.best)

    def expectations(self, chosen: Hypotheses) -> Hypotheses:
        """Return the rows of the strings that the step needs: F, gains and expected features."""
        assert chosen.pair is not None
        assert chosen.model_best is not None
        kept = list(range(len(chosen)))
        pair = chosen.pair if self.tuner.loss in ("lmm", "lsvm") else chosen.pair[:1] * 2
        if not self.tuner._lists:
            kept = list(dict.fromkeys([*pair, chosen.model_best]))
        derivations = [chosen.derivations[at] for at in kept]
        if self.tuner.constrain == "grammar":
            sums = [self.within_grammar(derivation) for derivation in derivations]
        elif self.sums is not None:
            sums = [self.sums[at] for at in kept]
        else:
            sums = self.within_forest(derivations)
        towards, away = (kept.index(at) for at in pair)
        first = sums[towards]
        share = 1.0 if math.isinf(self.eta) else math.exp(self.eta * (first.best - first.log_sum))
        return Hypotheses(
            derivations,
            _array(total.log_sum for total in sums),
            chosen.gains[kept],
            chosen.listed[kept],
            rows_of([total.features for total in sums]),
            (towards, away),
            kept.index(chosen.model_best),
            {"derivations": math.log10(first.derivations), "best_share": share},
        )

    def against_all(self, chosen: Hypotheses) -> Hypotheses:
        """Return the rows with the expectation over all derivations in place of y-."""
        assert chosen.pair is not None
        assert chosen.features is not None
        towards = chosen.pair[0]
        if self.tuner.loss == "lsmm":
            split = self.augmented(-1.0)
            total = derivation_sum(split.forest, scores=split.scores, scale=self.scale)
            best = viterbi(split.forest, scores=split.scores)
            assert best is not None, "y+ is a derivation"
            shown = derivation_of(self.forest, split.edges[best.edges], self.scores)
            score = self.weights.dot(total.features)
            gain = score - total.log_sum  # so that score + cost is the augmented log sum
        else:
            total = derivation_sum(self.forest, scores=self.scores, scale=self.scale)
            shown = chosen.derivations[chosen.best]
            score, gain = total.log_sum, float(chosen.gains[towards])  # no cost: gamma = 0
        derivations = [*chosen.derivations, shown]
        expected = rows_of([total.features])
        return Hypotheses(
            derivations,
            np.append(chosen.scores, score),
            np.append(chosen.gains, gain),
            np.append(chosen.listed, False),
            Rows(
                np.append(chosen.features.begin, chosen.features.begin[-1] + expected.begin[1]),
                np.concatenate([chosen.features.ids, expected.ids]),
                np.concatenate([chosen.features.values, expected.values]),
            ),
            (towards, len(derivations) - 1),
            chosen.model_best,
            chosen.measures,
        )

    def augmented(self, sign: float) -> Expanded:
        """Return the forest with the gain added to its scores (sign 1), or subtracted (-1)."""
        if sign < 0 and self.fears is not None:
            return self.fears
        cost = self.tuner._cost
        split = augment(
            self.forest,
            scores=self.scores,
            objective=cost.objective(self.example.sentence),
            scale=sign * cost.factor,
            beam=20 if self.tuner.beam is None else self.tuner.beam,
        )
        if sign < 0:
            self.fears = split
        return split

    def within_forest(self, derivations: Sequence[Derivation]) -> list[DerivationSum]:
        """Return the sums over the derivations of strings in the forest of the search."""
        words = [derivation.words for derivation in derivations]
        return string_sums(self.forest, words, scores=self.scores, scale=self.eta)

    def within_grammar(self, derivation: Derivation) -> DerivationSum:
        """Return the sum over all derivations of a string that the grammar has."""
        assert self.example.derive is not None
        forest = self.example.derive(derivation.words)
        total = derivation_sum(forest, self.weights, scale=self.eta)
        # Forced decoding may give up, or have a narrower limit than the search.
        return total if total.derivations else self.within_forest([derivation])[0]


def posterior_scale(given: float | None, language_weight: float) -> float:
    """Return the factor of scores: the given one, or that of a language model's weight of 1.

    1 if there is no language model, or its weight is not positive.
    """
    if given is not None:
        return given
    return 1.0 / language_weight if language_weight > 0 else 1.0


def rows_of(vectors: Sequence[SparseVector]) -> Rows:
    """Return sparse vectors as rows."""
    sizes = [len(vector) for vector in vectors]
    return Rows(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.uint64), *(vector.ids for vector in vectors)]),
        np.concatenate([np.zeros(0, np.float32), *(vector.values for vector in vectors)]),
    )


def _array(values: object) -> FloatArray:
    return np.array(list(values), np.float64)  # type: ignore[call-overload]
