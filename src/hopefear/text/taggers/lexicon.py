"""Tags from a lexicon, and guesses for the words that it lacks.

A word has the same tag everywhere. The lexicon is that of `hopefear train --source-tags FILE`.
Another word has the tag of its form in lower case, or else the most frequent one of the lexicon's
words with the same ending, the longest that there is (up to five letters; all digits are alike).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.text.taggers.base import UNKNOWN, Tagger

_LONGEST = 5
_DIGIT = re.compile(r"\d")


@register("tagger", "lexicon")
class Lexicon(Tagger):
    """The lexicon's tags, and guesses by the endings of words."""

    def __init__(self, language: str, lexicon: Mapping[str, str]) -> None:
        super().__init__(language, lexicon)
        if not lexicon:
            raise OptionError(
                "tagger 'lexicon' needs the tags of some words; train with --source-tags FILE"
            )
        counts: dict[str, Counter[str]] = {}
        for word, tag in lexicon.items():
            for ending in _endings(word):
                counts.setdefault(ending, Counter())[tag] += 1
        self._endings = {
            ending: min(tags, key=lambda tag: (-tags[tag], tag)) for ending, tags in counts.items()
        }

    def tag(self, words: Sequence[str]) -> list[str]:
        return [self._tag(word) for word in words]

    def _tag(self, word: str) -> str:
        known = self.lexicon.get(word) or self.lexicon.get(word.lower())
        if known:
            return known
        endings = (ending for ending in _endings(word) if ending in self._endings)
        return self._endings.get(next(endings, ""), UNKNOWN)


def _endings(word: str) -> Iterator[str]:
    """The longest first."""
    form = _DIGIT.sub("0", word.lower())
    for size in range(min(_LONGEST, len(form)), 0, -1):
        yield form[-size:]
