"""The contract of tuners.

A batch tuner is handed everything decoded so far and returns new weights. An online tuner is
handed a minibatch of examples and changes the weights. Both are dataclasses whose fields are their
options; both keep what they must remember between calls in `state()`, which is part of the
checkpoint of a run. `loop.py` owns decoding, pools, shuffling, averaging, stopping and progress.

    @register("tuner", "mert")
    @dataclass(kw_only=True)
    class Mert(BatchTuner):
        restarts: int = option(20, min=0, help="random starting points")

        def optimize(self, pool, weights, task): ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import BestSpans, Derivation, Forest
from hopefear.base.config import changed, option
from hopefear.base.errors import OptionError
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.pool.candidates import Candidates
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric

Space = Literal["kbest", "forest"]


@dataclass(frozen=True)
class Pool:
    """What was decoded so far. Which of the two parts is filled is the tuner's `space`."""

    metric: Metric
    candidates: Candidates | None = None  # all iterations, merged, without repetitions
    # Per sentence its forests, oldest first; `references` as in metrics.References.
    forests: Sequence[Sequence[Forest]] | None = None
    references: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Task:
    """What the loop hands to a tuner besides data."""

    random: np.random.Generator  # the tuner's only source of chance
    threads: int = 1
    iteration: int = 0  # of the outer loop, from 0
    fixed: frozenset[int] = frozenset()  # ids of features whose weights must stay
    # Online: ids, ascending, of the only features whose weights may move; None: all but the fixed.
    # The loop drops the rest of a step in any case; a tuner that knows can do better.
    learnable: NDArray[np.uint64] | None = None
    # Whether a decoder goes on with the new weights: then they must hold outside the pool too.
    searching: bool = False
    # Whether sparse features are collapsed into one score, whose weight of 1 must stay: no tuner
    # may rescale the weights.
    collapsed: bool = False
    progress: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Optimized:
    """New weights, the objective they reach (higher is better), and what else belongs in a log."""

    weights: Weights
    objective: float
    notes: Mapping[str, Any] = field(default_factory=dict)


