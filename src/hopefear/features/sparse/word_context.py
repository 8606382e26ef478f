"""Aligned word pairs with a neighbouring source word.  [chiang2009, eidelman2013]

If the source word `de` is linked to `of` and `politique` precedes it in the sentence, inside or
outside of the rule, fires `word-context:left|politique|de|of`; if `la` follows it,
`word-context:right|de|la|of`. At the ends of the sentence are `<s>` and `</s>`.

Other words than the frequent ones become `<unk>`. With `known=pairs` these are the 300 most
frequent aligned pairs, and as neighbours their source words (thesis, equation 3.14); with
`known=words` the 100 most frequent words of each language (Chiang, section 4).
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
    """Aligned word pairs with a neighbouring source word."""

    label: ClassVar[str] = "word-context"

    known: Literal["pairs", "words"] = option(
        "pairs", help="vocabulary: the most frequent aligned pairs, or the most frequent words"
    )
    size: int | None = option(
        None, min=0, help="size of the vocabulary (default: 300 pairs or 100 words); 0: all words"
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
