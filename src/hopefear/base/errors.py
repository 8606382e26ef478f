"""The exceptions of Hopefear.

Every error that the user can fix is a `HopefearError`; its message gives place, value, expectation
and remedy in one line. The command line prints the line and exits with code 2; it treats `OSError`
the same way. Any other exception is a bug in Hopefear: exit code 1.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

LONGEST = 1000  # largest length of a message, in characters


def escaped(text: str) -> str:
    """The text with control characters and undecodable bytes as hexadecimal escapes."""
    return text if text.isprintable() else "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code < 0xE000:  # a byte that was not UTF-8 is 0xDC00 plus the byte
        return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code < 0xDD00 else f"\\u{code:04x}"
    if 0x20 <= code < 0x7F or code >= 0xA0:
        return character
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(character, f"\\x{code:02x}")


class HopefearError(Exception):
    """Base class of all errors that the user can fix."""

    def __str__(self) -> str:
        """The message in one line, with the middle removed if it is too long."""
        text = escaped(super().__str__())
        if len(text) <= LONGEST:
            return text
        return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"


class InputError(HopefearError):
    """A file has invalid content. The C++ engine raises this error too."""


class OptionError(HopefearError):
    """An option, a config key or an argument has an invalid name or value."""


@contextlib.contextmanager
def naming(places: Mapping[Path, Path]) -> Iterator[None]:
    """Replace the names of temporary files in errors by those of the files they were made from."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for temporary, original in places.items():
            text = text.replace(str(temporary), str(original))
        raise InputError(text) from None


class Terminated(SystemExit):
    """The process is ended by a signal; the code is 128 plus the number of the signal."""


def describe(error: BaseException) -> str:
    """The type and the message of another program's error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def in_line(error: object, most: int = 200) -> str:
    """The message of another library's error in one line of limited length."""
    text = " ".join(str(error).split())
    return text if len(text) <= most else text[:most] + "…"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The remedy for an unknown name: the closest known name, or all known names."""
    known = sorted(known)
    close = difflib.get_close_matches(name[:100], known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if not known:
        return "there are no valid names"
    return "choose from " + ", ".join(known)