class Tuner(ABC):
    """Base of all tuners."""

    name: ClassVar[str]
    loop: ClassVar[str]  # the registered name of the loop that runs it
    # The result is the mean of so many last iterations, unless the loop is told otherwise; 0: the
    # best one.
    average_last: ClassVar[int] = 0
    # Moves a few features only: of templates none, unless there are few of them.
    dense_only: ClassVar[bool] = False

    @property
    def needs_spans(self) -> bool:
        """Whether it looks at the best translations of spans (`Request.spans`)."""
        return False

    @property
    def takes_lists(self) -> bool:
        """Whether it learns from k-best lists, so that their size says something."""
        return True

    def state(self) -> Mapping[str, Any]:
        """What must be remembered between calls; JSON-able, arrays as numpy arrays."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state again."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state, but was given {sorted(state)}")


class BatchTuner(Tuner):
    """Optimises on a pool; the loop decodes again and repeats."""

    loop: ClassVar[str] = "batch"
    spaces: ClassVar[tuple[Space, ...]] = ("kbest",)  # the first is the default
    kbest: ClassVar[int] = 100  # candidates a sentence and decoding, unless the loop is told others

    @property
    def pool_space(self) -> Space:
        """Which part of the pool this tuner wants; those with a choice have an option `space`."""
        return getattr(self, "space", self.spaces[0])

    @property
    def takes_lists(self) -> bool:
        return self.pool_space == "kbest"

    def check(self, metric: Metric) -> None:
        """Refuse a metric that this tuner cannot learn for; called before anything is decoded."""

    @abstractmethod
    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized: ...


def check_space(tuner: BatchTuner, **only: Sequence[str]) -> None:
    """Refuse options, by the space that they are for, if the tuner works in the other one."""
    for space, names in only.items():
        field = changed(tuner, names) if space != tuner.pool_space else None
        if field is not None:
            raise OptionError(
                f"{field.name}: is for space {space}; leave it out, or set space={space}"
            )


def bleu_in_forests(metric: Metric) -> Bleu:
    """The metric, if it is one whose matches can be followed through a forest."""
    if not isinstance(metric, Bleu):
        raise OptionError(
            f"space forest: {metric.name} is no BLEU, which alone can be searched for in forests; "
            "use space kbest"
        )
    if metric.unit != "word":
        raise OptionError(
            "space forest: n-grams of characters cannot be searched for in forests; use space "
            "kbest, or unit word"
        )
    return metric


@dataclass(frozen=True)
class Example:
    """A sentence of a minibatch, decoded with the weights that are handed over with it."""

    sentence: int  # its number in the set
    forest: Forest  # everything search kept, bins too
    references: Sequence[str]
    gold: Forest | None = None  # the derivations of the reference, where a tuner asks for them
    complete: bool = True  # False: both sides are the beginning of a sentence that goes on
    spans: BestSpans | None = None  # of the same weights, where it `needs_spans`


@dataclass(frozen=True)
class Update:
    """What a minibatch teaches: a vector to add to the weights, and what belongs in a log."""

    step: SparseVector
    updates: int = 0  # examples that led to it; the others were right already, or of no use
    # Numbers with one entry for each example that had a translation: losses, spreads. The log has
    # their means and deviations over an iteration.
    measures: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # Strings likewise, as `best`, `towards`, `away`, with the examples' sentences: the log has
    # their corpus scores.
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sentences: Sequence[int] = ()
    # What the step is the difference of, with the examples' sentences: a loop whose decoder leaves
    # features without names asks it for those that were learned.
    derivations: Sequence[tuple[int, Derivation]] = ()
    # Numbers, or arrays of them, that the log has the sums of.
    counts: Mapping[str, int | NDArray[np.int64]] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """What a learner is told before its first update: its sentences, and what counts."""

    sentences: Sequence[int]  # their numbers in the set, ascending
    references: Sequence[Sequence[str]]  # of these
    metric: Metric  # what is to rise
    kbest: int  # translations of a sentence to look at
    distinct: bool = True  # different strings only
    # Ids of the features that count words left as they are (`Decoder.untranslated`).
    untranslated: frozenset[int] = frozenset()
    dense: frozenset[int] = frozenset()  # ids of the decoder's own features, not of templates


Mixing = Literal["iterative", "end"]
Average = Literal["updates", "iterations", "learners", "none"]


@dataclass(kw_only=True)
class OnlineTuner(Tuner):
    """Learns from a minibatch at a time, decoded with the weights of that moment.

    The object is one *learner*: it has its weights, its share of the sentences and its state, and
    does not know how many others there are or where they run. The loop (`online.py`) owns all
    that: with `learners` = n it makes n objects with equal options, deals the sentences out to them
    once, by the seed and never by thread, so that threads change no result, and mixes their weights
    by the sizes of the shares. Averaging is the loop's too; a tuner never averages. A batch of one
    is ordinary online learning. State (AdaGrad sums, background BLEU) comes from `state()` at each
    checkpoint, per learner; weights and averages are saved by the loop.
    """

    loop: ClassVar[str] = "online"
    kbest: ClassVar[int] = 500  # translations looked at, unless the loop is told others
    wants_gold: ClassVar[bool] = False  # learns from examples with `gold` only (forced decoding)

    learners: int = option(
        1, min=1, max=1000, help="learners, each with its share of the sentences; not threads"
    )
    mixing: Mixing = option(
        "iterative", help="learners' weights become one after each iteration, or only in the result"
    )
    minibatch: int = option(
        1, min=1, help="sentences of an update, all decoded with the same weights"
    )
    top: int = option(
        0,
        min=0,
        help="features that stay after each iteration, the strongest over all learners; those of "
        "the model itself stay too; 0: all",
    )
    average: Average = option(
        "updates",
        help="the result is the mean of the weights after all updates, after iterations, of all "
        "learners after iterations (unweighted), or the last ones",
    )

    @property
    def names_later(self) -> bool:
        """Whether updates have all `derivations` that their steps are made of."""
        return False

    def begin(self, share: Share) -> None:
        """Called once, before `restore` and the first update."""

    def describe(self) -> str:
        """What a person should know before the first iteration, after `begin`; may be empty."""
        return ""

    @abstractmethod
    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        """The step for these examples; `weights` are not changed. Order is that of the shuffle.

        `task.iteration` says when a new pass over the share begins.
        """
