"""What a reader is to the fuzzer: samples of what it reads, and a function that reads a file.

Goes in: a function and good samples. Comes out: an entry of `READERS`. Samples are small: a damaged
byte is near everything, and reading one takes little time. They are the same bytes whenever they
are made, so that a number and a seed always mean the same input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Reader:
    """`samples` makes good files in a folder; `file` is where a damaged one belongs in it."""

    samples: Callable[[Path], list[bytes]]
    read: Read
    file: str = "case"
    binary: bool = False


READERS: dict[str, Reader] = {}


def reader(
    name: str,
    *samples: str | Callable[[Path], list[bytes]],
    file: str = "case",
    binary: bool = False,
) -> Callable[[Read], Read]:
    """Registers a function that reads a file; samples are texts, or made in the folder."""

    def make(folder: Path) -> list[bytes]:
        texts = [one.encode() for one in samples if isinstance(one, str)]
        return texts + [found for one in samples if callable(one) for found in one(folder)]

    def register(read: Read) -> Read:
        READERS[name] = Reader(make, read, file, binary)
        return read

    return register


def consume(items: Iterable[Any]) -> list[Any]:
    """The first ones of what may be many."""
    return list(islice(items, 2000))
