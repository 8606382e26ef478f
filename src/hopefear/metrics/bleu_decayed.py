"""Sentence BLEU with decayed smoothing, the thesis's cost in the first iteration.  [eidelman2013]

1/2^n is added to the matches and to the total of order n (eq. 2.19). The corpus score is BLEU.
Differs: errata chapter 2, eq. 2.19: read per sentence, not summed over a corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.registry import register
from hopefear.metrics.bleu import Bleu, brevity_penalty
from hopefear.metrics.metric import FloatArray


@register("metric", "bleu-decayed")
@dataclass(kw_only=True)
class BleuDecayed(Bleu):
    """Sentence BLEU with 1/2^n added to the counts of order n."""

    name: ClassVar[str] = "bleu-decayed"
    title: ClassVar[str] = "BLEU (decayed smoothing)"

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        matches, totals, reference = self.parts(statistics)
        added = 0.5 ** np.arange(1, self.order + 1)
        # An order without n-grams gets precision 1: only the brevity penalty affects short output.
        logs = np.log((matches + added) / (totals + added))
        mean: FloatArray = np.exp(logs.mean(axis=-1))
        return brevity_penalty(totals[..., 0], reference) * mean
