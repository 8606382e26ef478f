"""N-best lists in the formats of Moses, and of cdec and Joshua (`forest.io.nbest`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat
from hopefear.forest.io.nbest import Format, read_nbest
from hopefear.forest.io.nbest_entries import entries_of_list


@register("list-format", "moses")
@dataclass(kw_only=True)
class Moses(ListFormat):
    """N-best lists of Moses: `id ||| words ||| A= 1 2 B= 3 ||| score`."""

    name: ClassVar[str] = "moses"
    lines: ClassVar[Format] = "moses"

    def read(self, path: Path) -> Iterator[Entry]:
        for list_ in read_nbest(path, self.lines):
            yield from entries_of_list(list_)


@register("list-format", "cdec")
@dataclass(kw_only=True)
class Cdec(Moses):
    """N-best lists of cdec and Joshua: `id ||| words ||| name=value ||| score`."""

    name: ClassVar[str] = "cdec"
    lines: ClassVar[Format] = "cdec"


@register("list-format", "jsonl")
@dataclass(kw_only=True)
class JsonLines(Moses):
    """JSON lines, the format of this package."""

    name: ClassVar[str] = "jsonl"
    lines: ClassVar[Format] = "jsonl"
