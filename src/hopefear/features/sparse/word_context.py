"""Aligned word pairs with the source words beside them.  [chiang2009, eidelman2013]

Where the source word `de` is linked to `of` and `politique` stands to its left in the sentence,
inside or outside of the rule, fires `word-context:left|politique|de|of`; if `la` stands to its
right, `word-context:right|de|la|of`. Beyond the ends of the sentence are `<s>` and `</s>`.

Frequent pairs only, all others fall into the bin `<unk>`: by the thesis (equation 3.14) the 300
most frequent aligned pairs, and beside them the source words that these have; by Chiang (section 4)
each of the three words is one of the 100 most frequent words of its language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists


@register("feature", "word-context")
@dataclass(frozen=True, kw_only=True)
class WordContext(EngineFeature):
    label: ClassVar[str] = "word-context"

    known: Literal["pairs", "words"] = option(
        "pairs", help="what is told apart: frequent aligned pairs, or frequent words"
    )
    size: int | None = option(
        None, min=0, help="how many of these; 300 pairs or 100 words if not given; 0: all words"
    )

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        size = self.size
        if size is None:
            size = 300 if self.known == "pairs" else 100
        if size == 0:
            return {"pairs": None, "source": None, "target": None}
        if self.known == "pairs":
            pairs = lists.pairs(size, self.label)
            return {"pairs": pairs, "source": sorted({f for f, _ in pairs}), "target": None}
        source, target = (lists.words(side, size, self.label) for side in ("source", "target"))
        return {"pairs": None, "source": source, "target": target}
