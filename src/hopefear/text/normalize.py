"""Unicode normalisation of lines: text that looks the same becomes the same string.

Always: NFC; white space of all kinds (tab, no-break, ideographic, thin, U+0085, U+2028 …) becomes
one ordinary blank, and is removed at both ends; control characters, soft hyphens, byte-order marks,
zero-width spaces and direction marks are removed. Zero-width joiners (U+200C, U+200D) stay because
they are significant in Persian, Indic scripts and emoji. Letters and digits do not change.

Optionally: full-width Latin letters, digits and punctuation become ordinary ones; curly quotes and
apostrophes become straight; Arabic vowel signs and tatweel are removed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass


def _base_table() -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for code in (*range(0x20), *range(0x7F, 0xA0)):
        table[code] = " " if chr(code).isspace() else None
    for code in (0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000):
        table[code] = " "
    hidden = (0xAD, 0x180E, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0x61C)
    for code in (*hidden, *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        table[code] = None
    return table


_BASE = _base_table()
_NARROW = {code: chr(code - 0xFF01 + 0x21) for code in range(0xFF01, 0xFF5F)}
_QUOTES = {**dict.fromkeys(map(ord, "‘’‚‛´`"), "'"), **dict.fromkeys(map(ord, "“”„‟"), '"')}
# Vowel signs (harakat), the small alef above, tatweel; Quranic marks; alef wasla as plain alef.
_VOWEL_SIGNS = {
    **dict.fromkeys((*range(0x64B, 0x660), 0x670, 0x640, *range(0x6D6, 0x6DD)), None),
    **dict.fromkeys((0x6DF, *range(0x6E0, 0x6E5), 0x6E7, 0x6E8, *range(0x6EA, 0x6EE)), None),
    0x671: "\u0627",
}
_BLANKS = re.compile("  +")


@dataclass(frozen=True, kw_only=True)
class Normalizer:
    """Normaliser: calls take a line and return it normalised; the operation is idempotent."""

    narrow: bool = False
    plain_quotes: bool = False
    drop_vowel_signs: bool = False

    def __call__(self, line: str) -> str:
        if not line.isascii():
            # Invisible characters are removed before NFC, as they can separate letter and accent.
            line = unicodedata.normalize("NFC", line.translate(_BASE))
            if self.narrow:
                line = line.translate(_NARROW)
            if self.drop_vowel_signs:
                line = unicodedata.normalize("NFC", line.translate(_VOWEL_SIGNS))
        elif not line.isprintable():
            line = line.translate(_BASE)
        if self.plain_quotes:
            line = line.translate(_QUOTES)
        if "  " in line:
            line = _BLANKS.sub(" ", line)
        return line.strip(" ")
