"""Detokenization for languages written with blanks: the inverse of Moses tokenization.

Takes words without XML escapes and returns a line of running text.

Differs from Moses's detokenizer.perl: it also handles curly quotes and apostrophes, slashes, clock
times, Arabic and Indic punctuation; it distinguishes lone apostrophes between words from quotation
marks; and it follows the spacing of the training text (`Spacing`). On an English text with curly
quotes, tokenization and detokenization then restore 99% instead of 62% of the lines
(bench/text.py).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from hopefear.text.scripts import is_unspaced
from hopefear.text.spacing import Spacing

_CLOSING = frozenset(",.;:?!%)]}…،؛؟۔।॥՝՞՜።፣፤·")
_OPENING = frozenset("([{¿¡")
_FRENCH_WIDE = frozenset("?!:;%»")  # a blank before them in French
_CURRENCY = frozenset("$€£¥₹₩₽₺")
_BETWEEN_WORDS = frozenset("/_´")
_TAILS = frozenset(("s", "t", "m", "d", "ll", "re", "ve", "n"))  # endings after an apostrophe
# Languages whose articles end in an apostrophe.
_ELIDING = frozenset(("fr", "it", "ga", "ca", "oc"))
_INWARD = frozenset(("da", "de", "hr", "hu", "sl"))  # »so«
_SAME_BOTH_SIDES = frozenset(("fi", "sv"))  # ”so”


class Detokenizer:
    """Joins words of one language; calls take words and return the line."""

    def __init__(self, language: str, *, hyphens: bool = False) -> None:
        self.language = language
        self.hyphens = hyphens  # whether '@-@' stands for a hyphen inside a word

    def __call__(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        line = _Line(tokens, self, spacing or Spacing())
        parts: list[str] = []
        glued = True
        for i, token in enumerate(tokens):
            left, right = line.glue(i)
            if not (glued or left or line.unspaced_before(i)):
                parts.append(" ")
            parts.append("-" if self.hyphens and token == "@-@" else token)
            glued = right
        return "".join(parts)


class _Line:
    """The words of a line, and the quotation marks that are open at the current word."""

    def __init__(self, tokens: Sequence[str], rules: Detokenizer, spacing: Spacing) -> None:
        self.tokens, self.language = tokens, rules.language
        self.habits, self.hyphens = spacing.habits, rules.hyphens
        self.open: dict[str, int] = {}
        # Lone straight apostrophes; if their number is odd, one is not a quotation mark.
        self.straight = sum(token == "'" for token in tokens)
        self.last = {token: i for i, token in enumerate(tokens) if token in ('"', "«", "‹")}

    def unspaced_before(self, i: int) -> bool:
        return i > 0 and is_unspaced(self.tokens[i - 1][-1]) and is_unspaced(self.tokens[i][0])

    def after_word(self, i: int) -> bool:
        return i > 0 and self.tokens[i - 1][-1].isalnum()

    def before_word(self, i: int) -> bool:
        return i + 1 < len(self.tokens) and self.tokens[i + 1][0].isalnum()

    def between_digits(self, i: int) -> bool:
        return (
            0 < i < len(self.tokens) - 1
            and self.tokens[i - 1][-1].isdigit()
            and self.tokens[i + 1][0].isdigit()
        )

    def glue(self, i: int) -> tuple[bool, bool]:
        """Return whether token `i` is joined to the one before it, and to the one after it."""
        token = self.tokens[i]
        if len(token) > 1:
            return self._long(i, token)
        if token.isalnum():
            return False, False
        if token in ":/" and self.between_digits(i):
            return True, True
        if token in ("'", "’"):
            return self._apostrophe(i, token)
        if token in '"“”„‟«»‘‚‹›`':
            return self._quote(i, token)
        habit = self.habits.get(token)
        if habit is not None:
            before, after = habit
            return not before, not after
        return self._mark(i, token)

    def _long(self, i: int, token: str) -> tuple[bool, bool]:
        if token[0] == "'" and token[1].isalpha():  # that 's
            return self.language == "en" and self.after_word(i), False
        if token[-1] == "'" and token[-2].isalpha():  # l' homme
            return False, self.language in _ELIDING and self.before_word(i)
        if self.hyphens and token == "@-@":
            return True, True
        if token[0] in ".?!…" and not token.strip(".?!…"):  # '...', '?!'
            return True, False
        if token[0] == "-" and token[1].isalpha():  # „so“-Stil
            return i > 0 and self.tokens[i - 1] in '"“”»«)', False
        if token in ("``", "''"):
            return (False, True) if token == "``" else (True, False)
        return False, False

    def _mark(self, i: int, token: str) -> tuple[bool, bool]:
        if token in _CLOSING:
            return not (self.language == "fr" and token in _FRENCH_WIDE), False
        if token in _OPENING:
            return False, True
        if token in _BETWEEN_WORDS:
            both = self.after_word(i) and self.before_word(i)
            return both, both
        if token == "#" and i > 0 and self.tokens[i - 1] in ("C", "F"):  # a language, or a note
            return True, False
        if token in "#@":  # hashtags and user names; e-mail addresses are one token
            return False, self.before_word(i)
        if token == "€" and i > 0 and self.tokens[i - 1][-1].isdigit():  # 30 €
            return False, False
        if token in _CURRENCY:
            return False, i + 1 < len(self.tokens) and self.tokens[i + 1][0].isdigit()
        if token == "°":
            scale = i + 1 < len(self.tokens) and self.tokens[i + 1] in ("C", "F", "c", "f")
            return self.after_word(i), scale
        if token in "\u200c\u200d":
            return True, True
        return unicodedata.category(token)[0] == "M", False

    def _apostrophe(self, i: int, token: str) -> tuple[bool, bool]:
        """Return the same for an apostrophe in a word or plural possessive, or a quotation mark."""
        opener = "‘" if token == "’" else "'"
        is_open = self.open.get(opener, 0) > 0
        if self.after_word(i) and self.before_word(i):
            before, after = self.tokens[i - 1], self.tokens[i + 1]
            if after.lower() in _TAILS or (len(before) == 1 and self.language != "en"):
                return self._inside(token, True)
            if not is_open and (token == "’" or self.straight % 2):
                plural = self.language == "en" and before[-1] in "sS"
                return self._inside(token, not plural)  # the disciples ' feet
        if token == "’":
            if is_open:
                self.open[opener] -= 1
            return (True, False) if i > 0 else (False, True)
        if is_open:
            self.open[opener] = 0
            return True, False
        if self.language == "en" and self.straight % 2 and self.after_word(i):
            return self._inside(token, False)  # the disciples ' .
        self.open[opener] = 1
        return False, True

    def _inside(self, token: str, right: bool) -> tuple[bool, bool]:
        self.straight -= token == "'"
        return True, right

    def _quote(self, i: int, token: str) -> tuple[bool, bool]:
        closes = self._closes(i, token)
        if not closes:
            self.open[token] = self.open.get(token, 0) + 1
        wide = self.language == "fr" and token in "«»‹›"
        habit = self.habits.get(token)
        if habit is not None:
            wide = habit[0] if closes else habit[1]
        return (not wide, False) if closes else (False, not wide)

    def _closes(self, i: int, token: str) -> bool:
        for opener in _OPENERS.get(token, ""):
            if self.open.get(opener, 0) > 0:
                self.open[opener] -= 1
                return True
        if token == '"':  # the last of an odd number: 5" rather than an opening mark
            odd = self.last['"'] == i
            return odd and i > 0 and (i + 1 == len(self.tokens) or self.tokens[i - 1].isdigit())
        if token in "»›":
            opener = "«" if token == "»" else "‹"
            return self.language not in _INWARD or self.last.get(opener, -1) < i
        return token == "”" and self.language not in _SAME_BOTH_SIDES


# The opening marks that a mark closes: “so” „so“ „so” ”so” «so» »so« ‚so‘.
_OPENERS = {'"': '"', "”": "“„”", "“": "„", "‘": "‚", "»": "«", "«": "»", "›": "‹", "‹": "›"}
