"""Part-of-speech tags from a lexicon, with guesses for unknown words.

A word has the same tag in every context. The lexicon is that of `hopefear train --source-tags
FILE`. A word that is not in it gets the tag of its lower-case form, or else the most frequent tag
of the lexicon's words with the same ending, for the longest known ending (up to five letters; all
digits are treated as equal).
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
    """Tags from the lexicon; guesses from word endings."""

    def __init__(self, language: str, lexicon: Mapping[str, str]) -> None:
        super().__init__(language, lexicon)
        if not lexicon:
            raise OptionError("tagger 'lexicon' needs a lexicon; train with --source-tags FILE")
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
    """Yield the endings of a word, the longest first."""
    form = _DIGIT.sub("0", word.lower())
    for size in range(min(_LONGEST, len(form)), 0, -1):
        yield form[-size:]
