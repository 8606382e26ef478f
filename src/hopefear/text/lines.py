r"""Lines of text files, one or several side by side; the one place that says what a line is.

Goes in: names of UTF-8 files (.gz is unpacked, `-` is stdin). Comes out: their lines, streamed.

A line ends at `\n` and nowhere else: U+0085, U+2028, form feeds and lone carriage returns are
characters of the sentence, as for every other tool that reads the file (`str.splitlines` would
break there and shift one side against the other). A carriage return before the `\n` (files from
Windows) and a byte-order mark at the very beginning do not belong to the text and are dropped. An
empty line is a sentence without words; a last line without `\n` counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, TypeAlias

from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import (
    PathLike,
    check_one_stdin,
    decoded_lines,
    display_name,
    open_text,
    write_text,
)

#: A file, or sentences in memory.
Text: TypeAlias = PathLike | Iterable[str]

_END = object()


def read_lines(path: PathLike) -> Iterator[str]:
    """The lines of one file; bytes that are no UTF-8 are an `InputError` with file and line."""
    with open_text(path) as lines:
        yield from _bare(lines)


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """The same of an open file; `name` is how messages call it."""
    yield from _bare(decoded_lines(file, name))


def _bare(lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is None:
        return
    yield first.removeprefix("\ufeff").removesuffix("\r")
    for line in lines:
        yield line.removesuffix("\r")


class Texts(dict[Path, list[str]]):
    """Texts in memory, by names that stand where paths do: `<dev>`."""

    def add(self, text: Text, name: str) -> Path:
        """The path of a text: that of its file, or a name if it is sentences in memory."""
        if isinstance(text, str | os.PathLike):
            return Path(text)
        path, lines = Path(f"<{name}>"), list(text)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                raise InputError(f"{path}:{number}: {line!r} is no text; expected a sentence")
            if "\n" in line:
                raise InputError(f"{path}:{number}: has a line break; give a sentence per entry")
        self[path] = lines
        return path


def read_parallel(
    paths: Sequence[PathLike], texts: Mapping[Path, Sequence[str]] | None = None
) -> Iterator[tuple[str, ...]]:
    """One line of every file at a time; files of different length are an `InputError`.

    `texts` are those that are not files, by their names (`Texts`).
    """
    check_one_stdin(*paths)
    known = texts or {}
    readers: list[Iterator[object]] = [
        iter(known[Path(path)] if Path(path) in known else read_lines(path)) for path in paths
    ]
    count = 0
    while True:
        row = tuple(next(reader, _END) for reader in readers)
        ended = sum(item is _END for item in row)
        if ended == len(row):
            return
        if ended:
            counts = [
                count + (item is not _END) + sum(1 for _ in reader)
                for item, reader in zip(row, readers, strict=True)
            ]
            raise InputError(_different(paths, counts))
        count += 1
        yield row  # type: ignore[misc]  # no sentinel is left in it


def _different(paths: Sequence[PathLike], counts: Sequence[int]) -> str:
    listed = ", ".join(
        f"{display_name(path)} has {count:,} line{'s' * (count != 1)}"
        for path, count in zip(paths, counts, strict=True)
    )
    return f"{listed}; parallel files need one line for one line, give files of equal length"


def write_parallel(paths: Sequence[PathLike], rows: Iterable[Sequence[str]]) -> int:
    """Write the columns of `rows` to one file each; returns the number of rows.

    The files appear together, and only if all went well.
    """
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise OptionError(f"two outputs have the same name: {', '.join(map(display_name, paths))}")
    count = 0
    with ExitStack() as stack:
        files = [stack.enter_context(write_text(path)) for path in paths]
        for row in rows:
            for file, line in zip(files, row, strict=True):
                file.write(line + "\n")
            count += 1
    return count
