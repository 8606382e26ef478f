"""`align(t|s)` and `align(s|t)`: log probabilities of a word alignment model, both ways.

The model is that of 'hopefear align --save-model': the first is the probability of the candidate
given the source, the second that of the source given the candidate, each summed over all
alignments. An empty candidate or source counts as one unknown word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from numpy.typing import ArrayLike

from hopefear.align import Aligner
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.learn.list_features.base import CandidateList, ListFeature

_NOTHING = ("<empty>",)


@register("list-feature", "align")
@dataclass(kw_only=True)
class Align(ListFeature):
    """Log probabilities of a word alignment model in both directions."""

    needs_source: ClassVar[bool] = True

    model: Path | None = option(None, help="directory of 'hopefear align --save-model'")

    def __post_init__(self) -> None:
        if self.model is None:
            raise OptionError("align: model is missing; give align:model=DIR")
        self._aligner = Aligner.load(self.model)

    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        source = self.source(list_).split() or _NOTHING
        pairs = [
            self._aligner.posteriors(source, text.split() or _NOTHING).log_likelihood
            for text in list_.texts
        ]
        return {"align(t|s)": [pair[0] for pair in pairs], "align(s|t)": [p[1] for p in pairs]}
