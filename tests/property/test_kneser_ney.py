"""The estimator equals a plain one on random texts; memory and threads change no byte.

The plain one comes first: dictionaries of tuples, no streaming, all in double precision. It follows
the description of lmplz's numbers and shares nothing with the engine.
"""

from __future__ import annotations

import io
import math
import random
import re
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hopefear import _engine
from hopefear.base.errors import InputError

pytestmark = pytest.mark.engine

Gram = tuple[str, ...]
UNK, BOS, EOS = "<unk>", "<s>", "</s>"


class BadDiscountsError(Exception):
    """An order has no usable discounts; its number is the argument."""


class Model:
    """Probabilities and back-offs (log10) by n-gram, in the order of an ARPA file."""

    def __init__(self, counts: list[int], values: dict[Gram, tuple[float, float]]) -> None:
        self.counts, self.values = counts, values


def sentences(text: str) -> list[list[str]]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [[w for w in re.split(r"[ \t\r\0]+", line) if w] for line in lines]


def reference(
    text: str, order: int, prune: list[int], fallback: list[float] | None, quirk: bool = True
) -> Model:
    raw: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
    ids = {UNK: 0, BOS: 1, EOS: 2}
    for words in sentences(text):
        for word in words:
            ids.setdefault(word, len(ids))
        line = [BOS, *words, EOS]
        for n in range(1, order + 1):
            for i in range(len(line) - n + 1):
                raw[n][tuple(line[i : i + n])] += 1

    adjusted: list[dict[Gram, int]] = [{} for _ in range(order + 1)]
    adjusted[order] = dict(raw[order])
    for n in range(1, order):
        lefts: dict[Gram, set[str]] = defaultdict(set)
        for gram in raw[n + 1]:
            lefts[gram[1:]].add(gram[0])
        for gram, count in raw[n].items():
            adjusted[n][gram] = count if gram[0] == BOS else len(lefts[gram])
    adjusted[1][UNK,] = adjusted[1][BOS,] = 0

    def place(gram: Gram) -> list[int]:
        return [ids[w] for w in reversed(gram)]

    discounts: list[list[float]] = [[]]
    for n in range(1, order + 1):
        t: Counter[int] = Counter(adjusted[n].values())
        if quirk and n < order and adjusted[n]:
            last = max(adjusted[n], key=place)
            t[adjusted[n][last]] -= 1
            t[raw[n][last]] += 1
        discounts.append(discounts_of(t, n, fallback))

    thresholds = (prune or [0]) + [(prune or [0])[-1]] * order
    special = {(UNK,), (BOS,), (EOS,)}

    def kept(gram: Gram) -> bool:
        return gram in special or raw[len(gram)][gram] > thresholds[len(gram) - 1]

    types = sum(kept(gram) for gram in adjusted[1]) - 1
    p: dict[Gram, float] = {}
    gamma: dict[Gram, float] = {}
    for n in range(1, order + 1):
        followers: dict[Gram, list[Gram]] = defaultdict(list)
        for gram in adjusted[n]:
            followers[gram[:-1]].append(gram)
        for h, grams in followers.items():
            den = sum(adjusted[n][g] for g in grams)
            mass = sum(
                discount(adjusted[n][g], discounts[n]) if kept(g) else adjusted[n][g] for g in grams
            )
            gamma[h] = mass / den
            for g in grams:
                a = adjusted[n][g]
                lower = p[g[1:]] if n > 1 else 1 / types
                p[g] = (a - discount(a, discounts[n])) / den + gamma[h] * lower
    p[BOS,] = 1.0

    values: dict[Gram, tuple[float, float]] = {}
    counts = []
    for n in range(1, order + 1):
        grams = sorted((g for g in adjusted[n] if kept(g)), key=place)
        counts.append(len(grams))
        for g in grams:
            back_off = log10(gamma.get(g, 1.0)) if n < order else 0.0
            values[g] = (min(log10(p[g]), 0.0), back_off)
    return Model(counts, values)


def discounts_of(t: Counter[int], n: int, fallback: list[float] | None) -> list[float]:
    good = all(t[k] > 0 for k in (1, 2, 3))
    if good:
        y = t[1] / (t[1] + 2 * t[2])
        d = [0.0] + [k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)]
        good = all(-1e-9 <= d[k] <= k + 1e-9 for k in (1, 2, 3))
        if good:
            return d
    if fallback is None:
        raise BadDiscountsError(n)
    return [0.0] + [fallback[min(k, len(fallback)) - 1] for k in (1, 2, 3)]


def discount(count: int, discounts: list[float]) -> float:
    return discounts[min(count, 3)]


def log10(x: float) -> float:
    return math.log10(x) if x > 0 else -99.0


def read_arpa(text: str) -> Model:
    """A strict reader of exactly what we write."""
    lines = iter(text.split("\n"))
    assert next(lines) == "\\data\\"
    counts = []
    while line := next(lines):
        name, _, count = line.partition("=")
        assert name == f"ngram {len(counts) + 1}"
        counts.append(int(count))
    values: dict[Gram, tuple[float, float]] = {}
    for n, count in enumerate(counts, 1):
        assert next(lines) == f"\\{n}-grams:"
        before = len(values)
        while line := next(lines):
            columns = line.split("\t")
            assert len(columns) == (3 if n < len(counts) else 2)
            gram = tuple(columns[1].split(" "))
            assert len(gram) == n
            assert gram not in values
            values[gram] = (float(columns[0]), float(columns[2]) if n < len(counts) else 0.0)
        assert len(values) - before == count
    assert next(lines) == "\\end\\"
    assert list(lines) == [""]
    return Model(counts, values)


def assert_same(found: Model, expected: Model, tolerance: float) -> None:
    """The same n-grams in the same order, the numbers within `tolerance`."""
    assert found.counts == expected.counts
    assert list(found.values) == list(expected.values)
    for gram, (p, b) in found.values.items():
        ref_p, ref_b = expected.values[gram]
        assert abs(p - ref_p) <= tolerance, (gram, p, ref_p)
        # Discounts have 32 bits, as lmplz's; where all nearly vanish their logarithm has few.
        assert abs(b - ref_b) <= tolerance or abs(10**b - 10**ref_b) <= 5e-7, (gram, b, ref_b)


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


@example(73508, 3)
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
