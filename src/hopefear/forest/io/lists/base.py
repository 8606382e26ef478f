"""The contract of a list format, which reads a file of another system and yields entries.

    @register("list-format", "mine")
    @dataclass(kw_only=True)
    class Mine(ListFormat):
        def read(self, path):
            yield {"id": 0, "text": "a house", "features": {"logprob": -3.2}}

The entries of a list are adjacent and in the order of the system. Scores of the system become
features, in natural logs where the unit is known. Its fields are its options.
tests/contract/test_list_formats.py has an example of each format.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hopefear.base.config import option
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import display_name, open_text

Entry = dict[str, Any]
Pieces = Literal["words", "sentencepiece", "bpe"]


class ListFormat(ABC):
    """Base class of list formats; subclasses are dataclasses whose fields are their options."""

    name: ClassVar[str]  #: name in the registry

    @abstractmethod
    def read(self, path: Path) -> Iterator[Entry]:
        """Take a file and yield its entries."""


@dataclass(kw_only=True)
class TokenFormat(ListFormat):
    """A format whose texts may be tokens."""

    pieces: Pieces = option(
        "words", help="how tokens make words; sentencepiece: ▁ begins a word; bpe: @@ continues one"
    )

    def text(self, tokens: Any, place: str) -> str:
        """Take a text or a list of tokens and return the text."""
        if isinstance(tokens, str):
            tokens = tokens.split(" ") if self.pieces != "words" else [tokens]
        if not isinstance(tokens, list) or not all(isinstance(t, str) for t in tokens):
            raise InputError(f"{place}: {tokens!r:.60}, expected a text or a list of tokens")
        if self.pieces == "sentencepiece":
            return "".join(tokens).replace("▁", " ").strip()
        joined = " ".join(tokens)
        return joined.replace("@@ ", "").removesuffix("@@") if self.pieces == "bpe" else joined


def plain_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file without a byte order mark and without line ends, also Windows's."""
    with open_text(path) as lines:
        for number, line in enumerate(lines):
            yield (line if number else line.removeprefix("\ufeff")).rstrip("\r\n")


def numbered_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line that is not empty."""
    for number, line in enumerate(plain_lines(path), 1):
        if line.strip():
            yield f"{display_name(path)}:{number}", line


def json_lines(
    path: Path, is_file: Callable[[list[Any]], bool] = lambda items: True
) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each line of JSON, or of each item of one JSON array.

    The array may be on one line; `is_file` says whether an array on a line is such an array, and
    not the value of the line.
    """
    first = next(numbered_lines(path), ("", ""))[1].strip()
    if first == "[" or (first.startswith("[") and not _is_json(first)):
        text = "".join(f"{line}\n" for line in plain_lines(path))
        for number, value in enumerate(parsed(text, display_name(path))):
            yield f"{display_name(path)}, item {number}", value
        return
    for place, line in numbered_lines(path):
        value = parsed(line, place)
        if isinstance(value, list) and value and is_file(value):
            for number, item in enumerate(value):
                yield f"{place}, item {number}", item
        else:
            yield place, value


def parsed(text: str, place: str) -> Any:
    """Return the value of a JSON text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({in_line(error)})") from None
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(value, place)
    return value


def _check_surrogates(value: Any, place: str) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place}: {error.object[error.start]!r} is half of a character, expected both halves; "
            "replace it, for instance by \\ufffd"
        ) from None


def number(value: Any, place: str, what: str) -> float:
    """Take a number, or its text, and return it."""
    try:
        if isinstance(value, bool) or value is None:
            raise ValueError
        result = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{place}: {what} is {value!r:.40}, expected a number") from None
    if not math.isfinite(result):
        raise InputError(f"{place}: {what} is {result}, expected a finite number")
    return result


def member(value: Any, key: str, place: str) -> Any:
    """Return the value of a key of a JSON object."""
    if not isinstance(value, Mapping) or key not in value:
        raise InputError(f"{place}: no {key!r} in it; is this the format of the file?")
    return value[key]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
