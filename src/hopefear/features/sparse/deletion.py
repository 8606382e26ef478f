"""Unaligned source words.  [eidelman2013]

Fires `deletion:de` for an unaligned source word of a rule (thesis, 3.4.3), if it is one of the 150
words that are most often unaligned in the training text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists


@register("feature", "deletion")
@dataclass(frozen=True, kw_only=True)
class Deletion(EngineFeature):
    """Unaligned source words of a rule."""

    label: ClassVar[str] = "deletion"

    size: int = option(150, min=0, help="number of the most often unaligned words; 0: all words")

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        words = lists.words("deleted", self.size, self.label) if self.size else None
        return {"words": words}
