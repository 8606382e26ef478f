"""The Moses tokenizer, based on sacremoses, without XML escapes.

Punctuation is separated from words by rules for the language (apostrophes in English, French,
Italian) and a list of abbreviations that keep their full stop. A language without such a list uses
the English one, which `notes` reports. The full stop at the end of a line is always separated, as
in Moses's script but not in sacremoses ("near 3rd St." -> "St ."). With this rule all 62,028 lines
of the golden Multi30k are equal to the script's; without it 40 differ.

Differs: addresses (URLs, e-mail) stay one word, as with Moses's -protected, because their parts
could neither be translated nor joined again.

sacremoses takes 3.5 microseconds per word, as it runs 15 regular expressions over each line. Nearly
all of its rules depend only on a chunk (text between blanks), so the words of chunks are cached,
which is four to eight times as fast (bench/text.py). Where rules for abbreviations depend on the
next chunk, its kind is part of the key; a line with an apostrophe beside a blank is left to
sacremoses as a whole. A property test compares both on arbitrary text.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from typing import Any

from hopefear.base.registry import register
from hopefear.text.detokenize import Detokenizer
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer, primary

_CACHE_SIZE = 100_000  # chunks, about 20 MB; a full cache is cleared
_LONGEST = 100  # longest chunk that is cached, in characters
# Addresses end with a letter, digit or slash: punctuation after it belongs to the sentence.
ADDRESS = re.compile(
    r"\b(?:(?:https?|ftp)://|www\.)[^\s<>\"'“”’«»]*[\w/]"
    r"|\b[\w.+%-]{1,64}@(?:[\w-]+\.)+[A-Za-z]{2,}\b",
    re.IGNORECASE,
)
_PLACEHOLDER = "Hopefearaddress"  # stands for an address, followed by a number and `x`
_NUMBERED_PLACEHOLDER = re.compile(_PLACEHOLDER + r"(\d+)x")


@register("tokenizer", "moses")
class Moses(Tokenizer):
    """The Moses tokenizer; words with hyphens are not split."""

    hyphens = False

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._moses = _load(primary(language))
        self._lower, self._alnum = frozenset(self._moses.IsLower), frozenset(self._moses.IsAlnum)
        self._words: dict[tuple[str, str], list[str]] = {}
        self._detokenizer = Detokenizer(primary(language), hyphens=self.hyphens)

    def tokenize(self, line: str) -> list[str]:
        if ("@" in line or "://" in line or "www." in line) and _PLACEHOLDER not in line:
            addresses: list[str] = ADDRESS.findall(line)
            if addresses:
                numbers = iter(range(len(addresses)))
                line = ADDRESS.sub(lambda _: f"{_PLACEHOLDER}{next(numbers)}x", line)
                return [
                    _NUMBERED_PLACEHOLDER.sub(lambda match: addresses[int(match[1])], word)
                    for word in self._tokenize(line)
                ]
        return self._tokenize(line)

    def _tokenize(self, line: str) -> list[str]:
        if not line.isprintable() or self._reaches_out(line):
            words = self.tokenize_line(line)
        else:
            words = self._tokenize_chunks(line.split())
        if words:
            last = words[-1]
            if last[-1] == "." and last.strip("."):
                words[-1:] = [last[:-1], "."]
        return words

    def tokenize_line(self, line: str) -> list[str]:
        """Take a line and return its words as sacremoses splits them."""
        words: list[str] = self._moses.tokenize(
            line, escape=False, aggressive_dash_splits=self.hyphens
        )
        return words

    @staticmethod
    def _reaches_out(line: str) -> bool:
        """Return whether a rule could depend on adjacent chunks: an apostrophe beside a blank."""
        return "'" in line and (" '" in line or "' " in line or line[0] == "'" or line[-1] == "'")

    def _tokenize_chunks(self, chunks: list[str]) -> list[str]:
        words: list[str] = []
        cache = self._words
        for i, chunk in enumerate(chunks):
            probe = self._probe(chunks, i) if "." in chunk or chunk[0] == "," else _ANY
            cached = cache.get((chunk, probe))
            words += cached if cached is not None else self._learn(chunk, probe)
        return words

    def _probe(self, chunks: list[str], i: int) -> str:
        """Return a context, `left{}right`, in which the rules treat chunk `i` as in its own."""
        left = "x {}" if i else "{}"
        if i + 1 == len(chunks):
            return left
        following = chunks[i + 1][0]
        kind = "x" if following in self._lower else "5" if following in "0123456789" else "X"
        return f"{left} {kind}"

    def _learn(self, chunk: str, probe: str) -> list[str]:
        words = self._plain(chunk, probe)
        if words is None:
            words = self.tokenize_line(probe.format(chunk))
            words = words[probe[0] == "x" : len(words) - (probe[-1] != "}")]
        if len(self._words) >= _CACHE_SIZE:
            self._words.clear()
        if len(chunk) <= _LONGEST:
            self._words[chunk, probe] = words
        return words

    def _plain(self, chunk: str, probe: str) -> list[str] | None:
        """Return the words of a simple chunk: letters and digits, perhaps with a final mark.

        None for other chunks. Saves two thirds of the time while most chunks are not cached.
        """
        if self._alnum.issuperset(chunk):
            return [chunk]
        stem, mark = chunk[:-1], chunk[-1]
        if (mark in ",;:?!" or (mark == "." and probe[-1] == "}")) and stem:
            return [stem, mark] if self._alnum.issuperset(stem) else None
        return None

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return self._detokenizer(tokens, spacing)

    def versions(self) -> dict[str, str]:
        return {"sacremoses": importlib.metadata.version("sacremoses")}

    def notes(self) -> list[str]:
        from sacremoses.corpus import NonbreakingPrefixes

        if primary(self.language) in NonbreakingPrefixes().available_langs:
            return []
        return [
            f"no list of abbreviations for language {self.language!r}; the English one is used, "
            "which is harmless: at worst the full stop of an abbreviation is a word of its own"
        ]


@register("tokenizer", "moses-hyphens")
class MosesHyphens(Moses):
    """The Moses tokenizer with `-a`: `well-known` becomes `well @-@ known`."""

    hyphens = True


_ANY = "x {} X"  # the context of chunks that no rule with context applies to


def _load(language: str) -> Any:
    """Return the tokenizer of sacremoses, with its slow look-ups replaced.

    It is imported here because importing takes 0.3 s. Its `isanyalpha` builds a set of all letters
    at each call (3 ms for every word with an inner full stop); its abbreviations are in a list.
    """
    from sacremoses.tokenize import MosesTokenizer

    moses = MosesTokenizer(language)
    letters, lower = frozenset(moses.IsAlpha), frozenset(moses.IsLower)
    moses.isanyalpha = lambda text: not letters.isdisjoint(text)
    moses.islower = lower.issuperset
    moses.NONBREAKING_PREFIXES = frozenset(moses.NONBREAKING_PREFIXES)
    moses.NUMERIC_ONLY_PREFIXES = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return moses
