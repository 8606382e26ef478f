"""BLEU+1: sentence-level BLEU with add-one smoothing; the corpus score is BLEU.  [lin2004]

There are two variants. `moses` (as in its PRO and k-best MIRA) adds one to the matches and to the
totals of all orders, including unigrams. `lin-och` (the original) does not smooth unigrams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import NgramGain
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.metrics.bleu import Bleu, brevity_penalty
from hopefear.metrics.metric import FloatArray


@register("metric", "bleu+1")
@dataclass(kw_only=True)
class BleuPlusOne(Bleu):
    """Sentence BLEU with one added to the n-gram counts."""

    name: ClassVar[str] = "bleu+1"
    title: ClassVar[str] = "BLEU+1"

    variant: Literal["moses", "lin-och"] = option(
        "moses", help="orders smoothed; moses: all, lin-och: all but unigrams"
    )
    smooth_brevity: bool = option(
        False, help="also add one to the reference length in the brevity penalty (Nakov 2012)"
    )

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        matches, totals, reference = self.parts(statistics)
        length, added = totals[..., 0], self._added
        matches, totals = matches + added, totals + added
        defined = (matches > 0).all(axis=-1)
        logs = np.log(np.where(matches > 0, matches, 1.0) / np.where(totals > 0, totals, 1.0))
        brevity = brevity_penalty(length, reference + (1.0 if self.smooth_brevity else 0.0))
        return np.where(defined, brevity * np.exp(logs.mean(axis=-1)), 0.0)

    def search_gain(self) -> NgramGain:
        added = self._added.tolist()
        return NgramGain(added, added, reference=1.0 if self.smooth_brevity else 0.0)

    @property
    def _added(self) -> FloatArray:
        added = np.ones(self.order)
        if self.variant == "lin-och":
            added[0] = 0.0
        return added
