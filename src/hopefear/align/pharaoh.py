"""Alignment files in Pharaoh and GIZA++ format.

Pharaoh format has a line `0-0 1-2` per sentence pair, with source-target positions from 0. It is
the format of fast_align, eflomal, Moses and Hopefear. GIZA++ writes three lines per pair
(`*.A3.final`); such files are recognised by their first line. Takes a file name and returns sorted
lists of points. Errors name the file and line of a malformed point or one outside its sentence.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import BinaryIO, Literal, cast

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, open_input, open_output

Point = tuple[int, int]
Alignment = list[Point]  # sorted by source, then target position; each point once
Direction = Literal["forward", "reverse"]

BLANKS = " \t\r\v\f"  # word separators, as in the engine
MAX_POSITION = 1 << 20  # larger positions are errors
_POINT = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def parse_points(line: str, place: str = "alignment") -> Alignment:
    """Take a line in Pharaoh format and return its points; `place` is named in errors."""
    points = set()
    for word in line.translate(_TO_SPACE).split(" "):
        if not word:
            continue
        match = _POINT.fullmatch(word)
        point = (int(match[1]), int(match[2])) if match else (MAX_POSITION, MAX_POSITION)
        if max(point) >= MAX_POSITION:
            raise InputError(
                f"{place}: {word[:40]!r} is no alignment point; expected two word positions "
                f"below {MAX_POSITION} such as 0-0"
            )
        points.add(point)
    return sorted(points)


_TO_SPACE = str.maketrans(dict.fromkeys(BLANKS + "\n", " "))


def format_points(points: Iterable[Point]) -> str:
    """Take points and return their line in Pharaoh format, without the line end."""
    return " ".join(f"{i}-{j}" for i, j in points)


def read_alignments(
    path: PathLike,
    *,
    lengths: Iterable[tuple[int, int]] | None = None,
    direction: Direction = "forward",
) -> Iterator[Alignment]:
    """Take a file in Pharaoh or GIZA++ format and yield its alignments.

    With `lengths`, the numbers of source and target words of each pair (`sentence_lengths`),
    positions and the number of lines are checked. `direction` is the direction of a GIZA++ model,
    which its files do not state: "forward" generates target words from source words, so `({ … })`
    follows source words.
    """
    name = display_name(path)
    with open_pharaoh(path, direction) as file:
        lines = (
            parse_points(line.decode("utf-8", "replace"), f"{name}:{number}")
            for number, line in enumerate(file, 1)
        )
        if lengths is None:
            yield from lines
            return
        for number, (points, sizes) in enumerate(zip_longest(lines, lengths), 1):
            if points is None or sizes is None:
                which = "ends before line" if points is None else "has a line"
                other = "the text continues" if points is None else "the text has ended"
                raise InputError(f"{name}: {which} {number}, but {other}; is it for another text?")
            check_points(points, sizes, f"{name}:{number}")
            yield points


def check_points(points: Iterable[Point], sizes: tuple[int, int], place: str) -> None:
    """Raise `InputError` if a point lies outside a sentence pair of these lengths."""
    for i, j in points:
        for position, length, side in ((i, sizes[0], "source"), (j, sizes[1], "target")):
            if position >= length:
                raise InputError(
                    f"{place}: {i}-{j} points to {side} word {position}, but the {side} sentence "
                    f"has {length} words (counted from 0); is the file for another text, or in "
                    "target-source order?"
                )


def sentence_lengths(source: PathLike, target: PathLike) -> Iterator[tuple[int, int]]:
    """Take two parallel files and yield the numbers of words of each pair of lines."""
    with open_input(source) as f, open_input(target) as e:
        for number, (a, b) in enumerate(zip_longest(f, e), 1):
            if a is None or b is None:
                short, long = (source, target) if a is None else (target, source)
                raise InputError(
                    f"{display_name(short)} has {number - 1} lines, {display_name(long)} has more; "
                    "give two files that correspond line by line"
                )
            yield len(a.split()), len(b.split())  # bytes.split separates at BLANKS, as the engine


def write_alignments(path: PathLike, alignments: Iterable[Iterable[Point]]) -> int:
    """Write alignments in Pharaoh format, a line each, and return their number."""
    count = 0
    with open_output(path) as file:
        for points in alignments:
            file.write(format_points(points).encode() + b"\n")
            count += 1
    return count


@contextmanager
def open_pharaoh(path: PathLike, direction: Direction) -> Iterator[BinaryIO]:
    """Open an alignment file of either format for reading as lines in Pharaoh format."""
    with open_input(path) as file:
        buffered = (
            file
            if isinstance(file, io.BufferedReader)
            else io.BufferedReader(cast(io.RawIOBase, file))
        )
        try:
            if buffered.peek(16)[:15].startswith(b"# Sentence pair"):
                lines = _giza_lines(buffered, display_name(path), direction)
                yield io.BytesIO(b"".join(lines))
            else:
                yield cast(BinaryIO, buffered)
        finally:
            if buffered is not file:
                buffered.detach()


_GIZA_LENGTHS = re.compile(rb"source length (\d{1,9}) target length (\d{1,9})")
_GIZA_WORD = re.compile(rb"(?:^|\s)(\S+) \(\{([\d\s]*)\}\)")


def _giza_lines(file: Iterable[bytes], name: str, direction: Direction) -> Iterator[bytes]:
    """Take the lines of a GIZA++ file, three per pair, and yield lines in Pharaoh format.

    Line 1 is a comment with the lengths, line 2 the generated sentence, line 3 the generating
    sentence: the empty word, then the words, each followed by the positions (from 1) of the words
    that it generated.
    """
    lines = enumerate(file, 1)
    for number, comment in lines:
        lengths = _GIZA_LENGTHS.search(comment)
        generated = next(lines, (0, b""))[1].split()
        links = _GIZA_WORD.findall(next(lines, (0, b""))[1])
        if lengths is None or len(links) != int(lengths[1]) + 1:
            raise InputError(
                f"{name}:{number}: not a sentence pair of GIZA++ (a comment with the lengths, a "
                "sentence, a sentence with ({ … })); is the file truncated?"
            )
        points: Sequence[Point] = [
            (i, int(j) - 1 if len(j) < 10 else MAX_POSITION)
            for i, (_, positions) in enumerate(links[1:])
            for j in positions.split()
        ]
        check_points(points, (len(links) - 1, len(generated)), f"{name}:{number + 2}")
        if direction == "reverse":
            points = sorted((i, j) for j, i in points)
        yield format_points(points).encode() + b"\n"
