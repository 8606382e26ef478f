"""Choosing: the best candidates of n-best lists under given weights, one list at a time.

Takes lists of any length and returns one line per list, in the order of the sentences. Memory: one
list, and the lines that wait for the lists of earlier sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base.errors import InputError
from hopefear.base.files import display_name
from hopefear.base.weights import Weights
from hopefear.forest import edge_scores
from hopefear.forest.io.nbest import Format, NbestList, id_number, read_nbest
from hopefear.learn.pool.candidate_builder import entry

Chooser = Callable[[NbestList], int]


@dataclass
class Choice:
    """The best candidates of n-best lists under given weights, read one list at a time."""

    nbest: Path
    weights: Weights
    format: Format | None = None
    ids: bool = False  # lines begin with the list's id and a tab
    entries: Iterable[Mapping[str, Any]] | None = None  # in memory instead of the file
    chooser: Chooser | None = None  # instead of the largest score
    lists: int = 0
    candidates: int = 0
    changed: int = 0  # lists whose best candidate is not the first one
    missing: int = 0  # sentences without candidates
    matched: bool = False  # whether some feature has a weight

    def texts(self, advance: Callable[[], None] = lambda: None) -> Iterator[str]:
        """Yield the best candidate of each list, the first in a tie."""
        places = _Places(self.nbest, self.ids)
        for list_, text in self.choices():
            yield from places.take(list_, text)
            advance()
        yield from places.rest()
        self.missing = places.missing

    def choices(self) -> Iterator[tuple[NbestList, str]]:
        """Yield each list with its best candidate, in the order of the lists."""
        for list_ in read_nbest(self.nbest, self.format, entries=self.entries):
            if self.chooser is not None:
                best = self.chooser(list_)
            else:
                best = int(np.argmax(edge_scores(list_.forest, self.weights)))
            self.lists += 1
            self.changed += best != 0
            self.candidates += list_.forest.edges
            if not self.matched:
                self.matched = any(int(id) in self.weights for id in list_.forest.feature_ids)
            yield list_, entry(list_.forest, best).text

    def remarks(self, place: str) -> Iterator[str]:
        """Yield warnings after all lists are read; `place` names the source of the weights."""
        if self.lists and not self.matched and len(self.weights):
            yield f"no feature of the lists has a weight in {place}; are these its lists?"
        if self.missing:
            yield f"{self.missing:,} sentences without candidates are empty lines"


class _Places:
    """Keeps the output parallel to the input of the system that made the lists."""

    def __init__(self, nbest: Path, ids: bool) -> None:
        self.nbest, self.ids = nbest, ids
        self.lists = self.missing = 0
        self._next = 0  # the number of the next sentence to write
        self._waiting: dict[int, str] = {}
        self._seen: set[str] = set()

    def take(self, list_: NbestList, text: str) -> Iterator[str]:
        """Take the translation of a list and yield the lines that can be written now."""
        id = list_.id
        self.lists += 1
        number = None if self.ids else id_number(id)
        if number is None:
            if id in self._seen:
                raise second_list(self.nbest, id)
            self._seen.add(id)
            yield f"{id}\t{text}" if self.ids else text
            return
        if number < self._next or number in self._waiting:
            raise second_list(self.nbest, id)
        if number - self._next - len(self._waiting) > 10_000_000:
            raise InputError(
                f"{display_name(self.nbest)}: id {id} after {self.lists - 1:,} lists; expected the "
                "numbers of sentences, give --ids"
            )
        self._waiting[number] = text
        while self._next in self._waiting:
            yield self._waiting.pop(self._next)
            self._next += 1

    def rest(self) -> Iterator[str]:
        """Yield the remaining lines, with empty lines for sentences without a list."""
        for number in sorted(self._waiting):
            for _ in range(number - self._next):
                self.missing += 1
                yield ""
            yield self._waiting[number]
            self._next = number + 1


def second_list(nbest: Path, id: str) -> InputError:
    """Return the error of an id that occurs again after other ids."""
    return InputError(
        f"{display_name(nbest)}: a second list of id {id!r}; put the candidates of one id "
        "together ('hopefear rerank convert --sort' does)"
    )
