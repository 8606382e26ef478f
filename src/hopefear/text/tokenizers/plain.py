"""Text that has its blanks where its words end.

`none` is for text that some tool has tokenised: words are what stands between ASCII blanks and
tabs, as Moses, KenLM and fast_align see it, so a no-break space stays inside its word and
alignments of other tools keep fitting. `whitespace` ends a word at any Unicode white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hopefear.base.registry import register
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer

_WORD = re.compile(r"[^ \t\n\v\f\r]+")


def split_words(line: str) -> list[str]:
    """The words of tokenised text."""
    return _WORD.findall(line)


@register("tokenizer", "none")
class Tokenized(Tokenizer):
    """Already tokenised: taken and given as it is."""

    idempotent = True

    def tokenize(self, line: str) -> list[str]:
        return split_words(line)

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return " ".join(tokens)


@register("tokenizer", "whitespace")
class Whitespace(Tokenized):
    """Words end at white space of any kind; punctuation stays with its word."""

    def tokenize(self, line: str) -> list[str]:
        return line.split()
