"""Batch MIRA on forests: hope and fear over all derivations.  [cherry2012, eidelman2013]

Takes the forests of each sentence (of all iterations), references and weights, and returns new
weights. The steps are those of batch MIRA on k-best lists (`batch_mira.py`); hope and fear are the
best over all forests of a sentence (`forest.hope_fear`), with BLEU in the context of a decaying
background of earlier hopes. After each pass the average of all weights so far is scored by the
forests' best derivations under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hopefear._engine import Derivation, Forest
from hopefear.base.threads import in_order
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest import Choice, Objective, Search, find_candidates, viterbi
from hopefear.learn.tuner import bleu_in_forests
from hopefear.metrics.context_bleu import ContextBleu
from hopefear.metrics.metric import Metric, References


@dataclass
class ForestMira:
    """The state of learning: weights, their average, the background."""

    metric: Metric
    forests: Sequence[Sequence[Forest]]  # of each sentence
    references: References
    weights: Weights  # changed
    C: float
    decay: float
    search: Search
    fixed: frozenset[int] = frozenset()
    background: Literal["hope", "model"] = "hope"
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        plain = bleu_in_forests(self.metric)
        self._bleu = ContextBleu(
            order=plain.order,
            reference_length=plain.reference_length,
            unit=plain.unit,
            lowercase=plain.lowercase,
            decay=self.decay,
        )
        self._prepared = self._bleu.prepare(self.references)
        self._context = self._bleu.start(len(self.references))
        self._late = Weights(names=self.weights.names)  # the sum of step number * change

    def run(self, order: Sequence[int]) -> float:
        """Make a pass over the sentences in this order and return the mean loss."""
        total = 0.0
        for sentence in order:
            total += self._step(sentence)
        return total / max(1, len(order))

    def _step(self, sentence: int) -> float:
        objective = Objective.in_context(self._context, self._prepared, sentence)
        choices: list[Choice] = []
        best: Choice | None = None  # the model's best
        for forest in self.forests[sentence]:
            candidates = find_candidates(forest, self.weights, objective, search=self.search)
            pair = candidates.best(1.0), candidates.best(-1.0)
            choices += [choice for choice in pair if choice is not None]
            model = candidates.best(0.0)
            if model is not None and (best is None or value(model, 0) > value(best, 0)):
                best = model
        if best is None:
            return 0.0
        hope = max(choices, key=lambda choice: value(choice, 1))
        fear = max(choices, key=lambda choice: value(choice, -1))
        self._context.record((hope if self.background == "hope" else best).statistics, sentence)
        self.steps += 1
        change = self._difference(hope.derivation, fear.derivation)
        norm = float(np.dot(change.values.astype(np.float64), change.values))
        # Not negative (errata, Alg. 4): both are the best of the same derivations.
        loss = hope.gain - fear.gain - (hope.derivation.score - fear.derivation.score)
        if loss <= 0 or norm == 0:
            return max(0.0, loss)
        step = min(self.C, loss / norm)
        self.weights.add(change, step)
        self._late.add(change, step * (self.steps - 1))
        return loss

    def _difference(self, hope: Derivation, fear: Derivation) -> SparseVector:
        delta = Weights(hope.features, names=self.weights.names)
        delta.add(fear.features, -1.0)
        for id in self.fixed:
            if id in delta:
                delta[id] = 0.0
        delta.drop_zeros()
        for derivation in (hope, fear):
            remember_names(self.weights, derivation, delta)
        return delta.vector()

    def average(self) -> Weights:
        """Return the mean of the weights after each step: w_T - sum_t (t - 1) change_t / T."""
        mean = self.weights.copy()
        if self.steps:
            mean.add(self._late.vector(), -1.0 / self.steps)
        return mean

    def corpus_score(self, weights: Weights, threads: int = 1) -> float:
        """Return the corpus score of the forests' best derivations under these weights."""

        def best(forests: Sequence[Forest]) -> list[str]:
            derivations = [d for d in (viterbi(forest, weights) for forest in forests) if d]
            return max(derivations, key=lambda d: d.score).words if derivations else []

        texts = list(in_order(best, self.forests, threads))
        return self.metric.corpus_score(self._prepared.statistics(texts, threads=threads))


def value(choice: Choice, sign: float) -> float:
    """Return the objective that a choice maximises: `sign` is 1 for hope, -1 for fear, else 0."""
    return choice.derivation.score + sign * choice.gain


def remember_names(weights: Weights, derivation: Derivation, of: Weights) -> None:
    """Give the weights the names of new features, `of` some vector, from a derivation."""
    names = derivation.forest.names
    if names is None or weights.names is None or names is weights.names:
        return
    for id in of.vector().ids.tolist():
        name = names.name(id)
        if name:
            weights.names.intern(name)
