"""The MIRA family and relative margin: online large-margin learning.  [eidelman2013, chiang2009]

Takes examples and the current weights and returns a step. A learner combines three independent
choices: the two derivations (`selection.py`), the cost (`cost.py`), and the size of the step
(`steps/`, with `steps/rates.py`). `large_margin.py` has all but the first.

With `search_aware` the learner uses every bin of a sentence (`search_aware.py`): |x| updates one
after the other, the last with complete translations; in a larger minibatch all at once.

`rm` is the preset step=rm-pa.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.online.large_margin import Group, LargeMargin, StepName
from hopefear.learn.online.selection import Away, Hypotheses, Rows, Selection, Towards
from hopefear.learn.pool.search_aware import Bins, SearchAware, pool_metric, words_of
from hopefear.learn.tuner import Example, Space, Task
from hopefear.metrics.metric import Metric


@register("tuner", "mira")
@dataclass(kw_only=True)
class Mira(SearchAware, LargeMargin):
    """Online MIRA with any pair of derivations (eq. 3.3) and any step."""

    name: ClassVar[str] = "mira"
    defaults: ClassVar[Mapping[str, tuple[Any, str]]] = {
        **LargeMargin.defaults,
        "beam": (20, "space forest"),
        "oracle_kbest": (50_000, "towards max-bleu and space kbest"),
    }

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
    beam: int | None = option(
        None, min=0, help="derivations considered per node of a forest (0: all); if not given, 20"
    )
    oracle_kbest: int | None = option(
        None,
        min=1,
        help="size of the k-best list in which max-bleu searches for the oracle; if not given, "
        "50000",
    )
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

    # -- the choices of `large_margin.py` --

    def _used(self) -> dict[str, bool]:
        return {
            **super()._used(),
            "beam": self.space == "forest",
            "oracle_kbest": self.towards == "max-bleu" and self.space == "kbest",
        }

    @property
    def _searches_cost(self) -> str:
        return "space forest" if self.space == "forest" else ""

    @property
    def _same_objective(self) -> bool:
        return self.towards == "hope" and self.away == "fear"

    def _metric(self, metric: Metric) -> Metric:
        return pool_metric(metric, self.search_aware)

    def _selection_with(self, size: int, distinct: bool) -> Selection:
        more: dict[str, int] = {}
        if self.beam is not None:
            more["beam"] = self.beam
        if self.oracle_kbest is not None:
            more["oracle_kbest"] = self.oracle_kbest
        return Selection(self.towards, self.away, self.space, size, distinct, **more)

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

    def _find(self, weights: Weights, groups: Sequence[Group], task: Task) -> list[Hypotheses]:
        return list(in_order(partial(self._hypotheses, weights), groups, task.threads))

    def _measures(self, hypotheses: Hypotheses, pair: tuple[int, int]) -> dict[str, float]:
        scores = hypotheses.scores
        return {"spread": float(scores[pair[0]] - scores.min())}

    def _hypotheses(self, weights: Weights, group: Group) -> Hypotheses:
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


@register("tuner", "rm")
@dataclass(kw_only=True)
class Rm(Mira):
    """Relative margin machine: MIRA whose steps also bound the spread of scores."""

    name: ClassVar[str] = "rm"

    step: StepName = option("rm-pa", help="rule for the size of the step")
