"""The encoding of Mr. MIRA's streaming protocol between a learner and a decoder.  [eidelman2013]

A request is one line of the learner; the decoder answers with a number N and N lines, best first:

    <seg delta="B64" grammar="FILE" id="7"> source words </seg>
    5
    7 ||| 2 ||| target words ||| B64 ||| -18.0225
    …

`delta` is the change of the weights since the previous line (absent: no change), `grammar` a file
with the rules of this sentence (absent: the decoder has its rules). The second number of an entry
is the length of the source sentence. Blank lines pad a list that is too short; N = 0 means that
there is no translation, and nothing to learn.

B64 is a vector in base64: for each feature its name, NUL, and the 8 bytes of a little-endian
double. It ends with its last byte or at an empty name. The encoders of the two programs that the
protocol comes from drop the last byte of a vector whose length is 2 mod 3. Our encoder pads every
vector with NULs to a multiple of 3, which avoids both this error and `=`. Our decoder reads a
truncated vector except for its last value, for which it returns the candidates (`Cut`).
"""

from __future__ import annotations

import base64
import html
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hopefear.base.errors import escaped
from hopefear.decode.markup import read_tags
from hopefear.text.tokenizers.plain import split_words

#: Longest lines accepted of an answer and of a request (in which all weights may have changed).
LONGEST_ENTRY = 1 << 25
LONGEST_REQUEST = 1 << 30
MOST_ENTRIES = 1_000_000
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = struct.Struct("<d")


class Cut(NamedTuple):
    """A value without its last byte: known are the sign and all but 4 bits of the exponent."""

    name: str
    candidates: list[float]  # each 65,536 times the previous one


class Vector(NamedTuple):
    """Features or weights by name, in the order of the wire."""

    values: dict[str, float]
    cut: Cut | None = None


def encode(values: Iterable[tuple[str, float]]) -> str:
    """Encode a vector in base64, without its zeros."""
    raw = b"".join(
        name.encode("utf-8", "surrogateescape") + b"\0" + _VALUE.pack(value)
        for name, value in values
        if value
    )
    return base64.b64encode(raw + b"\0" * (-len(raw) % 3)).decode("ascii")


def decode(text: str) -> Vector:
    """Decode a vector in base64; raise a `ValueError` if it is malformed."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError as error:
        raise ValueError(f"{_short(text)} is not base64 ({error})") from None
    values: dict[str, float] = {}
    begin = 0
    while begin < len(raw):
        end = raw.find(b"\0", begin)
        if end < 0:
            raise ValueError(f"the vector ends in a name, {_short(raw[begin:])}")
        if end == begin:
            break
        try:
            name = raw[begin:end].decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"feature name {_short(raw[begin:end])} is not UTF-8") from None
        if escaped(name) != name:
            raise ValueError(f"feature name {_short(name)} has control characters")
        begin = end + 9
        if begin == len(raw) + 1:
            return Vector(values, _cut(name, raw[end + 1 :], text))
        if begin > len(raw):
            raise ValueError(f"the vector ends in the value of {_short(name)}")
        (value,) = _VALUE.unpack_from(raw, end + 1)
        if not math.isfinite(value):
            raise ValueError(f"feature {_short(name)} is {value}, expected a finite number")
        values[name] = values.get(name, 0.0) + value
    return Vector(values)


def _cut(name: str, first_bytes: bytes, text: str) -> Cut:
    """Return the candidates for a value of which 7 bytes and 4 bits of the last one remain."""
    if not text.endswith("=="):
        return Cut(name, [])
    high = (_DIGITS.index(text[-3]) & 15) << 4
    candidates = [_VALUE.unpack(first_bytes + bytes([high | low]))[0] for low in range(16)]
    return Cut(name, [value for value in candidates if math.isfinite(value)])


# -- requests --


class StreamRequest(NamedTuple):
    """A request of a learner: a sentence, and the change of the weights."""

    words: str
    id: str | None = None
    grammar: str | None = None
    delta: Vector | None = None


def request_line(
    words: Sequence[str], *, id: str, grammar: str | None = None, delta: str = ""
) -> str:
    """Format a request; `delta` is encoded. Attributes are sorted by name, as in other programs."""
    attributes = {"delta": delta or None, "grammar": grammar, "id": id}
    tag = "".join(
        f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value is not None
    )
    return f"<seg{tag}> {' '.join(words)} </seg>"


def read_request(line: str, place: str) -> StreamRequest:
    """Parse a request; raise an `InputError` with the place, or a `ValueError` for its delta."""
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
    """A translation in a k-best list."""

    id: str
    source_words: int
    words: list[str]
    features: Vector
    score: float


def entry_line(
    id: str, source_words: int, words: Sequence[str], features: Mapping[str, float], score: float
) -> str:
    """Format an entry; bars in words are escaped as in n-best lists."""
    text = " ".join(words).replace("|||", "&#124;&#124;&#124;")
    return f"{id} ||| {source_words} ||| {text} ||| {encode(features.items())} ||| {score!r}"


def read_entry(line: str) -> Entry:
    """Parse an entry of a list; raise a `ValueError` if it is malformed."""
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
    """Parse the number of entries that follow; raise a `ValueError` if it is malformed."""
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
