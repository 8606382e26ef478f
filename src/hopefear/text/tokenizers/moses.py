"""The tokenizer of Moses, by sacremoses, without its XML escapes.

Words are cut from punctuation by rules for the language (apostrophes in English, French, Italian)
and a list of abbreviations that keep their full stop. For a language without such a list the
English one is used, and `notes` says so. The full stop at the very end of a line is always cut
off, as Moses's own script does and sacremoses does not ("near 3rd St." -> "St ."): with that, all
62,028 lines of the golden Multi30k come out equal, without it 40 do not.

Differs: addresses (URLs, e-mail) stay one word, as with Moses's -protected: their pieces could be
neither translated nor put together again.

sacremoses takes 3.5 microseconds per word, as it runs 15 regular expressions over each line. Nearly
all of its rules look no further than the blank-separated chunk they stand in, so the words of a
chunk are remembered, which is four to eight times as fast (bench/text.py). What else a rule can see
is part of the key (the kind of the next chunk, for abbreviations), or sends the whole line to
sacremoses (apostrophes beside a blank). A property test compares the two on any text.
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

_REMEMBERED = 100_000  # chunks; then begin anew. About 20 MB.
_LONGEST = 100  # characters of a chunk that is worth remembering
# Up to the last letter, digit or slash: what follows is the sentence's punctuation.
ADDRESS = re.compile(
    r"\b(?:(?:https?|ftp)://|www\.)[^\s<>\"'“”’«»]*[\w/]"
    r"|\b[\w.+%-]{1,64}@(?:[\w-]+\.)+[A-Za-z]{2,}\b",
    re.IGNORECASE,
)
_STAND_IN = "Hopefearaddress"  # a word for the rules to work on, with a number and a letter
_STOOD_IN = re.compile(_STAND_IN + r"(\d+)x")


@register("tokenizer", "moses")
class Moses(Tokenizer):
    """Moses's tokenizer; hyphens stay in their words."""

    hyphens = False

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._moses = _load(primary(language))
        self._lower, self._alnum = frozenset(self._moses.IsLower), frozenset(self._moses.IsAlnum)
        self._words: dict[tuple[str, str], list[str]] = {}
        self._detokenizer = Detokenizer(primary(language), hyphens=self.hyphens)

    def tokenize(self, line: str) -> list[str]:
        if ("@" in line or "://" in line or "www." in line) and _STAND_IN not in line:
            found: list[str] = ADDRESS.findall(line)
            if found:
                numbers = iter(range(len(found)))
                words = self._tokenize(ADDRESS.sub(lambda _: f"{_STAND_IN}{next(numbers)}x", line))
                return [_STOOD_IN.sub(lambda match: found[int(match[1])], word) for word in words]
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
        """What sacremoses makes of it."""
        words: list[str] = self._moses.tokenize(
            line, escape=False, aggressive_dash_splits=self.hyphens
        )
        return words

    @staticmethod
    def _reaches_out(line: str) -> bool:
        """Whether a rule could look over the edge of a chunk: an apostrophe beside a blank."""
        return "'" in line and (" '" in line or "' " in line or line[0] == "'" or line[-1] == "'")

    def _tokenize_chunks(self, chunks: list[str]) -> list[str]:
        words: list[str] = []
        remembered = self._words
        for i, chunk in enumerate(chunks):
            probe = self._probe(chunks, i) if "." in chunk or chunk[0] == "," else _ANY
            known = remembered.get((chunk, probe))
            words += known if known is not None else self._learn(chunk, probe)
        return words

    def _probe(self, chunks: list[str], i: int) -> str:
        """A context in which the rules treat chunk `i` as in its own: `left{}right`."""
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
        if len(self._words) >= _REMEMBERED:
            self._words.clear()
        if len(chunk) <= _LONGEST:
            self._words[chunk, probe] = words
        return words

    def _plain(self, chunk: str, probe: str) -> list[str] | None:
        """The words of what most chunks are: letters and digits, perhaps a mark at the end.

        Saves two thirds of the time while the vocabulary is new.
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
        return [f"no list of abbreviations for language {self.language!r}; English ones are used"]


@register("tokenizer", "moses-hyphens")
class MosesHyphens(Moses):
    """Moses's tokenizer with `-a`: `well-known` is `well @-@ known`."""

    hyphens = True


_ANY = "x {} X"  # the context of a chunk that no rule looks out of


def _load(language: str) -> Any:
    """sacremoses's object, with its slow look-ups replaced.

    Imported here, as it costs 0.3 s. `isanyalpha` builds a set of all letters at each call (3 ms
    for every word with a full stop inside), and abbreviations are looked for in a list.
    """
    from sacremoses.tokenize import MosesTokenizer

    moses = MosesTokenizer(language)
    letters, lower = frozenset(moses.IsAlpha), frozenset(moses.IsLower)
    moses.isanyalpha = lambda text: not letters.isdisjoint(text)
    moses.islower = lower.issuperset
    moses.NONBREAKING_PREFIXES = frozenset(moses.NONBREAKING_PREFIXES)
    moses.NUMERIC_ONLY_PREFIXES = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return moses
