"""Lists of the most frequent words of the training text, the vocabulary of lexical templates.

Takes the word-aligned training text and returns five lists, most frequent words first. They are
stored in one file of the model directory (`word-lists.tsv`: list, count, word, and for pairs the
target word):

    pairs      linked words (f, e), by the number of links
    source     source words         target     target words
    deleted    source words without a link
    inserted   target words without a link

`hopefear train` creates it. The options of a template set how many of the first entries it uses.
[chiang2009, eidelman2013]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from hopefear import _engine
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, open_input, write_text
from hopefear.features.word_classes import WordClasses
from hopefear.text.lines import read_lines

LISTS_FILE = "word-lists.tsv"
LISTS = ("pairs", "source", "target", "deleted", "inserted")

Entry = tuple[str, str, int]  # word, the pair's target word or "", count


@dataclass(frozen=True)
class WordLists:
    """The word lists of a model, and its word classes, which are in another file."""

    lists: dict[str, list[Entry]] | None = field(default=None, hash=False)  # None: no file
    limit: int = 0  # largest number of entries in a list
    place: str = "this model"  # the origin, for messages
    remedy: str = "give size=0 for all words"  # for messages if there are no lists
    classes: WordClasses = field(default_factory=WordClasses, hash=False)

    @classmethod
    def count(
        cls,
        source: PathLike,
        target: PathLike,
        alignment: PathLike,
        *,
        limit: int = 1000,
        tmp: PathLike | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> WordLists:
        """Count the words of a text; return lists of up to `limit` entries, ties sorted by word."""
        with ExitStack() as stack:
            lists = _engine.word_lists(
                stack.enter_context(open_input(source)),
                display_name(source),
                stack.enter_context(open_input(target)),
                display_name(target),
                stack.enter_context(open_input(alignment)),
                display_name(alignment),
                limit,
                os.fspath(tmp or ""),
                progress,
            )
        return cls({name: list(lists[name]) for name in LISTS}, limit)

    def save(self, path: PathLike) -> None:
        """Write `word-lists.tsv`."""
        with write_text(path) as file:
            file.write(f"limit\t{self.limit}\n")
            for name in LISTS:
                for word, other, count in (self.lists or {})[name]:
                    file.write(f"{name}\t{count}\t{word}" + (f"\t{other}\n" if other else "\n"))

    @classmethod
    def load(cls, path: PathLike) -> WordLists:
        """Read `word-lists.tsv`."""
        lists: dict[str, list[Entry]] = {name: [] for name in LISTS}
        limit = 0
        for number, line in enumerate(read_lines(path), 1):
            kind, *parts = line.split("\t")
            try:
                if kind == "limit" and number == 1:
                    (limit,) = map(int, parts)
                    continue
                count, word, *other = parts
                if len(other) != (kind == "pairs"):
                    raise ValueError
                lists[kind].append((word, other[0] if other else "", int(count)))
            except (ValueError, KeyError):
                raise InputError(
                    f"{display_name(path)}:{number}: found {line[:80]!r}, expected a list's name, "
                    "a count and a word between tabs; run 'hopefear train' again"
                ) from None
        return cls(lists, limit, display_name(path))

    def words(self, name: str, size: int, template: str) -> list[str]:
        """Return the first `size` words of a list; `template` is named in messages."""
        return [word for word, _, _ in self._first(name, size, template)]

    def pairs(self, size: int, template: str) -> list[tuple[str, str]]:
        """Return the first `size` linked pairs; `template` is named in messages."""
        return [(word, other) for word, other, _ in self._first("pairs", size, template)]

    def _first(self, name: str, size: int, template: str) -> Sequence[Entry]:
        if self.lists is None:
            raise InputError(
                f"{self.place}: has no word lists, which the feature template {template} needs; "
                f"{self.remedy}"
            )
        entries = self.lists[name]
        if len(entries) == self.limit < size:
            raise InputError(
                f"{self.place}: has {self.limit} entries of each list, but the feature template "
                f"{template} has size={size}; train again with --list-size {size}"
            )
        return entries[:size]
