"""Damaged files: what a mutation makes of the bytes of a good one.

Goes in: samples of a format and a random generator. Comes out: bytes that may still be of that
format, or nearly, or not at all: flipped bits, cut and spliced pieces, odd numbers, odd UTF-8,
line ends of other systems, NULs, long lines, deep nesting. For our own binary files fields of all
widths get odd values, and then every checksum is made right again: what is behind them must not
trust them.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

NUMBERS = [
    *b"0 -0 1 -1 2 3 7 255 256 65535 65536 2147483647 2147483648 -2147483648 4294967295".split(),
    *b"4294967296 9223372036854775807 9223372036854775808 18446744073709551615".split(),
    *b"18446744073709551616 1e9 1e30 1e38 3.5e38 1e39 1e308 1e309 -1e309 1e-320 1e-400".split(),
    *(b"1e999", b"-1e999"),
    *b"nan NaN -nan inf -inf Infinity 0x10 1e 1.5 -99 -0.0 +1 .5 5. 1_000 1,5 0b1 0777".split(),
    *(
        b"1e+5",
        b"00001",
        b"9" * 50,
        b"9" * 400,
        b"9" * 5000,
        b"0." + b"3" * 400,
        b"",
        " ٣".encode(),
    ),
]

PIECES = [
    *(
        b"\0",
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
        b" ",
        b"  ",
        b"\v",
        b"\f",
        b"\x1a",
        b"\x1b[31m",
        b"\x7f",
    ),
    *(
        b"|",
        b"|||",
        b" ||| ",
        b"||||",
        b"=",
        b"= ",
        b":",
        b",",
        b";",
        b"#",
        b"'",
        b'"',
        b"\\",
        b"`",
    ),
    *(b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b"()", b"[]", b"{}", b"[X,1]", b"[X,99]"),
    *(
        b"<s>",
        b"</s>",
        b"<unk>",
        b"<eps>",
        b"[X]",
        b"[,]",
        b"[X,0]",
        b"[1]",
        b"0-0",
        b"99-99",
        b"-",
    ),
    *(b"null", b"true", b"None", b"*EPS*", b"\\end\\", b"\\data\\", b"ngram 9=1", b"__import__"),
    *(
        b"\xff",
        b"\xfe\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc3",
        b"\xe2\x82",
    ),
    b"\xef\xbb\xbf",
    *("\u2028 \u0085 \u00a0 \u200b \u202e \u0301 \ufeff \ufffd \U0010ffff é ß İ 語 😀")
    .encode()
    .split(),
]
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_VALUE = re.compile(rb"\"[^\"\n]*\"|'[^'\n]*'|\[[^\[\]\n]*\]|\{[^{}\n]*\}|\b(?:true|false|null)\b")
VALUES = [
    *(
        b"true",
        b"false",
        b"null",
        b"[]",
        b"{}",
        b'""',
        b"''",
        b"0",
        b"-1",
        b"1.5",
        b"1e999",
        b"nan",
    ),
    *(
        b"[[]]",
        b"[{}]",
        b"[1]",
        b'["a"]',
        b"[null]",
        b'{"a": 1}',
        b"{a = 1}",
        b'"a"',
        b'"-"',
        b'"."',
    ),
    *(
        b'"/"',
        b'".."',
        b'"\\u0000"',
        b'"\\ud800"',
        b'"\\n"',
        b"1979-05-27",
        b"07:32:00",
        b"inf",
        b"[1, 2]",
    ),
    *(b'"moses"', b'"char"', b'"lower"', b'"hiero"', b'"jieba"', b'"' + b"x" * 6000 + b'"'),
]
_SEPARATORS = (b" ||| ", b"\t", b",", b" ", b"=", b"-", b":")
_FIELDS = (
    *(struct.pack("<I", x) for x in (0, 1, 2, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)),
    *(struct.pack("<Q", x) for x in (0, 1, 1 << 20, 1 << 32, 1 << 60, (1 << 63) - 1, 1 << 63)),
    *(struct.pack("<Q", x) for x in ((1 << 64) - 1, (1 << 64) - 64, 1 << 61, 1 << 62)),
    *(struct.pack("<f", x) for x in (float("nan"), float("inf"), -float("inf"), 1e38, -1.0, 1e-45)),
    *(struct.pack("<d", x) for x in (float("nan"), float("inf"), 1e300, -1e300, -0.0)),
    *(b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\0\0"),
)


def case(samples: Sequence[bytes], seed: str, *, binary: bool = False) -> bytes:
    """The input of a seed; for `binary` a file of ours."""
    rng = random.Random(seed)
    data = rng.choice(samples)
    changes = _BINARY if binary else _TEXT
    for _ in range(1 + int(rng.expovariate(0.7))):
        data = rng.choice(changes)(data, rng, samples)
    if not binary and rng.random() < 0.01:
        data = _long(data, rng, samples)
    return resealed(data) if binary and rng.random() < 0.9 else data


# -- any bytes --

Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _range(data: bytes, rng: random.Random) -> tuple[int, int]:
    begin = _place(data, rng)
    return begin, min(len(data), begin + int(rng.expovariate(0.1)) + 1)


def _flip(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _byte(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    return data[: _place(data, rng)] if rng.random() < 0.8 else data[_place(data, rng) :]


def _delete(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    begin, end = _range(data, rng)
    return data[:begin] + data[end:]


def _again(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    begin, end = _range(data, rng)
    at = _place(data, rng)
    return data[:at] + data[begin:end] * rng.choice((1, 1, 2, 30)) + data[at:]


def _splice(data: bytes, rng: random.Random, samples: Sequence[bytes]) -> bytes:
    other = rng.choice(samples)
    return data[: _place(data, rng)] + other[_place(other, rng) :]


# -- text --


def _insert(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(PIECES) + data[at:]


def _overwrite(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    begin, end = _range(data, rng)
    return data[:begin] + rng.choice(PIECES) + data[end:]


def _number(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    begin, end = rng.choice(found).span()
    return data[:begin] + rng.choice(NUMBERS) + data[end:]


def _word(data: bytes, rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """A word of the samples in the place of another."""
    words, own = rng.choice(samples).split(), list(re.finditer(rb"\S+", data))
    if not words or not own:
        return data
    begin, end = rng.choice(own).span()
    return data[:begin] + rng.choice(words) + data[end:]


def _value(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A value of another type, as in TOML and JSON."""
    found = list(_VALUE.finditer(data)) or list(_NUMBER.finditer(data))
    if not found:
        return data
    begin, end = rng.choice(found).span()
    return data[:begin] + rng.choice(VALUES) + data[end:]


