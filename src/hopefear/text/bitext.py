"""Parallel corpora in files, read line by line as a stream.

Takes file names (also .gz, `-`): a source side, one target side or several references, and
optionally documents; yields a `Pair` per line, so that memory does not grow with the corpus, or
returns statistics of sentence lengths. Files are read when a `Bitext` is iterated; it can be
iterated again, unless one of its files is stdin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, check_one_stdin, display_name
from hopefear.text.documents import document_names
from hopefear.text.lines import read_parallel


class Pair(NamedTuple):
    """Line `number` (from 1) of a bitext."""

    number: int
    source: str
    targets: tuple[str, ...]
    document: str | None

    @property
    def target(self) -> str:
        """The translation, or the first reference."""
        return self.targets[0]


@dataclass(frozen=True)
class Bitext:
    """A parallel corpus; line counts, encoding and document names are checked while reading."""

    source: PathLike
    targets: Sequence[PathLike]
    documents: PathLike | None = None
    id_separator: str = field(default="", kw_only=True)  # see hopefear.text.documents

    def __post_init__(self) -> None:
        if isinstance(self.targets, (str, os.PathLike)):
            object.__setattr__(self, "targets", (self.targets,))
        check_one_stdin(*self.files)

    @property
    def files(self) -> list[PathLike]:
        """All files: source, targets, documents."""
        documents = [] if self.documents is None else [self.documents]
        return [self.source, *self.targets, *documents]

    def __iter__(self) -> Iterator[Pair]:
        last = 1 + len(self.targets)
        for number, row in enumerate(read_parallel(self.files), 1):
            document = None
            if self.documents is not None:
                place = display_name(self.documents)
                try:
                    (document,) = document_names([row[last]], place, self.id_separator)
                except InputError as error:  # with line number 1, as it was given a single line
                    raise InputError(str(error).replace(":1:", f":{number}:", 1)) from None
            yield Pair(number, row[0], row[1:last], document)

    def check(self) -> int:
        """Read and check the whole corpus and return the number of pairs."""
        return sum(1 for _ in self)

    def statistics(self) -> list[Lengths]:
        """Return the sentence lengths of the source and of each target, in words."""
        sides = [Lengths(display_name(path)) for path in (self.source, *self.targets)]
        for pair in self:
            for side, line in zip(sides, (pair.source, *pair.targets), strict=True):
                side.add(pair.number, line)
        return sides


@dataclass
class Lengths:
    """Statistics of the sentence lengths of a file."""

    name: str
    sentences: int = 0
    words: int = 0
    characters: int = 0
    empty: int = 0
    longest: int = 0  # in words
    longest_line: int = 0  # line number of the longest sentence, from 1; 0 for an empty file
    histogram: dict[int, int] = field(default_factory=dict)  # length -> number of sentences

    def add(self, number: int, line: str) -> None:
        """Count line `number`."""
        count = len(line.split())
        self.sentences += 1
        self.words += count
        self.characters += len(line)
        self.empty += count == 0
        self.histogram[count] = self.histogram.get(count, 0) + 1
        if count > self.longest:
            self.longest, self.longest_line = count, number

    @property
    def mean(self) -> float:
        """Mean sentence length in words."""
        return self.words / self.sentences if self.sentences else 0.0

    def quantile(self, share: float) -> int:
        """Return the length that a `share` of the sentences do not exceed."""
        remaining = share * self.sentences
        for length in sorted(self.histogram):
            remaining -= self.histogram[length]
            if remaining <= 0:
                return length
        return self.longest
