"""Your own tagger: a plugin for --plugin (docs/reference/features.md).

A tagger takes the words of a sentence, tokenised as in the model, and returns their tags. This one
needs no data: where a language has no tagger, forms and endings say much about a word.
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
