"""What can go wrong and whose turn it is.

Every error that the user can mend is a `HopefearError`; its message says place, value, expectation
and remedy in one line. The command line prints that line and exits with 2. An `OSError` is treated
alike. Anything else that is raised is a bug of ours: exit code 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 1000  # characters of a message


class HopefearError(Exception):
    """The family: what the user can mend."""

    def __str__(self) -> str:
        """The message in one line; of a long one, which quotes a long value, without the middle."""
        text = super().__str__().replace("\r", "\\r").replace("\n", "\\n")
        if len(text) <= LONGEST:
            return text
        return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"


class InputError(HopefearError):
    """A file's content is not what it should be. The engine raises it too."""


class OptionError(HopefearError):
    """An option, a config key or an argument has a wrong name or value."""


def in_line(error: object, most: int = 200) -> str:
    """What another library says is wrong, in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= most else text[:most] + "…"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The remedy for a misspelt name: what it may have meant, or what there is."""
    known = sorted(known)
    close = difflib.get_close_matches(name[:100], known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if not known:
        return "there is none"
    return "choose from " + ", ".join(known)
