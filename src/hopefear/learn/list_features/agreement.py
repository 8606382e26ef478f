"""`agreement.METRIC`: the expected metric of a candidate against its whole list.

It is the utility of minimum Bayes risk (`learn.rerank_mbr`), as a feature whose weight is tuned
beside the others. All candidates weigh the same, or `weights` and `scale` give a posterior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numpy.typing import ArrayLike

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.list_features.base import CandidateList, ListFeature
from hopefear.learn.rerank_mbr import ExpectedUtility


@register("list-feature", "agreement")
@dataclass(kw_only=True)
class Agreement(ListFeature):
    """Expected metric against the list."""

    metric: str = option("bleu", help="metric: bleu, chrf …, or given for utilities in the lists")
    weights: Path | None = option(
        None, help="weights of the posterior; if not given, it is uniform"
    )
    scale: float = option(1.0, min=0, help="factor of the scores in the posterior")
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none", help="tokenisation of the candidates"
    )

    def __post_init__(self) -> None:
        weights = None if self.weights is None else Weights.load(self.weights)
        self._utility = ExpectedUtility(self.metric, weights, self.scale, self.tokenize)

    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        return {f"agreement.{self.metric}": self._utility.expected(list_.nbest)}
