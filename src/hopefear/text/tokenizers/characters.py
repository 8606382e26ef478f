"""Tokenization into characters, for scripts without blanks (Chinese, Japanese, Thai …).

Runs of letters and digits of other scripts stay together (`Python`, `3.14`, `don't`); a combining
mark stays with its base; punctuation marks are separate tokens. For Japanese words instead of
characters, run a segmenter (MeCab, KyTea) first and use the tokenizer `none`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hopefear.base.registry import register
from hopefear.text.scripts import UNSPACED, join_unspaced
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer

# Combining marks of the scripts above and general ones; joiners, variation selectors and skin
# tones are parts of emoji.
_MARK = (
    "[\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    "\u0f35\u0f37\u0f39\u0f71-\u0f84\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u17b4-\u17d3"
    "\u3099\u309a\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
)
_WORD_CHAR = rf"(?:(?![{UNSPACED}])\w{_MARK}*)"
_TOKEN = re.compile(
    rf"{_WORD_CHAR}+(?:['’.,:\-]{_WORD_CHAR}+)*|[^\s]{_MARK}*(?:(?<=\u200d)[^\s]{_MARK}*)*"
)


@register("tokenizer", "char")
class Characters(Tokenizer):
    """Tokenizer into characters."""

    idempotent = True

    def tokenize(self, line: str) -> list[str]:
        return _TOKEN.findall(line)

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return join_unspaced(tokens)
