"""The violation-fixing perceptron, which learns from search errors.  [yu2013, huang2012]

Takes the forest of a beam search and the gold forest of the reference (forced decoding) of each
example, and returns a step: the features of a good derivation minus those of a bad one in the same
bin, which `search_errors.py` chooses by `update`. With update=local it is the features of the
translation in the last bin that is most similar to the reference, minus those of the best bad
derivation (eq. 9-10) [liang2006].

max-violation updates only if there is a violation. early, standard and local also make updates
without violation, as in the paper; these are counted as invalid, like those that max-violation
skips (figure 9).

The step of a minibatch is the mean over all its examples, including those without an update, times
`eta`, so that its length does not depend on the size of the minibatch [zhao2013]. The factor has no
effect on a perceptron that starts at 0; otherwise the initial weights are forgotten faster the
larger `eta` is. Scores of good and bad derivations differ by tens, and dense weights are below 1:
with `eta` = 1 the first minibatch makes the weights about fifty times as large, and these remain in
the average for many iterations.

`maxforce` is the preset update=max-violation.

Differs: errata yu2013 9-10: no local update if the best derivation of the last bin is y itself.
BLEU+1 is maximised over the k best strings of the last bin (`--kbest`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from hopefear._engine import Derivation, weighted_sum
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import SparseVector, Weights
from hopefear.forest import kbest
from hopefear.learn.online.search_errors import Chosen, Violations, early, max_violation, standard
from hopefear.learn.steps.rates import AdaGrad, DenseAdaGrad, FixedRate, Rate
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task, Update
from hopefear.metrics import create

UpdateName = Literal["early", "max-violation", "standard", "local"]
#: The log counts updates by tenths of the sentence.
TENTHS = 10


@dataclass(frozen=True)
class ExampleUpdate:
    """The update of one example."""

    chosen: Chosen | None = None  # None: no search error
    step: SparseVector | None = None  # None: no update
    length: int = 0  # source words
    pair: tuple[Derivation, Derivation] | None = (
        None  # the step is the difference of their features
    )


@register("tuner", "violation")
@dataclass(kw_only=True)
class Violation(OnlineTuner):
    """Violation-fixing perceptron, which learns from search errors on reachable sentence pairs."""

    name: ClassVar[str] = "violation"
    kbest: ClassVar[int] = 100  # for update=local
    wants_gold: ClassVar[bool] = True

    update_: UpdateName = option("max-violation", help="rule for the bin of an update")
    eta: float = option(0.01, min=0, help="factor of all steps")
    rate: Literal["fixed", "adagrad"] = option(
        "fixed", help="learning rates: equal for all features, or adapted to each feature"
    )
    sparse_rate: float | None = option(
        None,
        min=0,
        help="constant learning rate of sparse features with rate adagrad; if not given, AdaGrad's",
    )
    phrase_limit: int | None = option(
        None,
        min=1,
        help="consecutive bins without a good derivation that trigger an early update; if not "
        "given, the number of source words of the longest good phrase",
    )
    future: bool = option(
        False,
        help="include the best translations of uncovered words in the derivations of a bin",
    )
    minibatch: int = option(
        24, min=1, help="sentences per update, all decoded with the same weights"
    )

    _kbest: int = field(default=100, init=False, repr=False, compare=False)
    _rate: Rate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.phrase_limit is not None and self.update_ != "early":
            raise OptionError("phrase_limit: applies to update early only; omit it or choose that")
        if self.sparse_rate is not None and self.rate != "adagrad":
            raise OptionError("sparse_rate: applies to rate adagrad only; omit it or choose that")
        if self.future and self.update_ in ("standard", "local"):
            raise OptionError(
                f"future: update {self.update_} uses the last bin, in which all words are covered; "
                "omit it or choose max-violation or early"
            )

    @property
    def names_later(self) -> bool:
        return True

    @property
    def takes_lists(self) -> bool:
        return self.update_ == "local"

    @property
    def needs_spans(self) -> bool:
        return self.future

    def begin(self, share: Share) -> None:
        self._kbest = share.kbest
        if self.rate == "fixed":
            self._rate = FixedRate(self.eta)
        elif self.sparse_rate is None:
            self._rate = AdaGrad(self.eta, 1.0)
        else:
            self._rate = DenseAdaGrad(self.eta, 1.0, self.eta * self.sparse_rate, share.dense)

    def state(self) -> Mapping[str, Any]:
        return self._rate.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._rate.restore(state)

    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        usable = [e for e in examples if e.gold is not None and e.gold.nodes and e.forest.nodes]
        updates = list(
            in_order(lambda example: self._learn(example, weights), usable, task.threads)
        )
        steps = [update.step for update in updates if update.step is not None]
        chosen = [(update, update.chosen) for update in updates if update.chosen is not None]
        mean = weighted_sum(steps, [1.0 / len(examples)] * len(steps)) if steps else SparseVector()
        tenths = [
            (TENTHS * choice.bin - 1) // update.length
            for update, choice in chosen
            if update.step is not None
        ]
        violations = [0.0 if u.chosen is None else -u.chosen.margin for u in updates]
        return Update(
            self._step(_without(mean, task.fixed)),
            len(steps),
            {"violation": violations, "loss": [max(0.0, value) for value in violations]},
            sentences=[example.sentence for example in usable],
            derivations=[
                (example.sentence, derivation)
                for example, update in zip(usable, updates, strict=True)
                for derivation in update.pair or ()
            ],
            counts={
                "mistakes": len(chosen),
                "invalid": sum(not choice.valid for _, choice in chosen),
                "updates_by_tenth": np.bincount(np.array(tenths, np.int64), minlength=TENTHS),
            },
        )

    def _step(self, mean: SparseVector) -> SparseVector:
        ids, values = mean.ids, mean.values.astype(np.float64)
        return SparseVector(ids, (self._rate.metric(ids, values) * values).astype(np.float32))

    def _learn(self, example: Example, weights: Weights) -> ExampleUpdate:
        assert example.gold is not None
        violations = Violations(
            example.forest,
            example.gold,
            weights,
            complete=example.complete,
            spans=example.spans,
        )
        if self.update_ == "local":
            return self._local(example, violations, weights)
        if self.update_ == "early":
            chosen = early(violations, self.phrase_limit)
        else:
            chosen = {"max-violation": max_violation, "standard": standard}[self.update_](
                violations
            )
        if chosen is None or (self.update_ == "max-violation" and not chosen.valid):
            return ExampleUpdate(chosen, None, violations.length)
        step, pair = violations.difference(chosen.bin), violations.pair(chosen.bin)
        return ExampleUpdate(chosen, step, violations.length, pair)

    def _local(self, example: Example, violations: Violations, weights: Weights) -> ExampleUpdate:
        """Return the local update (eq. 9-10); of equally similar strings the model's best."""
        if standard(violations) is None:
            return ExampleUpdate(None, None, violations.length)
        bad = violations.pair(violations.length)[1]
        listed = kbest(
            example.forest, weights, self._kbest, distinct=True, roots=violations.last_nodes
        )
        metric = create("bleu+1")
        rows = metric.prepare([example.references]).statistics(
            [derivation.words for derivation in listed], np.zeros(len(listed), np.int32)
        )
        similar = listed[int(np.argmax(metric.sentence_scores(rows)))]
        step = similar.features.plus(bad.features, -1.0)
        if not len(step):  # the best translation is the most similar one
            return ExampleUpdate(None, None, violations.length)
        chosen = Chosen(violations.length, similar.score - bad.score)
        return ExampleUpdate(chosen, step, violations.length, (similar, bad))


@register("tuner", "maxforce")
@dataclass(kw_only=True)
class MaxForce(Violation):
    """Max-violation perceptron with forced decoding: `violation` with update=max-violation."""

    name: ClassVar[str] = "maxforce"

    update_: UpdateName = option("max-violation", help="rule for the bin of an update")


def _without(vector: SparseVector, fixed: frozenset[int]) -> SparseVector:
    """Return the vector without the fixed features."""
    if not fixed or not len(vector):
        return vector
    kept = ~np.isin(vector.ids, np.array(sorted(fixed), np.uint64))
    return SparseVector(vector.ids[kept], vector.values[kept])
