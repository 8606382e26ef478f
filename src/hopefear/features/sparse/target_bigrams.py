"""Bigrams of the target.  An example of a template with a state, made to be copied.  [eidelman2013]

Fires `target-bigrams:the|house` for each pair of neighbours in the output, with `<s>` and `</s>` at
its ends (thesis, equation 3.13): a small language model whose weights are learned with all others.
The template itself is cpp/features/target_bigrams.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, target_bigrams
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists


@register("feature", "target-bigrams")
@dataclass(frozen=True, kw_only=True)
class TargetBigrams(Feature):
    label: ClassVar[str] = "target-bigrams"

    size: int = option(
        0, min=0, help="tell so many most frequent target words apart, others are <unk>; 0: all"
    )

    def make(self, lists: WordLists) -> FeatureTemplate:
        words = lists.words("target", self.size, self.label) if self.size else None
        return target_bigrams(self.label, words)
