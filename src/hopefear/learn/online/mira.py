"""The MIRA family and relative margin: online large-margin learning.  [eidelman2013, chiang2009]

Takes examples and the current weights and returns a step. A learner combines three independent
choices: the two derivations (`selection.py`), the cost (`cost.py`), and the size of the step
(`steps/`, with `steps/rates.py`). The loss is the hinge between the two derivations. The loop
(`loop/online.py`) decodes each sentence with the current weights and adds the step; it also owns
learners, minibatches and averages.

With `search_aware` the learner uses every bin of a sentence (`search_aware.py`): |x| updates one
after the other, the last with complete translations; in a larger minibatch all at once.

`rm` is the preset step=rm-pa.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, SparseVector, Weights
from hopefear.learn.online.cost import Cost, default_parts, parts_of
from hopefear.learn.online.selection import Away, Hypotheses, Rows, Selection, Towards
from hopefear.learn.pool.search_aware import Bins, SearchAware, pool_metric, words_of
from hopefear.learn.steps import STEPS, MarginProblem, Settings, Step
from hopefear.learn.steps.rates import AdaGrad, Arow, FixedRate, Rate
from hopefear.learn.steps.step import FloatArray
from hopefear.learn.tuner import Example, OnlineTuner, Share, Space, Task, Update

StepName = Literal["perceptron", "pa", "kbest", "cutting-plane", "rm-pa", "rm-cp"]

#: A sentence and a bin, or None for its complete translations.
Group = tuple[Example, int | None]
#: Matrices of hypotheses and features up to this size are dense.
DENSE = 1 << 18
#: Options that apply to one choice: their defaults, and the choice.
DEFAULTS: dict[str, tuple[Any, str]] = {
    "B": (1.0, "step rm-pa or rm-cp"),
    "D": (0.01, "step rm-pa or rm-cp"),
    "constraints": (10, "step kbest"),
    "adagrad_lambda": (0.01, "rate adagrad"),
    "arow_r": (100.0, "rate arow"),
    "beam": (20, "space forest"),
    "oracle_kbest": (50_000, "towards max-bleu and space kbest"),
}


@register("tuner", "mira")
@dataclass(kw_only=True)
class Mira(SearchAware, OnlineTuner):
    """Online MIRA with any pair of derivations (eq. 3.3) and any step."""

    name: ClassVar[str] = "mira"

    towards: Towards = option(
        "hope",
        help="derivation to move towards: the hope, the best by cost in the list (local) or "
        "anywhere (max-bleu), or the model's best",
    )
    away: Away = option(
        "fear",
        help="derivation to move away from: the fear, the worst by cost, or the model's best",
    )
    space: Space = option("kbest", help="choose derivations from a k-best list, or whole forests")
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
    beam: int | None = option(
        None, min=0, help="derivations considered per node of a forest (0: all); if not given, 20"
    )
    oracle_kbest: int | None = option(
        None,
        min=1,
        help="size of the k-best list in which max-bleu searches for the oracle; if not given, "
        "50000",
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
        used = {
            **dict.fromkeys(("B", "D", "constraints"), False),
            **dict.fromkeys(self._step.uses, True),
            "adagrad_lambda": self.rate == "adagrad",
            "arow_r": self.rate == "arow",
            "beam": self.space == "forest",
            "oracle_kbest": self.towards == "max-bleu" and self.space == "kbest",
        }
        for name, (default, choice) in DEFAULTS.items():
            if used[name]:
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

    # -- the contract with the loop --

    @property
    def takes_lists(self) -> bool:
        return self.space == "kbest" or self._step.lists or self.towards == "local"

    @property
    def names_later(self) -> bool:
        # Other steps use many derivations, and those of bins and forests are not kept.
        return self.space == "kbest" and self.search_aware == "off" and not self._step.lists

    @property
    def takes_collapsed(self) -> bool:
        return self.names_later

    def begin(self, share: Share) -> None:
        parts = self._parts() if self.cost else default_parts(share.metric)
        for part in parts:
            part.metric = pool_metric(part.metric, self.search_aware)
        self._cost = Cost(parts, self.scale, share)
        if self.space == "forest" and not self._cost.searchable:
            raise OptionError(
                "space forest: supports a single cost that can be searched for in forests, such as "
                "bleu-context; use that or space kbest"
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
        for groups in self._rounds(examples):
            results = in_order(partial(self._find, current), groups, task.threads)
            full = [(group, h) for group, h in zip(groups, results, strict=True) if len(h)]
            pairs = [self._selection.choose(hypotheses) for _, hypotheses in full]
            ids, problems = self._problems([hypotheses for _, hypotheses in full], pairs, task)
            step = self._moved(ids, self._change(ids, problems))
            total.add(step)
            if self.search_aware != "off":
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
        return Update(
            total.vector(),
            updates,
            {
                "loss": [losses[example.sentence] for example, _ in translated],
                "spread": [
                    float(h.scores[t] - h.scores.min())
                    for (_, h), (t, _) in _zip(translated, chosen)
                ],
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

    def _rounds(self, examples: Sequence[Example]) -> list[list[Group]]:
        """Return the groups of each update in turn."""
        complete: list[Group] = [(example, None) for example in examples]
        if self.search_aware == "off":
            return [complete]
        parts: list[Group] = [
            (example, bin) for example in examples for bin in range(1, words_of(example.forest))
        ]
        if len(examples) > 1:
            return [[*parts, *complete]]
        return [[group] for group in [*parts, *complete]]  # Liu & Huang 2014, 4.2: |x| updates

    def _find(self, weights: Weights, group: Group) -> Hypotheses:
        example, bin = group
        if bin is None:
            if example.collapsed is not None:
                found = self._selection.find(
                    example.forest, example.collapsed.weights, self._cost, example.sentence
                )
                return replace(found, replay=example.collapsed.features)
            return self._selection.find(
                example.forest, weights, self._cost, example.sentence, lists=self._step.lists
            )
        forest = example.forest
        names = forest.names or FeatureNames()
        bins = Bins(self.search_aware, self.future, names, self._untranslated)
        rows = bins.strings(forest, weights, example.spans, bin)
        share = bin / words_of(forest) if self.search_aware == "partial" else None
        assert rows.texts is not None
        gains = self._cost.gains(rows.texts, example.sentence, share)
        features = Rows(rows.features, rows.ids, rows.values)
        return Hypotheses((), rows.scores, gains, np.ones(len(gains), bool), features)

    @staticmethod
    def _moved(ids: NDArray[np.uint64], change: FloatArray) -> SparseVector:
        moved = np.flatnonzero(change)
        return SparseVector(ids[moved], change[moved].astype(np.float32))

    def _parts(self) -> list[Any]:
        return parts_of(self.cost, self.cost_weights or [1.0] * len(self.cost), self.cost_options)

    def _selection_with(self, size: int, distinct: bool) -> Selection:
        more: dict[str, int] = {}
        if self.beam is not None:
            more["beam"] = self.beam
        if self.oracle_kbest is not None:
            more["oracle_kbest"] = self.oracle_kbest
        return Selection(self.towards, self.away, self.space, size, distinct, **more)

    def _change(self, ids: NDArray[np.uint64], problems: Sequence[MarginProblem]) -> FloatArray:
        gradient = np.zeros(len(ids))
        for problem in problems:
            if self.towards == "hope" and self.away == "fear":
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


@register("tuner", "rm")
@dataclass(kw_only=True)
class Rm(Mira):
    """Relative margin machine: MIRA whose steps also bound the spread of scores."""

    name: ClassVar[str] = "rm"

    step: StepName = option("rm-pa", help="rule for the size of the step")


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
