"""Hierarchical rules equal their definition on random sentence pairs, found by trying all holes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.rules.hiero import HieroExtractOptions, rules_of

pytestmark = pytest.mark.engine

Span = tuple[int, int, int, int]  # first and last source word, first and last target word
Sentence = tuple[list[str], list[str], list[tuple[int, int]]]


@st.composite
def sentence_pairs(draw: st.DrawFn) -> Sentence:
    source = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=6))
    target = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=6))
    places = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return source, target, sorted(draw(st.sets(places, max_size=7)))


hiero_options = st.builds(
    HieroExtractOptions,
    max_span=st.integers(1, 6),
    max_symbols=st.integers(1, 6),
    max_nonterminals=st.integers(0, 2),
    min_hole=st.integers(1, 3),
    adjacent=st.booleans(),
    aligned_words=st.booleans(),
    boundaries=st.sampled_from(["loose", "tight"]),
    counting=st.sampled_from(["fractional", "whole"]),
)


def initial_phrases(pair: Sentence, options: HieroExtractOptions) -> list[Span]:
    source, target, points = pair
    found = []
    for f0, f1, e0, e1 in product(*(range(len(side)) for side in (source, source, target, target))):
        if not (0 <= f1 - f0 < options.max_span and 0 <= e1 - e0 < options.max_span):
            continue
        inside = [(f0 <= f <= f1, e0 <= e <= e1) for f, e in points]
        if (True, True) not in inside or {(True, False), (False, True)} & set(inside):
            continue
        ends = {("f", f) for f, _ in points} | {("e", e) for _, e in points}
        tight = {("f", f0), ("f", f1), ("e", e0), ("e", e1)} <= ends
        if options.boundaries == "loose" or tight:
            found.append((f0, f1, e0, e1))
    return found


def disjoint(a: Span, b: Span) -> bool:
    return a[1] < b[0] and (a[3] < b[2] or b[3] < a[2])


def side(
    words: list[str], first: int, last: int, holes: list[tuple[int, int]]
) -> tuple[tuple[str, ...], dict[int, int]]:
    """The symbols from first to last, and where the words that are left stand."""
    symbols: list[str] = []
    places: dict[int, int] = {}
    at = first
    while at <= last:
        hole = next((n for n, (begin, _) in enumerate(holes) if begin == at), None)
        if hole is None:
            places[at] = len(symbols)
            symbols.append(words[at])
            at += 1
        else:
            symbols.append(f"[X,{hole + 1}]")
            at = holes[hole][1] + 1
    return tuple(symbols), places


def expected(pair: Sentence, options: HieroExtractOptions) -> Counter[tuple[object, ...]]:
    source, target, points = pair
    phrases = initial_phrases(pair, options)
    result: Counter[tuple[object, ...]] = Counter()
    for phrase in phrases:
        f0, f1, e0, e1 = phrase
        inside = [
            hole
            for hole in phrases
            if f0 <= hole[0] and hole[1] <= f1 and e0 <= hole[2] and hole[3] <= e1
            if hole[1] - hole[0] + 1 >= options.min_hole
        ]
        choices: list[tuple[Span, ...]] = [(), *((hole,) for hole in inside)]
        choices += [
            (a, b)
            for a, b in product(inside, inside)
            if disjoint(a, b) and (options.adjacent or a[1] + 1 < b[0])
        ]
        rules = []
        for holes in choices:
            left, kept = side(source, f0, f1, [hole[:2] for hole in holes])
            right, kept_target = side(target, e0, e1, [hole[2:] for hole in holes])
            links = sorted(
                (kept_target[e], kept[f]) for f, e in points if f in kept and e in kept_target
            )
            if len(holes) > options.max_nonterminals or len(left) > options.max_symbols:
                continue
            if not kept or not kept_target or (options.aligned_words and not links):
                continue
            rules.append((left, right, tuple((f, e) for e, f in links)))
        count = 1 / len(rules) if rules and options.counting == "fractional" else 1.0
        result.update((*rule, count) for rule in rules)
    return result


@settings(max_examples=300)
@given(sentence_pairs(), hiero_options)
def test_rules_follow_the_definition(pair: Sentence, options: HieroExtractOptions) -> None:
    assert Counter(tuple(rule) for rule in rules_of(*pair, options)) == expected(pair, options)


@given(sentence_pairs())
def test_counts_of_a_sentence_are_its_initial_phrases(pair: Sentence) -> None:
    """Each initial phrase that has a rule gives one count away, no more and no less."""
    options = HieroExtractOptions(max_symbols=6)
    total = sum(rule.weight for rule in rules_of(*pair, options))
    assert total == pytest.approx(len(initial_phrases(pair, options)))
