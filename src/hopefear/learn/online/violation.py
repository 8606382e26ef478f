"""The violation-fixing perceptron: learns where beam search goes wrong.  [yu2013, huang2012]

Goes in: for each example the forest of a beam search and the gold forest of its reference (forced
decoding). Comes out: features of a good derivation minus features of a bad one, both of the same
bin, which `search_errors.py` chooses by `update`; or, with update=local, of the translation in the
last bin that is most like the reference minus those of the best bad one (eq. 9-10) [liang2006].

max-violation updates only where there is a violation. early, standard and local do as the paper
has them; their updates without a violation are made, and counted like those that max-violation
leaves out (figure 9).

The step of a minibatch is the mean over its examples, those without an update counted, times
`eta`: minibatches of all sizes move the weights equally far [zhao2013]. A perceptron that starts at
0 cares for no factor; one that starts elsewhere forgets its start the faster the larger `eta` is.
Scores of good and bad ones differ by tens, dense weights are below 1: with `eta` = 1 the first
minibatch makes weights some fifty times as large, which stay in the average for many iterations.

`maxforce` is the preset update=max-violation.

Differs: errata yu2013 9-10: no local update if the best of the last bin is y itself. The paper's
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
#: The log counts updates by where in the sentence they are.
TENTHS = 10


@dataclass(frozen=True)
class Lesson:
    """What one example teaches."""

    chosen: Chosen | None = None  # None: search was right
    step: SparseVector | None = None  # None: no update
    length: int = 0  # source words
    pair: tuple[Derivation, Derivation] | None = None  # that the step is the difference of


@register("tuner", "violation")
@dataclass(kw_only=True)
class Violation(OnlineTuner):
    """Violation-fixing perceptron on reachable sentence pairs: learns from search errors."""

    name: ClassVar[str] = "violation"
    kbest: ClassVar[int] = 100  # of local
    wants_gold: ClassVar[bool] = True

    update_: UpdateName = option("max-violation", help="which bin of search an update is about")
    eta: float = option(0.01, min=0, help="factor of all steps")
    rate: Literal["fixed", "adagrad"] = option(
        "fixed", help="rates of features: all equal, or by what each has been moved so far"
    )
    sparse_rate: float | None = option(
        None,
        min=0,
        help="of AdaGrad: rate of all features but the dense ones; if not given, AdaGrad's, too",
    )
    phrase_limit: int | None = option(
        None,
        min=1,
        help="of early: bins without a good one before it gives up; if not given, as many as the "
        "longest good phrase has words",
    )
    future: bool = option(
        False, help="derivations of a bin have the best translations of what they leave open, too"
    )
    minibatch: int = option(
        24, min=1, help="sentences of an update, all decoded with the same weights"
    )

    _kbest: int = field(default=100, init=False, repr=False, compare=False)
    _rate: Rate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.phrase_limit is not None and self.update_ != "early":
            raise OptionError("phrase_limit: belongs to update early; leave it out or choose that")
        if self.sparse_rate is not None and self.rate != "adagrad":
            raise OptionError("sparse_rate: belongs to rate adagrad; leave it out or choose that")
        if self.future and self.update_ in ("standard", "local"):
            raise OptionError(
                f"future: update {self.update_} is about the end of a sentence, where nothing is "
                "open; leave it out or choose max-violation or early"
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
        there = [e for e in examples if e.gold is not None and e.gold.nodes and e.forest.nodes]
        lessons = list(in_order(lambda one: self._learn(one, weights), there, task.threads))
        steps = [one.step for one in lessons if one.step is not None]
        chosen = [(one, one.chosen) for one in lessons if one.chosen is not None]
        mean = weighted_sum(steps, [1.0 / len(examples)] * len(steps)) if steps else SparseVector()
        places = [(TENTHS * at.bin - 1) // one.length for one, at in chosen if one.step is not None]
        violations = [0.0 if one.chosen is None else -one.chosen.margin for one in lessons]
        return Update(
            self._step(_without(mean, task.fixed)),
            len(steps),
            {"violation": violations, "loss": [max(0.0, value) for value in violations]},
            sentences=[example.sentence for example in there],
            derivations=[
                (example.sentence, derivation)
                for example, one in zip(there, lessons, strict=True)
                for derivation in one.pair or ()
            ],
            counts={
                "mistakes": len(chosen),
                "invalid": sum(not at.valid for _, at in chosen),
                "updates_by_tenth": np.bincount(np.array(places, np.int64), minlength=TENTHS),
            },
        )

    def _step(self, mean: SparseVector) -> SparseVector:
        ids, values = mean.ids, mean.values.astype(np.float64)
        return SparseVector(ids, (self._rate.metric(ids, values) * values).astype(np.float32))

    def _learn(self, example: Example, weights: Weights) -> Lesson:
        assert example.gold is not None
        found = Violations(
            example.forest,
            example.gold,
            weights,
            complete=example.complete,
            spans=example.spans,
        )
        if self.update_ == "local":
            return self._local(example, found, weights)
        if self.update_ == "early":
            chosen = early(found, self.phrase_limit)
        else:
            chosen = {"max-violation": max_violation, "standard": standard}[self.update_](found)
        if chosen is None or (self.update_ == "max-violation" and not chosen.valid):
            return Lesson(chosen, None, found.length)
        step, pair = found.difference(chosen.bin), found.pair(chosen.bin)
        return Lesson(chosen, step, found.length, pair)

    def _local(self, example: Example, found: Violations, weights: Weights) -> Lesson:
        """Eq. 9-10. Of equally similar strings the one that the model likes best."""
        if standard(found) is None:
            return Lesson(None, None, found.length)
        bad = found.pair(found.length)[1]
        listed = kbest(example.forest, weights, self._kbest, distinct=True, roots=found.last_nodes)
        metric = create("bleu+1")
        rows = metric.prepare([example.references]).statistics(
            [derivation.words for derivation in listed], np.zeros(len(listed), np.int32)
        )
        similar = listed[int(np.argmax(metric.sentence_scores(rows)))]
        step = similar.features.plus(bad.features, -1.0)
        if not len(step):  # the best is the most similar one
            return Lesson(None, None, found.length)
        chosen = Chosen(found.length, similar.score - bad.score)
        return Lesson(chosen, step, found.length, (similar, bad))


@register("tuner", "maxforce")
@dataclass(kw_only=True)
class MaxForce(Violation):
    """Max-violation perceptron with forced decoding: `violation` with update=max-violation."""

    name: ClassVar[str] = "maxforce"

    update_: UpdateName = option("max-violation", help="which bin of search an update is about")


def _without(vector: SparseVector, fixed: frozenset[int]) -> SparseVector:
    """The vector without these features."""
    if not fixed or not len(vector):
        return vector
    kept = ~np.isin(vector.ids, np.array(sorted(fixed), np.uint64))
    return SparseVector(vector.ids[kept], vector.values[kept])
