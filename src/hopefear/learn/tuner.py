"""The contract of tuners.

A batch tuner takes the pool of all candidates decoded so far and returns new weights. An online
tuner takes a minibatch of examples and returns a step to add to the weights. Both are dataclasses
whose fields are their options, and `state()` returns what they keep between calls, which is stored
in the checkpoints of a run. The loops (`loop/`) own decoding, pools, shuffling, averaging, stopping
and progress.

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
from hopefear.base.errors import InputError, OptionError
from hopefear.base.executor import Executor
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.pool.candidates import Candidates
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric

Space = Literal["kbest", "forest"]


@dataclass(frozen=True)
class Pool:
    """Everything decoded so far: candidates or forests, depending on the tuner's `space`."""

    metric: Metric  #: the metric to optimise
    #: The candidates of all iterations, merged, without duplicates.
    candidates: Candidates | None = None
    #: The forests of each sentence, oldest first; `references` as in metrics.References.
    forests: Sequence[Sequence[Forest]] | None = None
    references: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Task:
    """The circumstances of a call of a tuner: everything but the data."""

    random: np.random.Generator  #: the tuner's only source of randomness
    threads: int = 1
    iteration: int = 0  #: number of the outer loop's iteration, from 0
    fixed: frozenset[int] = frozenset()  #: ids of features whose weights must not change
    #: Online: ids, ascending, of the features whose weights may change; None: all but the fixed
    #: ones. The loop drops other features from a step; a tuner may use this to choose a better
    #: step.
    learnable: NDArray[np.uint64] | None = None
    #: Whether a decoder uses the new weights next, so that they must generalise beyond the pool.
    searching: bool = False
    #: Whether sparse features are collapsed into one score. Its weight stays 1, so the tuner must
    #: not rescale the weights.
    collapsed: bool = False
    progress: Callable[[int], None] | None = None  #: takes the number of finished units of work
    executor: Executor | None = None  #: runs jobs of the tuner; None: `threads` of this process


@dataclass(frozen=True)
class Optimized:
    """The result of a batch tuner: weights, their objective (higher is better), notes to log."""

    weights: Weights
    objective: float
    notes: Mapping[str, Any] = field(default_factory=dict)


class Tuner(ABC):
    """The base class of all tuners."""

    name: ClassVar[str]
    loop: ClassVar[str]  #: the registered name of the loop that runs the tuner
    #: Default number of last iterations whose mean is the result; 0: the result is the best one.
    average_last: ClassVar[int] = 0
    #: Tunes dense features only; the features of templates keep their weights unless they are few.
    dense_only: ClassVar[bool] = False

    @property
    def needs_spans(self) -> bool:
        """Whether the tuner needs the best translations of spans (`Request.spans`)."""
        return False

    @property
    def takes_lists(self) -> bool:
        """Whether the tuner learns from k-best lists, so that the option `kbest` has an effect."""
        return True

    def state(self) -> Mapping[str, Any]:
        """Return the state to keep between calls: values for JSON, and numpy arrays."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take a state that `state` returned and continue from it."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state, but was given {sorted(state)}")


class BatchTuner(Tuner):
    """A tuner that optimises the weights on a pool, between two decodings of the tuning set."""

    loop: ClassVar[str] = "batch"
    spaces: ClassVar[tuple[Space, ...]] = (
        "kbest",
    )  #: the supported spaces; the first is the default
    kbest: ClassVar[int] = 100  #: default number of candidates per sentence and decoding

    @property
    def pool_space(self) -> Space:
        """The part of the pool to learn from; tuners that support both have an option `space`."""
        return getattr(self, "space", self.spaces[0])

    @property
    def takes_lists(self) -> bool:
        return self.pool_space == "kbest"

    def check(self, metric: Metric) -> None:
        """Raise an error for a metric that the tuner cannot optimise; called before decoding."""

    @abstractmethod
    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        """Take the pool and the last weights and return new weights; `weights` do not change."""


def optimized(tuner: BatchTuner, pool: Pool, weights: Weights, task: Task) -> Optimized:
    """Call a batch tuner; raise an `InputError` if its result is not that of the contract."""
    result = tuner.optimize(pool, weights, task)
    if not isinstance(result, Optimized):
        raise InputError(
            f"tuner {tuner.name}: optimize returns {type(result).__name__}, expected Optimized; "
            "correct the tuner"
        )
    return result


def check_space(tuner: BatchTuner, **options: Sequence[str]) -> None:
    """Take the names of the options of each space and refuse those of an unused space."""
    for space, names in options.items():
        field = changed(tuner, names) if space != tuner.pool_space else None
        if field is not None:
            raise OptionError(
                f"{field.name}: applies to space {space} only; omit it or set space={space}"
            )


def bleu_in_forests(metric: Metric) -> Bleu:
    """Take a metric and return it if it is BLEU over words; no other can be searched in forests."""
    if not isinstance(metric, Bleu):
        raise OptionError(
            f"space forest: supports only BLEU, and the metric is {metric.name}; use space kbest"
        )
    if metric.unit != "word":
        raise OptionError(
            "space forest: does not support n-grams of characters; use space kbest or unit word"
        )
    return metric


@dataclass(frozen=True)
class Collapsed:
    """The use of a forest with one number for all sparse features of an edge."""

    weights: Weights  #: the weights of the forest's features
    features: Callable[[Derivation], SparseVector]  #: all features of one of its derivations


@dataclass(frozen=True)
class Example:
    """A sentence of a minibatch, decoded with the weights that `update` gets."""

    sentence: int  #: the number of the sentence in the training set
    forest: Forest  #: everything the search kept, with its bins
    references: Sequence[str]
    gold: Forest | None = None  #: the derivations of the reference, if the tuner `wants_gold`
    complete: bool = True  #: False for a prefix of a sentence pair
    #: Best translations of spans under the same weights, if the tuner `needs_spans`.
    spans: BestSpans | None = None
    #: Returns all derivations that the grammar has of a translation, under the same weights; given
    #: if the tuner `needs_target`.
    derive: Callable[[Sequence[str]], Forest] | None = None
    #: Weight of the language models per natural log (`Decoder.language_weight`); 0 without models.
    language_weight: float = 0.0
    #: If the forest's sparse features are collapsed into one score: how to use it.
    collapsed: Collapsed | None = None


@dataclass(frozen=True)
class Update:
    """The result of an online tuner for a minibatch: a vector to add to the weights, and notes."""

    step: SparseVector
    updates: int = 0  #: examples that contribute to the step; the others needed no update
    #: One number for each example with a translation, such as its loss; the log has the mean and
    #: the deviation over an iteration.
    measures: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: One string for each example with a translation, such as `best`, `towards` or `away`; the log
    #: has the corpus scores. `sentences` has the numbers of these examples.
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sentences: Sequence[int] = ()
    #: The derivations whose features the step is made of, each with its sentence; a decoder that
    #: names features lazily needs them to name the features that were learned.
    derivations: Sequence[tuple[int, Derivation]] = ()
    #: Numbers or arrays; the log has their sums over an iteration.
    counts: Mapping[str, int | NDArray[np.int64]] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A learner's part of the training set, and the settings of the run."""

    sentences: Sequence[int]  #: numbers of its sentences in the training set, ascending
    references: Sequence[Sequence[str]]  #: references of each of these sentences
    metric: Metric  #: the metric to optimise
    kbest: int  #: size of k-best lists
    distinct: bool = True  #: whether the strings of a list are distinct
    #: Ids of the features that count untranslated (copied) words (`Decoder.untranslated`).
    untranslated: frozenset[int] = frozenset()
    dense: frozenset[int] = frozenset()  #: ids of the decoder's own features, without templates
    #: Numbers of source words of the sentences; empty: not known.
    source_lengths: Sequence[int] = ()
    #: The number of sentences of the other learners, and the total of their source words.
    elsewhere: tuple[int, float] = (0, 0.0)


