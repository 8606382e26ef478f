"""Scripts without blanks between words, and detokenization for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# For use inside [...] of a regular expression: Han, kana, bopomofo, their punctuation and
# full-width forms; Thai, Lao, Tibetan, Burmese, Khmer. Not Hangul: Korean is written with blanks.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3001-\u312f\u3190-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uaa60-\uaa7f\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef"
    "\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{UNSPACED}]")
_CLOSING = frozenset(".,;:?!%)]}")


def is_unspaced(char: str) -> bool:
    """Return whether the character belongs to a script without blanks between words."""
    return _UNSPACED.match(char) is not None


def join_unspaced(tokens: Sequence[str]) -> str:
    """Take tokens of Chinese, Japanese, Thai … and return running text.

    Characters of such scripts have no blanks beside them. Words in other scripts (names, numbers)
    are separated by blanks, with the usual spacing of their punctuation.
    """
    parts: list[str] = []
    for i, token in enumerate(tokens):
        if i and _blank_between(tokens[i - 1], token) and not _number(tokens, i):
            parts.append(" ")
        parts.append(token)
    return "".join(parts)


def _blank_between(left: str, right: str) -> bool:
    if is_unspaced(left[-1]) or is_unspaced(right[0]) or not right[0].isalnum():
        return False
    return left[-1].isalnum() or left[-1] in _CLOSING


def _number(tokens: Sequence[str], i: int) -> bool:
    """Return whether tokens i-2, i-1, i are a clock time or a decimal number: 6 : 30."""
    return i > 1 and tokens[i - 1] in (":", ".") and tokens[i - 2].isdigit() and tokens[i].isdigit()
