"""Large-margin online learning: the step, its rate, the cost, and the update of a minibatch.
[eidelman2013, chiang2009]

The base class of `mira` and `latent`. Takes examples and the current weights and returns a step. A
subclass returns the hypotheses of a sentence and the pair of an update (`Hypotheses`); this class
chooses the cost (`cost.py`) and the size of the step (`steps/`, with `steps/rates.py`). The loss is
the hinge between the two hypotheses. The loop (`loop/online.py`) decodes each sentence with the
current weights and adds the step; it also owns learners, minibatches and averages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.weights import SparseVector, Weights
from hopefear.learn.online.cost import Cost, default_parts, parts_of
from hopefear.learn.online.selection import Hypotheses, Selection
from hopefear.learn.steps import STEPS, MarginProblem, Settings, Step
from hopefear.learn.steps.rates import AdaGrad, Arow, FixedRate, Rate
from hopefear.learn.steps.step import FloatArray
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task, Update
from hopefear.metrics.metric import Metric

StepName = Literal["perceptron", "pa", "kbest", "cutting-plane", "rm-pa", "rm-cp"]

#: A sentence and a bin, or None for its complete translations.
Group = tuple[Example, int | None]
#: Matrices of hypotheses and features up to this size are dense.
DENSE = 1 << 18


@dataclass(kw_only=True)
class LargeMargin(OnlineTuner):
    """A learner that makes a large-margin step between two hypotheses of a sentence."""

    #: Options that apply to one choice: their defaults, and the choice.
    defaults: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "B": (1.0, "step rm-pa or rm-cp"),
        "D": (0.01, "step rm-pa or rm-cp"),
        "constraints": (10, "step kbest"),
        "adagrad_lambda": (0.01, "rate adagrad"),
        "arow_r": (100.0, "rate arow"),
    }

    step: StepName = option("pa", help="rule for the size of the step")
    rate: Literal["fixed", "adagrad", "arow"] = option(
        "fixed", help="learning rates: equal for all features, or adapted to each feature"
    )
    C: float = option(
        0.01, min=0, help="maximum step size: limit of the sum of a sentence's multipliers"
    )
    B: float | None = option(
        None,
        min=0,
        help="bound on the spread of scores of relative-margin steps, multiplied by scale; if not "
        "given, 1",
    )
    D: float | None = option(
        None,
        min=0,
        help="maximum step size for this bound in relative-margin steps; if not given, 0.01",
    )
    eta: float = option(1.0, min=0, help="factor of all learning rates")
    adagrad_lambda: float | None = option(
        None, min=0, help="factor of the squared gradients of AdaGrad; if not given, 0.01"
    )
    arow_r: float | None = option(None, min=0, help="regularisation r of AROW; if not given, 100")
    constraints: int | None = option(
        None, min=1, help="hypotheses from each of the 3 lists of the k-best step; if not given, 10"
    )
    cost: list[str] = option(
        [],
        metavar="METRIC",
        help="metrics of the cost; if not given, the metric to optimise, as BLEU in context",
    )
    cost_weights: list[float] = option(
        [], help="weights of the metrics of the cost; if not given, 1"
    )
    cost_options: list[str] = option(
        [],
        metavar="PART.KEY=VALUE",
        help="options of the metrics of the cost, such as bleu-context.context=document",
    )
    scale: float = option(
        10.0, min=0, help="factor of the cost, which is in units of the sentence score"
    )

    _cost: Cost = field(init=False, repr=False, compare=False)
    _rate: Rate = field(init=False, repr=False, compare=False)
    _selection: Selection = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._step: Step = STEPS[self.step]()
        for name, used in self._used().items():
            default, choice = self.defaults[name]
            if used:
                if getattr(self, name) is None:
                    setattr(self, name, default)
            elif getattr(self, name) is not None:
                raise OptionError(f"{name}: applies to {choice} only; omit it or choose that")
        if not self.cost and (self.cost_weights or self.cost_options):
            raise OptionError(
                "cost_weights, cost_options: set 'cost' too, the metrics they apply to"
            )
        for name in ("adagrad_lambda", "arow_r"):
            if getattr(self, name) == 0:
                raise OptionError(f"{name}: 0 is out of range; give a number above 0")
        self._parts()
        self._selection_with(self.kbest, True)

    # -- what a subclass chooses --

    def _used(self) -> dict[str, bool]:
        """Return, for each option of `defaults`, whether the other options use it."""
        return {
            **dict.fromkeys(("B", "D", "constraints"), False),
            **dict.fromkeys(self._step.uses, True),
            "adagrad_lambda": self.rate == "adagrad",
            "arow_r": self.rate == "arow",
        }

    @property
    def _searches_cost(self) -> str:
        """The option that makes the learner search forests by the cost; empty if none does."""
        return ""

    @property
    def _same_objective(self) -> bool:
        """Whether y+ and y- are chosen as hope and fear of the same hypotheses and scores."""
        return False

    def _metric(self, metric: Metric) -> Metric:
        """Return the metric to evaluate hypotheses by, given one of complete translations."""
        return metric

    @abstractmethod
    def _selection_with(self, size: int, distinct: bool) -> Selection:
        """Return the selection for lists of a size."""

    def _rounds(self, examples: Sequence[Example]) -> list[list[Group]]:
        """Return the groups of each update in turn."""
        return [[(example, None) for example in examples]]

    @abstractmethod
    def _find(self, weights: Weights, groups: Sequence[Group], task: Task) -> list[Hypotheses]:
        """Return the hypotheses of each group; none if there is no translation."""

    def _measures(self, hypotheses: Hypotheses, pair: tuple[int, int]) -> dict[str, float]:
        """Return the numbers to log for a translated sentence besides its loss."""
        return dict(hypotheses.measures)

    # -- the contract with the loop --

    def begin(self, share: Share) -> None:
        parts = self._parts() if self.cost else default_parts(share.metric)
        for part in parts:
            part.metric = self._metric(part.metric)
        self._cost = Cost(parts, self.scale, share)
        if self._searches_cost and not self._cost.searchable:
            raise OptionError(
                f"{self._searches_cost}: supports a single cost that can be searched for in "
                "forests, such as bleu-context; use that or space kbest"
            )
        self._selection = self._selection_with(share.kbest, share.distinct)
        self._untranslated = share.untranslated
        if self.rate == "adagrad":
            assert self.adagrad_lambda is not None
            self._rate = AdaGrad(self.eta, self.adagrad_lambda)
        elif self.rate == "arow":
            assert self.arow_r is not None
            self._rate = Arow(self.eta, self.arow_r)
        else:
            self._rate = FixedRate(self.eta)
        limits = {name: getattr(self, name) for name in ("D", "constraints")}
        self._settings = Settings(
            C=self.C,
            B=self.scale * (1.0 if self.B is None else self.B),
            ridge=self._rate.ridge,
            tolerance=1e-4 * max(self.scale, 1e-9),
            **{name: value for name, value in limits.items() if value is not None},
        )

    def describe(self) -> str:
        return f"cost {self._cost.signature()}"

    def state(self) -> Mapping[str, Any]:
        return {"cost": self._cost.state(), "rate": self._rate.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._cost.restore(state["cost"])
        self._rate.restore(state["rate"])

    def recorded(self) -> Sequence[NDArray[np.int64]]:
        return self._cost.recorded()

    def receive(self, others: Sequence[NDArray[np.int64]]) -> None:
        self._cost.receive(others)

    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        self._cost.begin_iteration(task.iteration)
        total, current, updates = Weights(), weights, 0
        losses = dict.fromkeys((example.sentence for example in examples), 0.0)
        translated, chosen = [], []  # complete translations only
        rounds = self._rounds(examples)
        for groups in rounds:
            results = self._find(current, groups, task)
            full = [(group, h) for group, h in zip(groups, results, strict=True) if len(h)]
            pairs = [h.pair or self._selection.choose(h) for _, h in full]
            ids, problems = self._problems([hypotheses for _, hypotheses in full], pairs, task)
            step = self._moved(ids, self._change(ids, problems))
            total.add(step)
            if len(rounds) > 1:
                current = current.copy() if current is weights else current
                current.add(step)
            for ((example, bin), hypotheses), pair, problem in zip(
                full, pairs, problems, strict=True
            ):
                updates += problem.loss > 0
                losses[example.sentence] += max(0.0, problem.loss)
                if bin is None:
                    translated.append((example, hypotheses))
                    chosen.append(pair)
        for example, hypotheses in translated:
            self._cost.record(hypotheses.derivations[hypotheses.best].text, example.sentence)
        measures = [self._measures(h, pair) for (_, h), pair in _zip(translated, chosen)]
        return Update(
            total.vector(),
            updates,
            {
                "loss": [losses[example.sentence] for example, _ in translated],
                **{name: [m[name] for m in measures] for name in (measures or [{}])[0]},
            },
            {
                "best": [h.derivations[h.best].text for _, h in translated],
                "towards": [h.derivations[t].text for (_, h), (t, _) in _zip(translated, chosen)],
                "away": [h.derivations[a].text for (_, h), (_, a) in _zip(translated, chosen)],
            },
            [example.sentence for example, _ in translated],
            derivations=[
                (example.sentence, hypotheses.derivations[number])
                for (example, hypotheses), pair in zip(translated, chosen, strict=True)
                for number in pair
            ]
            if self.names_later
            else (),
        )

    # -- inside --

    @staticmethod
    def _moved(ids: NDArray[np.uint64], change: FloatArray) -> SparseVector:
        moved = np.flatnonzero(change)
        return SparseVector(ids[moved], change[moved].astype(np.float32))

    def _parts(self) -> list[Any]:
        return parts_of(self.cost, self.cost_weights or [1.0] * len(self.cost), self.cost_options)

    def _change(self, ids: NDArray[np.uint64], problems: Sequence[MarginProblem]) -> FloatArray:
        gradient = np.zeros(len(ids))
        for problem in problems:
            if self._same_objective:
                # Both are chosen from the same hypotheses, so the loss is not negative (Alg. 4).
                size = 1.0 + float(np.abs(problem.scores).max() + np.abs(problem.gains).max())
                assert problem.loss >= -1e-9 * size, f"loss {problem.loss} of hope and fear"
            if problem.loss > 0:
                gradient += problem.direction(problem.away)
        if not len(ids):
            return gradient
        metric = self._rate.metric(ids, gradient)
        change = self._step.change(problems, metric, self._settings)
        self._rate.end(ids, gradient)
        return change

    def _problems(
        self,
        groups: Sequence[Hypotheses],
        chosen: Sequence[tuple[int, int]],
        task: Task,
    ) -> tuple[NDArray[np.uint64], list[MarginProblem]]:
        """Return the ids of all features, and the problem of each group over these features."""
        rows = [
            list(range(len(hypotheses))) if self._step.lists else [*pair]
            for hypotheses, pair in zip(groups, chosen, strict=True)
        ]
        collected = [hypotheses.rows(which) for hypotheses, which in zip(groups, rows, strict=True)]
        every = [ids for _, ids, _ in collected]
        ids, columns = np.unique(
            np.concatenate([np.zeros(0, np.uint64), *every]), return_inverse=True
        )
        held = np.isin(ids, np.array(sorted(task.fixed), np.uint64))
        if task.learnable is not None:
            held |= ~np.isin(ids, task.learnable)
        copied = np.zeros(len(ids), bool)  # features that count untranslated words
        if "B" in self._step.uses:
            copied = np.isin(ids, np.array(sorted(self._untranslated), np.uint64))
        problems, used = [], 0
        for hypotheses, which, pair, (begin, _, values) in zip(
            groups, rows, chosen, collected, strict=True
        ):
            own = columns[used : used + len(values)]
            used += len(values)
            kept = np.where(held[own], 0.0, values)
            towards, away = pair if self._step.lists else (0, 1)
            bounded = None
            if copied.any():
                row = np.repeat(np.arange(len(which)), np.diff(begin))
                copied_words = np.bincount(row, values * copied[own], len(which))
                bounded = copied_words == copied_words[towards]
            problems.append(
                MarginProblem(
                    hypotheses.scores[which],
                    hypotheses.gains[which],
                    _matrix(begin, own, kept, len(ids)),
                    towards,
                    away,
                    partial(self._selection.choose_away, hypotheses),
                    partial(self._selection.best_lists, hypotheses),
                    bounded,
                )
            )
        return ids, problems


def _matrix(
    begin: NDArray[np.int64], columns: NDArray[Any], values: NDArray[Any], width: int
) -> Any:
    """Return a matrix of feature rows in double precision, sparse if it is large."""
    size = len(begin) - 1
    if size * width > DENSE:
        from scipy.sparse import csr_array

        parts = (values.astype(np.float64), columns, begin)
        return csr_array(parts, shape=(size, width))
    matrix = np.zeros((size, width))
    matrix[np.repeat(np.arange(size), np.diff(begin)), columns] = values
    return matrix


def _zip(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return zip(a, b, strict=True)
