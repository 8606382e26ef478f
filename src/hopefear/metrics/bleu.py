"""BLEU: clipped n-gram precisions and a brevity penalty.  [papineni2002, post2018]

Statistics: match1, total1, …, match4, total4, reference length, counted in C++. On the same tokens
the corpus score equals sacreBLEU's, including smoothing, and the sentence score equals its
`sentence_score` with effective order (orders longer than the hypothesis are ignored).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import NgramGain
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.metrics.metric import FloatArray, safe_divide
from hopefear.metrics.ngram_metric import NgramMetric

Smoothing = Literal["exp", "floor", "add-k", "none"]


@register("metric", "bleu")
@dataclass(kw_only=True)
class Bleu(NgramMetric):
    """BLEU, with the same value as sacreBLEU on the same tokens."""

    name: ClassVar[str] = "bleu"
    title: ClassVar[str] = "BLEU"

    smooth: Smoothing = option(
        "exp", help="smoothing of n-gram orders without a match, as in sacreBLEU"
    )
    smooth_value: float | None = option(
        None, min=0, help="value for smooth floor (default 0.1) or add-k (default 1)"
    )

    def __post_init__(self) -> None:
        if self.smooth_value is not None and self.smooth not in ("floor", "add-k"):
            raise OptionError(
                f"smooth_value: {self.smooth_value:g} has no effect with smooth {self.smooth}; "
                "set smooth to floor or add-k, or leave it out"
            )

    def score(self, statistics: ArrayLike) -> FloatArray:
        return self._bleu(statistics, effective_order=False)

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        return self._bleu(statistics, effective_order=True)

    def search_gain(self) -> NgramGain:
        """Return the approximate gain for `forest.hope`: sentence BLEU smoothed as in eq. 2.19.

        Partial translations have few long matches, and with smoothing each of them counts.
        """
        added = [0.5**n for n in range(1, self.order + 1)]
        return NgramGain(added, added)

    def _bleu(self, statistics: ArrayLike, *, effective_order: bool) -> FloatArray:
        """Return BLEU as sacreBLEU computes it."""
        matches, totals, reference = self.parts(statistics)
        brevity = brevity_penalty(totals[..., 0], reference)
        matched = (matches > 0).any(axis=-1)
        if self.smooth == "add-k":
            added = np.where(np.arange(self.order) > 0, self._smooth_value, 0.0)
            matches, totals = matches + added, totals + added
        counted = totals > 0
        zero = (matches == 0) & counted
        if self.smooth == "exp":  # the k-th order without a match gets 1 / 2^k matches
            matches = np.where(zero, 0.5 ** np.cumsum(zero, axis=-1), matches)
        elif self.smooth == "floor":
            matches = np.where(zero, self._smooth_value, matches)
        defined = matched & ((matches > 0) | ~counted).all(axis=-1)
        if not effective_order:
            defined &= counted.all(axis=-1)
        usable = counted & (matches > 0)
        logs = np.log(np.where(usable, matches, 1.0) / np.where(usable, totals, 1.0))
        orders = np.maximum(counted.sum(axis=-1), 1) if effective_order else self.order
        return np.where(defined, brevity * np.exp(logs.sum(axis=-1) / orders), 0.0)

    @property
    def _smooth_value(self) -> float:
        if self.smooth_value is not None:
            return self.smooth_value
        return {"floor": 0.1, "add-k": 1.0}.get(self.smooth, 0.0)


def brevity_penalty(length: FloatArray, reference: FloatArray) -> FloatArray:
    """Return exp(1 - reference / length) where the length is below the reference length, else 1."""
    short = length < reference
    ratio = safe_divide(reference, length, otherwise=np.inf)
    return np.where(short, np.exp(np.where(short, 1.0 - ratio, 0.0)), 1.0)
