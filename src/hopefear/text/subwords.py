"""Subwords: rare words are split into pieces by byte-pair encoding.  [sennrich2016]

Takes tokenised sentences and learns merges: at first a word is a sequence of characters, and each
merge joins the most frequent pair of adjacent pieces. `split` applies the merges to a word in the
order in which they were learned, so that frequent words stay whole; every piece but the last of
its word ends with `@@`. `join` restores the words.

    subwords = Subwords.learn(Counter(words), merges=1000)
    subwords.split(["untrained"])        # ["un@@", "train@@", "ed"]

The file is the one of subword-nmt (`#version: 0.2`, then a pair of pieces per line, with `</w>` at
the end of a word), so codes can be exchanged with it.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.text.lines import read_lines

Pair = tuple[str, str]

JOINER = "@@"  # ends each piece but the last of a word
_END = "</w>"  # ends the last piece of a word in pairs
_HEADER = "#version: 0.2"
_CACHE_SIZE = 100_000  # words; a full cache is cleared


@dataclass
class Subwords:
    """Learned merges, in their order."""

    merges: Sequence[Pair]
    _ranks: dict[Pair, int] = field(init=False, repr=False, compare=False)
    _cache: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._ranks = {}
        for rank, pair in enumerate(self.merges):
            self._ranks.setdefault(pair, rank)

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> Subwords:
        """Take the counts of words and return at most `merges` merges.

        Pairs that occur only once are not merged. Equally frequent pairs are merged in the reverse
        order of their spelling, as in subword-nmt.
        """
        words = [(_characters(word), count) for word, count in sorted(counts.items()) if word]
        pairs: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)  # pair -> words that may contain it
        for number, (pieces, count) in enumerate(words):
            for pair in pairwise(pieces):
                pairs[pair] += count
                places[pair].add(number)
        queue = [(-count, _Reverse(pair)) for pair, count in pairs.items()]
        heapq.heapify(queue)
        learned: list[Pair] = []
        while queue and len(learned) < merges:
            count, entry = heapq.heappop(queue)
            pair = entry.pair
            if -count != pairs[pair]:  # an outdated entry
                continue
            if -count < 2:
                break
            learned.append(pair)
            changed: set[Pair] = set()
            for number in places.pop(pair):
                pieces, times = words[number]
                merged = _merge(pieces, pair)
                for old in pairwise(pieces):
                    pairs[old] -= times
                    changed.add(old)
                for new in pairwise(merged):
                    pairs[new] += times
                    places[new].add(number)
                    changed.add(new)
                words[number] = merged, times
            for other in changed:
                if pairs[other] > 0:
                    heapq.heappush(queue, (-pairs[other], _Reverse(other)))
        return cls(learned)

    def split(self, words: Iterable[str]) -> list[str]:
        """Take words and return their pieces."""
        pieces: list[str] = []
        for word in words:
            known = self._cache.get(word)
            if known is None:
                if len(self._cache) >= _CACHE_SIZE:
                    self._cache.clear()
                known = self._cache[word] = self._split(word)
            pieces += known
        return pieces

    def _split(self, word: str) -> list[str]:
        pieces = _characters(word)
        while len(pieces) > 1:
            best = min(
                pairwise(pieces),
                key=lambda pair: self._ranks.get(pair, len(self._ranks)),
            )
            if best not in self._ranks:
                break
            pieces = _merge(pieces, best)
        *first, last = pieces
        return [*(piece + JOINER for piece in first), last.removesuffix(_END)]

    @staticmethod
    def join(pieces: Iterable[str]) -> list[str]:
        """Take pieces and return the words; the joiner of a last piece is removed."""
        words: list[str] = []
        begun = ""
        for piece in pieces:
            if piece.endswith(JOINER):
                begun += piece.removesuffix(JOINER)
            else:
                words.append(begun + piece)
                begun = ""
        return [*words, begun] if begun else words

    def save(self, path: PathLike) -> None:
        """Write the merges to a file, which `load` reads."""
        with write_text(path) as file:
            file.write(f"{_HEADER}\n")
            file.writelines(f"{left} {right}\n" for left, right in self.merges)

    @classmethod
    def load(cls, path: PathLike) -> Subwords:
        """Take a file that `save` or subword-nmt wrote and return its merges."""
        name = display_name(path)
        lines = read_lines(path)
        header = next(lines, "")
        if header != _HEADER:
            raise InputError(
                f"{name}:1: expected {_HEADER!r}, found {header[:40]!r}; learn the subwords again "
                "with 'hopefear train'"
            )
        merges: list[Pair] = []
        for number, line in enumerate(lines, 2):
            left, _, right = line.partition(" ")
            if not left or not right or " " in right:
                raise InputError(
                    f"{name}:{number}: expected two pieces separated by a blank, found "
                    f"{line[:60]!r}; learn the subwords again with 'hopefear train'"
                )
            merges.append((left, right))
        return cls(merges)


@dataclass(frozen=True)
class _Reverse:
    """A pair that sorts in the reverse order of its spelling."""

    pair: Pair

    def __lt__(self, other: _Reverse) -> bool:
        return self.pair > other.pair


def _characters(word: str) -> list[str]:
    return [*word[:-1], word[-1] + _END]


def _merge(pieces: Sequence[str], pair: Pair) -> list[str]:
    """Join each occurrence of a pair, from left to right."""
    merged: list[str] = []
    at = 0
    while at < len(pieces):
        if at + 1 < len(pieces) and (pieces[at], pieces[at + 1]) == pair:
            merged.append(pieces[at] + pieces[at + 1])
            at += 2
        else:
            merged.append(pieces[at])
            at += 1
    return merged
