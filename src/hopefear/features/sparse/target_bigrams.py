"""Bigrams of target words.  An example of a template with a state, to copy.  [eidelman2013]

Fires `target-bigrams:the|house` for each bigram of the output, with `<s>` and `</s>` at its ends
(thesis, equation 3.13): a small language model whose weights are learned with all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists


@register("feature", "target-bigrams")
@dataclass(frozen=True, kw_only=True)
class TargetBigrams(EngineFeature):
    """Bigrams of target words."""

    label: ClassVar[str] = "target-bigrams"

    size: int = option(
        0, min=0, help="number of the most frequent target words, others are <unk>; 0: all words"
    )

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        words = lists.words("target", self.size, self.label) if self.size else None
        return {"words": words}
