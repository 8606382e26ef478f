"""Aligned word pairs.  [eidelman2013]

Fires `word-pairs:rappelle|remind` for each link of a rule's inner alignment (thesis, equation
3.11): a lexicon whose weights are learned. The template itself is cpp/features/word_pairs.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, word_pairs
from hopefear.base.registry import register
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists


@register("feature", "word-pairs")
@dataclass(frozen=True, kw_only=True)
class WordPairs(Feature):
    label: ClassVar[str] = "word-pairs"

    def make(self, lists: WordLists) -> FeatureTemplate:
        return word_pairs(self.label)
