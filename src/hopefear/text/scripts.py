"""Scripts that are written without blanks between words, and how their tokens are joined again."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Inside of a regular expression's [...]: Han, kana, bopomofo, their punctuation and full-width
# forms; Thai, Lao, Tibetan, Burmese, Khmer. Not Hangul: Korean writes blanks.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3001-\u312f\u3190-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uaa60-\uaa7f\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef"
    "\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{UNSPACED}]")
_CLOSING = frozenset(".,;:?!%)]}")


def is_unspaced(char: str) -> bool:
    """Whether no blank stands beside this character in its own script."""
    return _UNSPACED.match(char) is not None


def join_unspaced(tokens: Sequence[str]) -> str:
    """Tokens of Chinese, Japanese, Thai … as running text.

    No blank beside a character of such a script; words in other scripts (names, numbers) keep a
    blank between them, and their punctuation is put where it belongs.
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
    """Whether tokens i-2, i-1, i are a clock time or a decimal: 6 : 30."""
    return i > 1 and tokens[i - 1] in (":", ".") and tokens[i - 2].isdigit() and tokens[i].isdigit()
