"""Interpolated modified Kneser-Ney in plain Python: what the engine must compute, said simply.

Dictionaries of tuples, no streaming, all in double precision. It follows the description of lmplz's
numbers and shares nothing with the engine.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

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
        assert abs(b - ref_b) <= tolerance, (gram, b, ref_b)
