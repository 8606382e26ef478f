"""The estimator equals a plain one on random texts; memory and threads change no byte."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kneser_ney import BadDiscountsError, assert_same, read_arpa, reference

from hopefear import _engine
from hopefear.errors import InputError

pytestmark = pytest.mark.engine


def run(text: str | bytes, **options: Any) -> tuple[str, dict[str, Any]]:
    data = text.encode() if isinstance(text, str) else text
    output = io.BytesIO()
    given: dict[str, Any] = {
        "order": 3,
        "prune": [],
        "fallback": [],
        "memory": 1 << 24,
        "threads": 1,
        "scratch": "",
        "skip_symbols": False,
        "progress": None,
    }
    report = _engine.estimate_lm([io.BytesIO(data)], ["text"], output, **{**given, **options})
    return output.getvalue().decode(), report


def zipf_text(seed: int, tokens: int, types: int, longest: int) -> str:
    """Frequent and rare words, repeated phrases, some empty lines."""
    r = random.Random(seed)
    lines: list[list[str]] = []
    while tokens > 0:
        if lines and r.random() < 0.3:
            line = list(r.choice(lines))
        else:
            line = [f"w{int(types ** r.random())}" for _ in range(r.randint(0, longest))]
        tokens -= len(line) + 1
        lines.append(line)
    return "".join(" ".join(line) + "\n" for line in lines)


separators = st.sampled_from([" ", " ", " ", "  ", "\t", "\r", "\0", " \0 "])
lines = st.lists(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", "dd", "é", "f"]), separators), max_size=9),
    min_size=1,
    max_size=12,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    rows = ["".join(word + blank for word, blank in line) for line in draw(lines)]
    return "\n".join(rows) + draw(st.sampled_from(["", "\n"]))


@st.composite
def prunings(draw: st.DrawFn, order: int) -> list[int]:
    return sorted(draw(st.lists(st.integers(0, 3), max_size=order)))


@given(st.data(), texts(), st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_small_texts_equal_the_reference(data: st.DataObject, text: str, order: int) -> None:
    assume(text.strip(" \t\r\n\0"))
    prune = data.draw(prunings(order))
    fallback = data.draw(st.sampled_from([[0.5, 1.0, 1.5], [0.3], [0.7, 1.7]]))
    found, _ = run(text, order=order, prune=prune, fallback=fallback)
    assert_same(read_arpa(found), reference(text, order, prune, fallback), 2e-5)


@given(st.data(), st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_larger_texts_equal_the_reference(data: st.DataObject, seed: int, order: int) -> None:
    """Large enough that most orders have discounts of their own."""
    text = zipf_text(seed, tokens=1500, types=data.draw(st.integers(20, 300)), longest=12)
    prune = data.draw(prunings(order))
    found, report = run(text, order=order, prune=prune, fallback=[0.5, 1.0, 1.5])
    assert_same(read_arpa(found), reference(text, order, prune, [0.5, 1.0, 1.5]), 2e-5)
    if order > 2:  # single words alone may all be frequent
        assert any(not fell_back for _, _, _, fell_back in report["orders"])


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_bad_discounts_are_an_error_like_the_reference(seed: int, order: int) -> None:
    text = zipf_text(seed, tokens=120 + seed % 400, types=40, longest=10)
    try:
        expected = reference(text, order, [], None)
    except BadDiscountsError as bad:
        with pytest.raises(InputError, match=f"order {bad.args[0]}: .*--discount-fallback"):
            run(text, order=order)
    else:
        assert_same(read_arpa(run(text, order=order)[0]), expected, 2e-5)


# What spills at least, by order: an order-1 model of 20,000 tokens needs several blocks of text.
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from([1 << 16, 1 << 17, 3 << 16]),
    st.integers(1, 3),
    st.sampled_from([[], [0, 1]]),
)
@settings(max_examples=20, deadline=None)
def test_memory_and_threads_change_nothing(
    seed: int, order: int, memory: int, threads: int, prune: list[int]
) -> None:
    text = zipf_text(seed, tokens=20_000, types=250, longest=30)
    options: dict[str, Any] = {"order": order, "prune": prune[:order], "fallback": [0.5, 1.0, 1.5]}
    whole, in_memory = run(text, **options)
    parts, spilled = run(text, **options, memory=memory, threads=threads)
    assert in_memory["spilled_bytes"] == 0
    assert spilled["spilled_bytes"] > 0
    assert parts == whole


def test_runs_are_merged_in_several_passes() -> None:
    """A hundred runs and a workspace that merges a few at a time."""
    text = zipf_text(7, tokens=200_000, types=200, longest=40)
    whole, _ = run(text, order=4, fallback=[0.5], memory=1 << 26)
    parts, report = run(text, order=4, fallback=[0.5], memory=1 << 16, threads=2)
    assert parts == whole
    # More bytes than all n-grams written once each in their runs and columns.
    assert report["spilled_bytes"] > 2 * 200_000 * 20


def test_the_last_ngram_enters_the_statistics_with_its_raw_count() -> None:
    """lmplz's quirk: it shows where the last new word has more occurrences than left neighbours."""
    text = zipf_text(3, tokens=800, types=60, longest=9) + "w1 last w1 last w1 last w1\n"
    with_quirk = reference(text, 2, [], None)
    without = reference(text, 2, [], None, quirk=False)
    assert_same(read_arpa(run(text, order=2)[0]), with_quirk, 2e-5)
    moved = max(abs(with_quirk.values[g][0] - without.values[g][0]) for g in without.values)
    assert moved > 1e-3
