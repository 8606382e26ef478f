"""A tagger of one's own, from a file that is given as --plugin (docs/reference/features.md).

A tagger is asked for the tags of a sentence's words, as the model has them. This one needs no data:
for a language that has no tagger, forms and endings tell a good deal about a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear.base.registry import register
from hopefear.text.taggers import Tagger


@register("tagger", "form")
class Form(Tagger):
    """Numbers, names, punctuation, and the last two letters of long words."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return [self._form(word, first=i == 0) for i, word in enumerate(words)]

    def _form(self, word: str, *, first: bool) -> str:
        if any(c.isdigit() for c in word):
            return "number"
        if not any(c.isalnum() for c in word):
            return "punctuation"
        if word[0].isupper() and not first:
            return "name"
        return f"-{word[-2:].lower()}" if len(word) > 4 else "short"
