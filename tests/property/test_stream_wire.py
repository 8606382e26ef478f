"""Any vector and any words survive the wire."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from hopefear.decode.remote.stream_wire import (
    Vector,
    decode,
    encode,
    entry_line,
    read_entry,
    read_request,
    request_line,
)

NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)
VALUES = st.floats(allow_nan=False, allow_infinity=False).filter(bool)
VECTORS = st.dictionaries(NAMES, VALUES, max_size=6)
WORDS = st.lists(st.text(st.characters(codec="ascii", categories=["L", "P", "S"]), min_size=1))


@given(VECTORS)
def test_vectors(values: dict[str, float]) -> None:
    text = encode(values.items())
    assert "=" not in text
    assert decode(text) == Vector(values)
    ordinary = base64.b64encode(base64.b64decode(text)).decode()
    assert decode(ordinary) == Vector(values)


@given(VECTORS, st.integers(0, 200), st.binary(max_size=3))
def test_damage_is_an_error_or_a_vector(values: dict[str, float], at: int, more: bytes) -> None:
    raw = base64.b64decode(encode(values.items()))
    try:
        found = decode(base64.b64encode(raw[:at] + more + raw[at:]).decode())
    except ValueError:
        return
    assert all(name for name in found.values)


@given(WORDS, VECTORS)
def test_questions(words: list[str], delta: dict[str, float]) -> None:
    line = request_line(words, id="7", grammar='a "b" & <c>', delta=encode(delta.items()))
    found = read_request(line, "x")
    assert found.words.split() == words
    assert (found.id, found.grammar) == ("7", 'a "b" & <c>')
    assert (found.delta or Vector({})) == Vector(delta)


@given(WORDS.filter(lambda words: "|||" not in " ".join(words)), VECTORS, VALUES)
def test_answers(words: list[str], features: dict[str, float], score: float) -> None:
    found = read_entry(entry_line("7", 3, words, features, score))
    assert found == ("7", 3, words, Vector(features), score)
