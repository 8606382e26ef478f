"""Unknown words: source words that a model has no rules for.

Takes the words that a model can translate alone; `replace` takes the words of a sentence and
returns those that are translated instead. An unknown word may be another form of a known word, so
translating the known word that shares most of its letters is better than copying it. Names and
numbers often are the same in the other language, so they are treated with more care.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import Literal

Unknown = Literal["copy", "similar", "drop"]

_SHORTEST = 3  # letters that similar words share, in a row
_SHARE = 0.5  # of the longer word
_NAME_SHARE = 0.75  # the same for words with a capital, which may be names
_CACHE_SIZE = 100_000  # words; a full cache is cleared


def is_name_or_number(word: str) -> bool:
    """Return whether a word has a digit, begins with a capital or has no letter at all."""
    letters = [char for char in word if char.isalpha()]
    return not letters or letters[0].isupper() or any(map(str.isdigit, word))


class UnknownWords:
    """The treatment of unknown words; threads may share an object.

    - `similar`: an unknown word is replaced by the most similar known word, if there is one.
      Similar words share three letters in a row or more, and half of the longer word. A word that
      begins with a capital may be a name: it is similar only to another such word, of which it
      shares three quarters. Equally similar words are chosen by their count, then by their
      spelling.
    - `drop`: unknown words are left out, except for names and numbers (`is_name_or_number`).
    """

    def __init__(self, known: Mapping[str, float], treatment: Unknown) -> None:
        """Take the known words with their counts, and the treatment of others."""
        self.known, self.treatment = known, treatment
        self._similar: dict[str, str] = {}

    def replace(self, words: Sequence[str], covered: Container[int]) -> list[str]:
        """Take the words of a sentence and return those to translate.

        `covered`: positions of words that are known here, such as parts of a known phrase.
        """
        result = []
        for position, word in enumerate(words):
            if position in covered or self.treatment == "copy":
                result.append(word)
            elif self.treatment == "similar":
                result.append(self._cached(word))
            elif is_name_or_number(word):
                result.append(word)
        return result

    def _cached(self, word: str) -> str:
        similar = self._similar.get(word)
        if similar is None:
            if len(self._similar) >= _CACHE_SIZE:
                self._similar.clear()
            similar = self._similar[word] = self.most_similar(word) or word
        return similar

    def most_similar(self, word: str) -> str | None:
        """Return the known word that is most similar to a word, None if none is."""
        if not word.isalpha():
            return None
        lower, is_name = word.lower(), word[0].isupper()
        share = _NAME_SHARE if is_name else _SHARE
        size = max(_SHORTEST, int(share * len(lower)))  # shared at least
        best: tuple[float, float, str] | None = None
        for known in self._sharing(lower, size):
            if known[0].isupper() != is_name:
                continue
            shared, longer = _shared(lower, known.lower()), max(len(lower), len(known))
            if shared < max(_SHORTEST, share * longer):
                continue
            key = (-2 * shared / (len(lower) + len(known)), -self.known[known], known)
            if best is None or key < best:
                best = key
        return None if best is None else best[2]

    def _sharing(self, word: str, size: int) -> set[str]:
        """Return the known words with all trigrams of any part of a word."""
        found: set[str] = set()
        for at in range(len(word) - size + 1):
            trigrams = _trigrams(word[at : at + size])
            lists = sorted((self._by_trigram.get(t, _NONE) for t in trigrams), key=len)
            found |= lists[0].intersection(*lists[1:])
        return found

    @cached_property
    def _by_trigram(self) -> dict[str, set[str]]:
        index: defaultdict[str, set[str]] = defaultdict(set)
        for word in self.known:
            if word.isalpha():
                for trigram in _trigrams(word.lower()):
                    index[trigram].add(word)
        return dict(index)


_NONE: set[str] = set()


def _trigrams(word: str) -> set[str]:
    return {word[at : at + _SHORTEST] for at in range(len(word) - _SHORTEST + 1)}


def _shared(a: str, b: str) -> int:
    """Return the length of the longest part that two words have in common."""
    shorter, longer = sorted((a, b), key=len)
    for size in range(len(shorter), 0, -1):
        if any(shorter[at : at + size] in longer for at in range(len(shorter) - size + 1)):
            return size
    return 0
