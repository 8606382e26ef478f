"""The bytes of Mr. MIRA's streaming protocol, between a learner and a decoder.  [eidelman2013]

The learner asks with one line, the decoder answers with a number N and N lines, best first:

    <seg delta="B64" grammar="FILE" id="7"> source words </seg>
    5
    7 ||| 2 ||| target words ||| B64 ||| -18.0225
    …

`delta` is how the weights changed since the line before (absent: not at all), `grammar` a file
with the rules of this sentence (absent: the decoder has its own). The second number of an entry is
the length of the source sentence. Blank lines fill a list that is too short; N = 0 means that there
is no translation, and nothing to learn.

B64 is a vector: name, NUL, the 8 bytes of a little-endian double, again and again, in base64. It
ends with its bytes or at an empty name. The encoders of the two programs that the protocol comes
from lose the last byte of a vector whose length is 2 mod 3. So here NULs fill every vector to a
multiple of 3, where they make no mistake and `=` is never needed; of a vector that was `cut` by
them everything but the last value is read, and what they left of that one.
"""

from __future__ import annotations

import base64
import html
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hopefear.decode.markup import read_tags
from hopefear.text.tokenizers.plain import split_words

#: Longer lines of a peer are taken for nonsense: an answer's, and a question's (all weights may
#: have changed).
LONGEST_ENTRY = 1 << 25
LONGEST_REQUEST = 1 << 30
MOST_ENTRIES = 1_000_000
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = struct.Struct("<d")


class Cut(NamedTuple):
    """A value without its last byte: the sign is known, of the exponent all but 4 bits."""

    name: str
    candidates: list[float]  # each 65,536 times the one before


class Vector(NamedTuple):
    """Features or weights by name, in the order of the wire."""

    values: dict[str, float]
    cut: Cut | None = None


def encode(values: Iterable[tuple[str, float]]) -> str:
    """A vector in base64, without its zeros."""
    raw = b"".join(
        name.encode("utf-8", "surrogateescape") + b"\0" + _VALUE.pack(value)
        for name, value in values
        if value
    )
    return base64.b64encode(raw + b"\0" * (-len(raw) % 3)).decode("ascii")


def decode(text: str) -> Vector:
    """The vector of a text in base64; `ValueError` says what is wrong with it."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError as error:
        raise ValueError(f"{_short(text)} is not base64 ({error})") from None
    values: dict[str, float] = {}
    at = 0
    while at < len(raw):
        end = raw.find(b"\0", at)
        if end < 0:
            raise ValueError(f"the vector ends in a name, {_short(raw[at:])}")
        if end == at:
            break
        try:
            name = raw[at:end].decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"feature name {_short(raw[at:end])} is not UTF-8") from None
        at = end + 9
        if at == len(raw) + 1:
            return Vector(values, _cut(name, raw[end + 1 :], text))
        if at > len(raw):
            raise ValueError(f"the vector ends in the value of {_short(name)}")
        (value,) = _VALUE.unpack_from(raw, end + 1)
        if not math.isfinite(value):
            raise ValueError(f"feature {_short(name)} is {value}, expected a finite number")
        values[name] = values.get(name, 0.0) + value
    return Vector(values)


def _cut(name: str, left: bytes, text: str) -> Cut:
    """What may have been the value of which 7 bytes are left, and 4 bits behind them."""
    if not text.endswith("=="):
        return Cut(name, [])
    high = (_DIGITS.index(text[-3]) & 15) << 4
    candidates = [_VALUE.unpack(left + bytes([high | low]))[0] for low in range(16)]
    return Cut(name, [value for value in candidates if math.isfinite(value)])


# -- questions --


class StreamRequest(NamedTuple):
    """What a learner asks."""

    words: str
    id: str | None = None
    grammar: str | None = None
    delta: Vector | None = None


def request_line(
    words: Sequence[str], *, id: str, grammar: str | None = None, delta: str = ""
) -> str:
    """A question; `delta` is encoded. Attributes by name, as others write them."""
    attributes = {"delta": delta or None, "grammar": grammar, "id": id}
    tag = "".join(
        f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value is not None
    )
    return f"<seg{tag}> {' '.join(words)} </seg>"


def read_request(line: str, place: str) -> StreamRequest:
    """What a line asks; `InputError` with the place, `ValueError` for its delta."""
    attributes, text = read_tags(line, place)
    delta = attributes.get("delta")
    return StreamRequest(
        text.strip(),
        attributes.get("id"),
        attributes.get("grammar"),
        None if delta is None else decode(delta),
    )


# -- answers --


class Entry(NamedTuple):
    """One translation of a list."""

    id: str
    source_words: int
    words: list[str]
    features: Vector
    score: float


def entry_line(
    id: str, source_words: int, words: Sequence[str], features: Mapping[str, float], score: float
) -> str:
    """An entry; bars in words are escaped as in n-best lists."""
    text = " ".join(words).replace("|||", "&#124;&#124;&#124;")
    return f"{id} ||| {source_words} ||| {text} ||| {encode(features.items())} ||| {score!r}"


def read_entry(line: str) -> Entry:
    """An entry of a list; `ValueError` says what is wrong with it."""
    fields = line.split("|||")
    if len(fields) < 5:
        raise ValueError(
            f"{len(fields)} fields, expected id ||| length ||| words ||| features ||| score"
        )
    length, vector, score = fields[1].strip(), fields[-2].strip(), fields[-1].strip()
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"the source length is {_short(length)}, expected a number")
    return Entry(
        fields[0].strip(),
        int(length[:18]),
        split_words("|||".join(fields[2:-2])),
        decode(vector),
        _score(score),
    )


def read_count(line: str) -> int:
    """The number of entries that follow; `ValueError` if it is none."""
    text = line.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f"found {_short(text)}, expected the number of entries")
    if int(text) > MOST_ENTRIES:
        raise ValueError(f"{text} entries, expected at most {MOST_ENTRIES}")
    return int(text)


def _score(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"the score is {_short(text)}, expected a finite number")
    return value


def _short(text: str | bytes) -> str:
    return repr(text if len(text) <= 40 else text[:40])
