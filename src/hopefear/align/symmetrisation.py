"""Symmetrisation of word alignments.  [och2003, koehn2003]

Takes the points of the forward and of the reverse model and returns the points of one alignment.
The engine's result is the same as that of fast_align's `atools`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hopefear import _engine
from hopefear.align.pharaoh import Alignment, Point, open_pharaoh, read_alignments, sentence_lengths
from hopefear.base.errors import OptionError, suggestion
from hopefear.base.files import PathLike, display_name, open_output

Method = Literal[
    "intersection", "intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
DEFAULT: Method = "grow-diag-final-and"


def symmetrise(
    forward: Iterable[Point], reverse: Iterable[Point], method: Method = DEFAULT
) -> Alignment:
    """Take both alignments of a sentence pair and return the symmetrised one, sorted."""
    return _engine.align_symmetrise(list(forward), list(reverse), check_method(method))


def check_method(method: str) -> str:
    """Return the name of the method; raises `OptionError` with all names if it is unknown."""
    if method not in (*METHODS, "intersect"):
        raise OptionError(f"unknown symmetrisation {method!r}; {suggestion(method, METHODS)}")
    return method


def symmetrise_files(
    forward: PathLike,
    reverse: PathLike,
    output: PathLike,
    method: Method = DEFAULT,
    *,
    text: tuple[PathLike, PathLike] | None = None,
) -> int:
    """Symmetrise two alignment files line by line and return the number of lines.

    With `text` (the source and the target file), points are checked against sentence lengths.
    """
    check_method(method)
    if display_name(forward) == display_name(reverse) == "<stdin>":
        raise OptionError("both directions are '-'; only one can be read from stdin")
    if text is not None:
        if "<stdin>" in map(display_name, (forward, reverse, *text)):
            raise OptionError("'-': checking reads alignments and texts twice; give files")
        for path in (forward, reverse):
            direction: Literal["forward", "reverse"] = "forward" if path is forward else "reverse"
            for _ in read_alignments(path, lengths=sentence_lengths(*text), direction=direction):
                pass
    with (
        open_pharaoh(forward, "forward") as f,
        open_pharaoh(reverse, "reverse") as r,
        open_output(output) as out,
    ):
        return _engine.align_symmetrise_files(
            f, display_name(forward), r, display_name(reverse), method, out
        )
