r"""Lines of text files and of parallel files.

Takes names of UTF-8 files (.gz is unpacked, `-` is stdin) and yields their lines as a stream.

A line ends only at `\n`. U+0085, U+2028, form feeds and lone carriage returns are characters of the
sentence, as for other tools (`str.splitlines` would break lines there and misalign parallel files).
A carriage return before the `\n` (files from Windows) and a byte-order mark at the beginning of the
file are dropped. An empty line is a sentence without words; a last line without `\n` counts.
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

#: A file name, or sentences in memory.
Text: TypeAlias = PathLike | Iterable[str]

_END = object()


def read_lines(path: PathLike) -> Iterator[str]:
    """Take a file and yield its lines; raises `InputError` if a line is not UTF-8."""
    with open_text(path) as lines:
        yield from _bare(lines)


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """Take an open file and yield its lines; `name` is its name in messages."""
    yield from _bare(decoded_lines(file, name))


def _bare(lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is None:
        return
    yield first.removeprefix("\ufeff").removesuffix("\r")
    for line in lines:
        yield line.removesuffix("\r")


class Texts(dict[Path, list[str]]):
    """Texts in memory, by names such as `<dev>` that are used in place of paths."""

    def add(self, text: Text, name: str) -> Path:
        """Take a file name, which is returned, or sentences, which are stored under `<name>`."""
        if isinstance(text, str | os.PathLike):
            return Path(text)
        path, lines = Path(f"<{name}>"), list(text)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                raise InputError(f"{path}:{number}: {line!r} is not a string; expected a sentence")
            if "\n" in line:
                raise InputError(
                    f"{path}:{number}: contains a line break; give a sentence per entry"
                )
        self[path] = lines
        return path


def read_parallel(
    paths: Sequence[PathLike], texts: Mapping[Path, Sequence[str]] | None = None
) -> Iterator[tuple[str, ...]]:
    """Take parallel files and yield tuples of corresponding lines.

    Raises `InputError` if the numbers of lines differ. `texts` has the texts in memory by their
    names (`Texts`).
    """
    check_one_stdin(*paths)
    in_memory = texts or {}
    readers: list[Iterator[object]] = [
        iter(in_memory[Path(path)] if Path(path) in in_memory else read_lines(path))
        for path in paths
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
            raise InputError(_length_message(paths, counts))
        count += 1
        yield row  # type: ignore[misc]  # the row contains no sentinel


def _length_message(paths: Sequence[PathLike], counts: Sequence[int]) -> str:
    listed = ", ".join(
        f"{display_name(path)} has {count:,} line{'s' * (count != 1)}"
        for path, count in zip(paths, counts, strict=True)
    )
    return f"{listed}; parallel files correspond line by line, give files of equal length"


def write_parallel(paths: Sequence[PathLike], rows: Iterable[Sequence[str]]) -> int:
    """Write each column of `rows` to a file and return the number of rows.

    The files appear together, and only if no error occurs.
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