def _field_of_line(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A field of a line dropped, doubled, emptied, or changed for one of any line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    separators = [one for one in _SEPARATORS if one in lines[at]]
    if not separators:
        return data
    separator = rng.choice(separators)
    fields, others = lines[at].split(separator), rng.choice(lines).split(separator)
    one, how = rng.randrange(len(fields)), rng.randrange(5)
    if how == 0:
        del fields[one]
    elif how == 1:
        fields.insert(one, fields[one])
    elif how == 2:
        fields[one] = b""
    elif how == 3:
        fields[one] = rng.choice(others)
    else:
        other = rng.randrange(len(fields))
        fields[one], fields[other] = fields[other], fields[one]
    lines[at] = separator.join(fields)
    return b"\n".join(lines)


def _lines(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 1:
        lines.insert(one, lines[other])
    elif how == 2:
        del lines[one]
    else:
        lines.insert(one, b"")
    return b"\n".join(lines)


def _line_ends(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\0", b" ", b"")))


def _other_text(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """The same letters in another encoding."""
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-8-sig", "latin-1")), "replace")


def _long(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A long line, a long word, or a deep nest."""
    at = _place(data, rng)
    begin, end = _range(data, rng)
    piece = rng.choice((b"a", b"a ", b"(", b"[", b"{", b'{"a":', b"((", b"|||", b"9", b"\n", b"'"))
    piece = rng.choice((piece, data[begin:end]))[:20]
    return data[:at] + piece * rng.choice((1000, 20_000, 100_000)) + data[at:]


# -- our own binary files --


def _field(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """An odd value where a number may stand."""
    value = rng.choice(_FIELDS)
    at = _place(data, rng) // len(value) * len(value)
    return data[:at] + value + data[at + len(value) :]


def _near(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A number that is off by little."""
    if len(data) < 8:
        return data
    at = rng.randrange(len(data) // 4 - 1) * 4
    (value,) = struct.unpack_from("<I", data, at)
    changed = struct.pack("<I", (value + rng.choice((-2, -1, 1, 2, 64))) % (1 << 32))
    return data[:at] + changed + data[at + 4 :]


def _entry(data: bytes, rng: random.Random, _: Sequence[bytes]) -> bytes:
    """A section of another place or size."""
    if len(data) < _FRONT:
        return data
    at = _HEADER + rng.randrange(24) * _ENTRY + rng.choice((16, 24))
    (value,) = struct.unpack_from("<Q", data, at)
    changed = (value + rng.choice((-64, -8, -4, -1, 1, 4, 8, 64))) % (1 << 64)
    return data[:at] + struct.pack("<Q", changed) + data[at + 8 :]


_ANY: tuple[Change, ...] = (_flip, _byte, _cut, _delete, _again, _splice)
_TEXT: tuple[Change, ...] = (
    *_ANY,
    *(_insert, _overwrite, _number, _number, _value, _word, _word, _field_of_line, _field_of_line),
    *(_lines, _lines, _line_ends, _other_text),
)
_BINARY: tuple[Change, ...] = (*_ANY, _field, _field, _field, _near, _near, _near, _entry)

# -- checksums of our files (cpp/base/binary_file.cpp, cpp/forest/pool.cpp) --

_HEADER, _ENTRY, _FRONT = 64, 48, 64 + 24 * 48
_MASK = (1 << 64) - 1
_BLOCK = 17 * 8 + 24  # the least that a forest takes; its checksum is in front


def resealed(data: bytes) -> bytes:
    """The same with checksums and a size that are right, as far as there is a header."""
    if len(data) < _FRONT:
        return data
    out = bytearray(data)
    struct.pack_into("<Q", out, 24, len(out))
    (sections,) = struct.unpack_from("<I", out, 20)
    places = {}
    for number in range(min(sections, 24)):
        at = _HEADER + number * _ENTRY
        name = bytes(out[at : at + 16]).rstrip(b"\0")
        offset, size = struct.unpack_from("<QQ", out, at + 16)
        if offset <= len(out) and size <= len(out) - offset:
            places[name] = (at, offset, size)
    if out[8:14] == b"forest" and {b"forests", b"index"} <= places.keys():
        _reseal_forests(out, *places[b"forests"][1:], *places[b"index"][1:])
    for at, offset, size in places.values():
        content = bytes(out[offset : offset + size])
        struct.pack_into("<Q", out, at + 32, checksum(content))
    struct.pack_into("<Q", out, 32, 0)
    struct.pack_into("<Q", out, 32, checksum(bytes(out[:_FRONT])))
    return bytes(out)


def _reseal_forests(out: bytearray, begin: int, size: int, index: int, index_size: int) -> None:
    for at in range(index, index + index_size - 15, 16):
        offset, length = struct.unpack_from("<QQ", out, at)
        if 8 <= length <= size and offset <= size - length:
            first = begin + offset
            struct.pack_into("<Q", out, first, checksum(bytes(out[first + 8 : first + length])))


@lru_cache(maxsize=1000)  # most sections are those of the sample
def checksum(data: bytes) -> int:
    """`Checksum` of cpp/base/hash.hpp."""
    lanes = [1, 2, 3, 4]
    padded = data + bytes(-len(data) % 32)
    for number, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        lane = ((lanes[number & 3] ^ word) * 0x9FB21C651E98DF25) & _MASK
        lanes[number & 3] = lane ^ (lane >> 29)
    found = len(data)
    for lane in lanes:
        found = _mix((found * 0x9E3779B97F4A7C15 + lane + 0x2545F4914F6CDD1D) & _MASK)
    return found


def _mix(x: int) -> int:
    for _ in range(2):
        x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & _MASK
    return x ^ (x >> 32)
