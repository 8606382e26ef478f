"""The encoding of messages between learner and decoder."""

from __future__ import annotations

import base64
import struct

import pytest

from hopefear.base.errors import InputError
from hopefear.decode.remote.stream_wire import (
    Entry,
    Vector,
    decode,
    encode,
    entry_line,
    read_count,
    read_entry,
    read_request,
    request_line,
)


def packed(*pairs: tuple[str, float]) -> bytes:
    return b"".join(name.encode() + b"\0" + struct.pack("<d", value) for name, value in pairs)


def test_a_vector_is_padded_with_nuls() -> None:
    for name in ("a", "ab", "abc"):
        text = encode([(name, -0.1), ("zero", 0.0)])
        raw = base64.b64decode(text)
        assert "=" not in text
        assert raw.rstrip(b"\0") == packed((name, -0.1)).rstrip(b"\0")
        assert len(raw) % 3 == 0
        assert decode(text) == Vector({name: -0.1})
    assert encode([]) == ""
    assert decode("") == Vector({})


def test_ordinary_padding_is_read_and_reading_stops_at_an_empty_name() -> None:
    for name in ("a", "ab", "abc"):
        raw = packed((name, 2.5), ("é", 1e-300))
        assert decode(base64.b64encode(raw).decode()) == Vector({name: 2.5, "é": 1e-300})
        assert decode(base64.b64encode(raw + b"\0rest").decode()).values.keys() == {name, "é"}


@pytest.mark.parametrize("value", [1.0, -1.0, 0.37, -13.25, 1e-4, 1234.5])
def test_a_truncated_value_has_candidates(value: float) -> None:
    """As an encoder truncates it that takes two bytes at the end for one."""
    raw = packed(("ab", 1.0), ("cde", value))
    assert len(raw) % 3 == 2
    right = base64.b64encode(raw).decode()
    vector = decode(right[:-2] + "==")
    assert list(vector.values.values()) == [1.0]
    assert vector.cut is not None
    assert vector.cut.name == "cde"
    assert value in vector.cut.candidates
    apart = [
        b / a for a, b in zip(vector.cut.candidates[1:], vector.cut.candidates[2:], strict=False)
    ]
    assert apart == pytest.approx([65536.0] * len(apart))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (packed(("a", float("nan"))), "feature 'a' is nan, expected a finite number"),
        (packed(("a", float("-inf"))), "feature 'a' is -inf"),
        (b"name without an end", "ends in a name, b'name without"),
        (packed(("abc", 1.0))[:-2], "ends in the value of 'abc'"),
        (b"\xff\xfe\0" + b"12345678", r"feature name b'\\xff\\xfe' is not UTF-8"),
        (packed(("a\tb", 1.0)), r"feature name 'a\\tb' has control characters"),
    ],
)
def test_malformed_vectors(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(base64.b64encode(raw).decode())


@pytest.mark.parametrize("text", ["a", "abc", "ab=c", "ab c", "äöü=", "a" * 100 + "!"])
def test_text_that_is_not_base64(text: str) -> None:
    with pytest.raises(ValueError, match="is not base64") as caught:
        decode(text)
    assert len(str(caught.value)) < 140


def test_requests() -> None:
    delta = encode([("lm", 0.5)])
    line = request_line(["das", "<b>", "|||", "haus"], id="7", grammar="a&b.gz", delta=delta)
    assert line == f'<seg delta="{delta}" grammar="a&amp;b.gz" id="7"> das <b> ||| haus </seg>'
    request = read_request(line + "\n", "x:1")
    assert request == ("das <b> ||| haus", "7", "a&b.gz", Vector({"lm": 0.5}))
    assert request_line([], id="0") == '<seg id="0">  </seg>'
    assert read_request('<seg id="0"></seg>', "x:1") == ("", "0", None, None)


@pytest.mark.parametrize(
    "line", ["", "das haus", "<seg> a", "<seg/>", "</seg> </seg>", "<segment> a </seg>", "\0" * 99]
)
def test_malformed_requests(line: str) -> None:
    with pytest.raises(InputError, match=r"^x:3: "):
        read_request(line, "x:3")


def test_entries() -> None:
    line = entry_line("7", 2, ["the", "a|||b"], {"lm": -1.5, "é": 2.0}, -0.1)
    assert line.startswith("7 ||| 2 ||| the a&#124;&#124;&#124;b ||| ")
    assert line.endswith(" ||| -0.1")
    features = Vector({"lm": -1.5, "é": 2.0})
    assert read_entry(line) == Entry("7", 2, ["the", "a&#124;&#124;&#124;b"], features, -0.1)
    assert read_entry(entry_line("0", 0, [], {}, 0.0)) == Entry("0", 0, [], Vector({}), 0.0)
    assert read_entry("0 ||| 1 ||| a ||| b |||  ||| 2\r").words == ["a", "|||", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 ||| a", "2 fields, expected id"),
        ("0 ||| x ||| a |||  ||| 1", "source length is 'x'"),
        ("0 ||| 1 ||| a |||  ||| nan", "score is 'nan'"),
        ("0 ||| 1 ||| a |||  |||", "score is ''"),
        ("0 ||| 1 ||| a ||| ? ||| 1", "is not base64"),
    ],
)
def test_malformed_entries(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_entry(line)


def test_counts() -> None:
    assert read_count(" 5\r") == 5
    for text in ("", "-1", "5.0", "²", "x" * 200, "9" * 30, "1000001"):
        with pytest.raises(ValueError, match="entries"):
            read_count(text)
