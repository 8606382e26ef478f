"""Tokenizers that split at white space only.

`none` is for text that is already tokenised: words are separated by ASCII white space, as in Moses,
KenLM and fast_align, so that a no-break space is part of its word and alignments of other tools
match. `whitespace` separates words at any Unicode white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hopefear.base.registry import register
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer

_WORD = re.compile(r"[^ \t\n\v\f\r]+")


def split_words(line: str) -> list[str]:
    """Take a tokenised line and return its words."""
    return _WORD.findall(line)


@register("tokenizer", "none")
class Tokenized(Tokenizer):
    """Tokenizer for text that is already tokenised, which does not change it."""

    idempotent = True

    def tokenize(self, line: str) -> list[str]:
        return split_words(line)

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return " ".join(tokens)


@register("tokenizer", "whitespace")
class Whitespace(Tokenized):
    """Tokenizer that splits at any white space; punctuation stays with its word."""

    def tokenize(self, line: str) -> list[str]:
        return line.split()
