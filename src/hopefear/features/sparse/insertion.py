"""Unaligned target words.  [chiang2009, eidelman2013]

Fires `insertion:the|maison` for an unaligned target word and each source word of its rule (thesis,
equation 3.12), or with `with_source=false` only `insertion:the` (Chiang's `insert-the`), if it is
one of the 150 words that are most often unaligned in the training text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists


@register("feature", "insertion")
@dataclass(frozen=True, kw_only=True)
class Insertion(EngineFeature):
    """Unaligned target words of a rule."""

    label: ClassVar[str] = "insertion"

    size: int = option(150, min=0, help="number of the most often unaligned words; 0: all words")
    with_source: bool = option(
        True, help="whether a feature combines the word with a source word of the rule"
    )

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        words = lists.words("inserted", self.size, self.label) if self.size else None
        return {"words": words, "with_source": self.with_source}
