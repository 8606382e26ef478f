"""The MIRA family and relative margin: online large-margin learning.  [eidelman2013, chiang2009]

A learner is three choices, kept apart: which two derivations (`selection.py`), at what cost
(`cost.py`), and how far to move (`steps/`, with `steps/rates.py`). The loss is the hinge between
the two. The loop (`online.py`) decodes each sentence with the weights of that moment and adds the
step; learners, minibatches and averages are its business.

With `search_aware` every bin of a sentence is learned from (`search_aware.py`): |x| updates one
after the other, the last with the whole translations; in a larger minibatch all at once.

`rm` is the preset step=rm-pa.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

#: A sentence, and a bin or (None) its whole translations.
Group = tuple[Example, int | None]
#: Matrices of hypotheses and features up to this size are dense.
DENSE = 1 << 18
#: Options that belong to one choice: their defaults, and what the choice is.
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
    """Online MIRA: any two derivations of eq. 3.3, any step, for dense and sparse features."""

    name: ClassVar[str] = "mira"

    towards: Towards = option("hope", help="what is learned: hope, the list's or forest's best …")
    away: Away = option("fear", help="what is unlearned: fear, the worst, the model's best")
    space: Space = option("kbest", help="hypotheses are a k-best list, or all of the forest")
    step: StepName = option("pa", help="how far the weights move")
    rate: Literal["fixed", "adagrad", "arow"] = option("fixed", help="rates of features")
    C: float = option(0.01, min=0, help="largest step: the sum of a sentence's multipliers")
    B: float | None = option(
        None, min=0, help="relative margin: largest spread of scores, times scale; if not given 1"
    )
    D: float | None = option(None, min=0, help="largest step of its bounds; if not given 0.01")
    eta: float = option(1.0, min=0, help="factor of all rates")
    adagrad_lambda: float | None = option(
        None, min=0, help="of AdaGrad: factor of the squares; if not given 0.01"
    )
    arow_r: float | None = option(None, min=0, help="of AROW; if not given 100")
    constraints: int | None = option(
        None, min=1, help="of the k-best step: hypotheses of each of 3 lists; if not given 10"
    )
    beam: int | None = option(
        None, min=0, help="in forests: derivations looked at per node (0: all); if not given 20"
    )
    oracle_kbest: int | None = option(
        None, min=1, help="of max-bleu: size of the list searched for it; if not given 50000"
    )
    cost: list[str] = option(
        [], metavar="METRIC", help="what costs; if not given what is tuned for, BLEU in context"
    )
    cost_weights: list[float] = option([], help="one for each of them; if not given 1")
    cost_options: list[str] = option(
        [], metavar="PART.KEY=VALUE", help="options of these, as bleu-context.context=document"
    )
    scale: float = option(
        10.0, min=0, help="what costs are multiplied with; before, a whole sentence costs 1"
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
                raise OptionError(f"{name}: belongs to {choice}; leave it out or choose that")
        if not self.cost and (self.cost_weights or self.cost_options):
            raise OptionError("cost_weights, cost_options: give 'cost' too, the metrics they mean")
        for name in ("adagrad_lambda", "arow_r"):
            if getattr(self, name) == 0:
                raise OptionError(f"{name}: 0 is out of range; give a number above 0")
        self._parts()
        self._selection_with(self.kbest, True)

    # -- what the loop asks --

    @property
    def takes_lists(self) -> bool:
        return self.space == "kbest" or self._step.lists or self.towards == "local"

    @property
    def names_later(self) -> bool:
        # Other steps are made of many derivations, those of bins and whole forests are not at hand.
        return self.space == "kbest" and self.search_aware == "off" and not self._step.lists

    def begin(self, share: Share) -> None:
        parts = self._parts() if self.cost else default_parts(share.metric)
        for part in parts:
            part.metric = pool_metric(part.metric, self.search_aware)
        self._cost = Cost(parts, self.scale, share)
        if self.space == "forest" and not self._cost.searchable:
            raise OptionError(
                "space forest: only BLEU can be searched for in forests; take space kbest, or one "
                "cost, such as bleu-context"
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
        given = {name: getattr(self, name) for name in ("D", "constraints")}
        self._settings = Settings(
            C=self.C,
            B=self.scale * (1.0 if self.B is None else self.B),
            ridge=self._rate.ridge,
            tolerance=1e-4 * max(self.scale, 1e-9),
            **{name: value for name, value in given.items() if value is not None},
        )

    def describe(self) -> str:
        return f"cost {self._cost.signature()}"

    def state(self) -> Mapping[str, Any]:
        return {"cost": self._cost.state(), "rate": self._rate.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._cost.restore(state["cost"])
        self._rate.restore(state["rate"])

    def update(self, weights: Weights, examples: Sequence[Example], task: Task) -> Update:
        self._cost.begin_iteration(task.iteration)
        total, current, updates = Weights(), weights, 0
        losses = dict.fromkeys((example.sentence for example in examples), 0.0)
        there, chosen = [], []  # of whole translations
        for groups in self._rounds(examples):
            found = in_order(partial(self._find, current), groups, task.threads)
            full = [(group, one) for group, one in zip(groups, found, strict=True) if len(one)]
            pairs = [self._selection.choose(one) for _, one in full]
            ids, problems = self._problems([one for _, one in full], pairs, task)
            step = self._moved(ids, self._change(ids, problems))
            total.add(step)
            if self.search_aware != "off":
                current = current.copy() if current is weights else current
                current.add(step)
            for ((example, bin), one), pair, problem in zip(full, pairs, problems, strict=True):
                updates += problem.loss > 0
                losses[example.sentence] += max(0.0, problem.loss)
                if bin is None:
                    there.append((example, one))
                    chosen.append(pair)
        for example, one in there:
            self._cost.record(one.derivations[one.best].text, example.sentence)
        return Update(
            total.vector(),
            updates,
            {
                "loss": [losses[example.sentence] for example, _ in there],
                "spread": [
                    float(f.scores[t] - f.scores.min()) for (_, f), (t, _) in _zip(there, chosen)
                ],
            },
            {
                "best": [found.derivations[found.best].text for _, found in there],
                "towards": [f.derivations[t].text for (_, f), (t, _) in _zip(there, chosen)],
                "away": [f.derivations[a].text for (_, f), (_, a) in _zip(there, chosen)],
            },
            [example.sentence for example, _ in there],
            derivations=[
                (example.sentence, one.derivations[number])
                for (example, one), pair in zip(there, chosen, strict=True)
                for number in pair
            ]
            if self.names_later
            else (),
        )

    # -- inside --

    def _rounds(self, examples: Sequence[Example]) -> list[list[Group]]:
        """What is learned from at once: groups of hypotheses, a sentence and its bin each."""
        whole: list[Group] = [(example, None) for example in examples]
        if self.search_aware == "off":
            return [whole]
        parts: list[Group] = [
            (example, bin) for example in examples for bin in range(1, words_of(example.forest))
        ]
        if len(examples) > 1:
            return [[*parts, *whole]]
        return [[group] for group in [*parts, *whole]]  # Liu & Huang 2014, 4.2: |x| updates

    def _find(self, weights: Weights, group: Group) -> Hypotheses:
        example, bin = group
        if bin is None:
            return self._selection.find(
                example.forest, weights, self._cost, example.sentence, lists=self._step.lists
            )
        forest = example.forest
        names = forest.names or FeatureNames()
        bins = Bins(self.search_aware, self.future, names, self._untranslated)
        found = bins.strings(forest, weights, example.spans, bin)
        share = bin / words_of(forest) if self.search_aware == "partial" else None
        assert found.texts is not None
        gains = self._cost.gains(found.texts, example.sentence, share)
        features = Rows(found.features, found.ids, found.values)
        return Hypotheses((), found.scores, gains, np.ones(len(gains), bool), features)

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
                # Both are the best of the same hypotheses (errata, Alg. 4).
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
        found: Sequence[Hypotheses],
        chosen: Sequence[tuple[int, int]],
        task: Task,
    ) -> tuple[NDArray[np.uint64], list[MarginProblem]]:
        """Local numbers for all features, and the sentences' problems with them."""
        rows = [
            list(range(len(one))) if self._step.lists else [*pair]
            for one, pair in zip(found, chosen, strict=True)
        ]
        collected = [one.rows(which) for one, which in zip(found, rows, strict=True)]
        every = [ids for _, ids, _ in collected]
        ids, columns = np.unique(
            np.concatenate([np.zeros(0, np.uint64), *every]), return_inverse=True
        )
        held = np.isin(ids, np.array(sorted(task.fixed), np.uint64))
        if task.learnable is not None:
            held |= ~np.isin(ids, task.learnable)
        left = np.zeros(len(ids), bool)
        if "B" in self._step.uses:
            left = np.isin(ids, np.array(sorted(self._untranslated), np.uint64))
        problems, used = [], 0
        for one, which, pair, (begin, _, values) in zip(
            found, rows, chosen, collected, strict=True
        ):
            own = columns[used : used + len(values)]
            used += len(values)
            kept = np.where(held[own], 0.0, values)
            towards, away = pair if self._step.lists else (0, 1)
            bounded = None
            if left.any():
                hypothesis = np.repeat(np.arange(len(which)), np.diff(begin))
                as_they_are = np.bincount(hypothesis, values * left[own], len(which))
                bounded = as_they_are == as_they_are[towards]
            problems.append(
                MarginProblem(
                    one.scores[which],
                    one.gains[which],
                    _matrix(begin, own, kept, len(ids)),
                    towards,
                    away,
                    partial(self._selection.choose_away, one),
                    partial(self._selection.best_lists, one),
                    bounded,
                )
            )
        return ids, problems


@register("tuner", "rm")
@dataclass(kw_only=True)
class Rm(Mira):
    """Online learning of a relative margin: MIRA whose steps bound the spread of scores too."""

    name: ClassVar[str] = "rm"

    step: StepName = option("rm-pa", help="how far the weights move")


def _matrix(
    begin: NDArray[np.int64], columns: NDArray[Any], values: NDArray[Any], width: int
) -> Any:
    """Rows of features, in double precision."""
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