Mixing = Literal["iterative", "end"]
Average = Literal["updates", "iterations", "learners", "none"]


@dataclass(kw_only=True)
class OnlineTuner(Tuner):
    """A tuner that learns from one minibatch at a time, decoded with the current weights.

    An object is one *learner*, with its weights, its share of the sentences and its state; it does
    not know of other learners, except for sums over their shares (`recorded`). The loop
    (`loop/online.py`) makes `learners` objects with equal options, divides the sentences among them
    once, by the seed and independently of threads, and mixes their weights in proportion to the
    sizes of the shares. The loop also averages the weights and saves weights and averages; a tuner
    keeps only its own state (AdaGrad sums, background BLEU). A minibatch of one sentence is
    ordinary online learning.
    """

    loop: ClassVar[str] = "online"
    kbest: ClassVar[int] = 500  #: default size of k-best lists
    wants_gold: ClassVar[bool] = False  #: learns only from examples with `gold` (forced decoding)

    learners: int = option(
        1,
        min=1,
        max=1000,
        help="number of learners, each with its share of the sentences; independent of threads",
    )
    mixing: Mixing = option(
        "iterative", help="mix the learners' weights after each iteration, or only at the end"
    )
    minibatch: int = option(
        1, min=1, help="sentences per update, all decoded with the same weights"
    )
    top: int = option(
        0,
        min=0,
        help="number of sparse features kept after each iteration, those with the largest weights "
        "over all learners (0: all); dense features are always kept",
    )
    average: Average = option(
        "updates",
        help="mean that is the result: of the weights after all updates, after iterations, of all "
        "learners after iterations (unweighted); none: the last weights",
    )

    @property
    def names_later(self) -> bool:
        """Whether updates list all derivations of their steps, so that features get names later."""
        return False

    @property
    def needs_target(self) -> bool:
        """Whether the tuner asks for all derivations of translations (`Example.derive`)."""
        return False

    @property
    def takes_collapsed(self) -> bool:
        """Whether updates need the sparse features of few derivations (`Example.collapsed`)."""
        return False

    def begin(self, share: Share) -> None:
        """Take the learner's share; called once, before `restore` and the first update."""

    def describe(self) -> str:
        """Return a line to print once, after `begin`, or an empty string."""
        return ""

    def recorded(self) -> Sequence[NDArray[np.int64]]:
        """Return sums over the share from the last pass, such as BLEU statistics."""
        return ()

    def receive(self, others: Sequence[NDArray[np.int64]]) -> None:
        """Take the sums of `recorded` over the other learners; called after each pass."""

    @abstractmethod
    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        """Take the current weights and examples and return a step; `weights` do not change.

        Examples come in shuffled order; a new `task.iteration` is a new pass over the share.
        """
