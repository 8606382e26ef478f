"""Extraction equals its definition, and tables survive their text, on random bitexts."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.base.config import Size
from hopefear.rules.extract import TextExport, extract
from hopefear.rules.moses import read_table
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.rules.table import RuleTable

pytestmark = pytest.mark.engine

Sentence = tuple[list[str], list[str], set[tuple[int, int]]]


@st.composite
def sentence_pairs(draw: st.DrawFn) -> Sentence:
    source = draw(st.lists(st.sampled_from("abc|~"), max_size=6))
    target = draw(st.lists(st.sampled_from("xyz|~"), max_size=6))
    points: set[tuple[int, int]] = set()
    if source and target:
        places = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
        points = draw(st.sets(places, max_size=7))
    return source, target, points


def consistent(pair: Sentence, limit: int) -> list[tuple[int, int, int, int]]:
    """Every (f0, f1, e0, e1) that has a point and whose points stay inside, by trying them all."""
    source, target, points = pair
    found = []
    for f0, f1, e0, e1 in product(
        range(len(source)), range(len(source)), range(len(target)), range(len(target))
    ):
        if 0 <= f1 - f0 < limit and 0 <= e1 - e0 < limit:
            inside = [(f0 <= s <= f1, e0 <= t <= e1) for s, t in points]
            if (True, True) in inside and not {(True, False), (False, True)} & set(inside):
                found.append((f0, f1, e0, e1))
    return found


def write(folder: Path, bitext: list[Sentence]) -> list[Path]:
    paths = [folder / name for name in ("f", "e", "a")]
    columns = [
        [" ".join(pair[0]) for pair in bitext],
        [" ".join(pair[1]) for pair in bitext],
        [" ".join(f"{s}-{t}" for s, t in pair[2]) for pair in bitext],
    ]
    for path, lines in zip(paths, columns, strict=True):
        path.write_text("".join(line + "\n" for line in lines))
    return paths


@settings(deadline=None, max_examples=60)
@given(st.lists(sentence_pairs(), max_size=5), st.integers(1, 5))
def test_extraction_is_its_definition(bitext: list[Sentence], limit: int) -> None:
    expected: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    sentences: dict[tuple[tuple[str, ...], tuple[str, ...]], set[int]] = {}
    for number, pair in enumerate(bitext):
        for f0, f1, e0, e1 in consistent(pair, limit):
            key = tuple(pair[0][f0 : f1 + 1]), tuple(pair[1][e0 : e1 + 1])
            expected[key] += 1
            sentences.setdefault(key, set()).add(number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write(folder, bitext)
        options = PhraseExtractOptions(max_length=limit, limit=0, threads=2)
        extract(*files, folder / "rules.bin", options)
        rules = list(RuleTable.open(folder / "rules.bin"))
    assert Counter({(r.source, r.target): int(r.counts.joint) for r in rules}) == expected
    source_counts: Counter[tuple[str, ...]] = Counter()
    target_counts: Counter[tuple[str, ...]] = Counter()
    for (source, target), count in expected.items():
        source_counts[source] += count
        target_counts[target] += count
    for rule in rules:
        key = rule.source, rule.target
        assert rule.counts.source == source_counts[rule.source]
        assert rule.counts.target == target_counts[rule.target]
        assert math.exp(rule.scores[2]) == pytest.approx(expected[key] / source_counts[rule.source])
        assert math.exp(rule.scores[0]) == pytest.approx(expected[key] / target_counts[rule.target])
        only = sentences[key]
        assert rule.sentence == (min(only) if len(only) == 1 else None)
        assert sum(math.exp(score) for score in rule.scores[4:7]) == pytest.approx(1)
        assert sum(math.exp(score) for score in rule.scores[7:]) == pytest.approx(1)


@settings(deadline=None, max_examples=30)
@given(st.lists(sentence_pairs(), max_size=4), st.booleans())
def test_text_and_back(bitext: list[Sentence], reordering: bool) -> None:
    bitext = [
        ([w.replace("|", "p") for w in f], [w.replace("|", "p") for w in e], a)
        for f, e, a in bitext
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write(folder, bitext)
        text = TextExport(folder / "pt.gz", folder / "rt.gz" if reordering else None)
        options = PhraseExtractOptions(limit=0, memory=Size(0), threads=1)
        extract(*files, folder / "rules.bin", options, export=text)
        read_table(folder / "pt.gz", text.reordering_table, output=folder / "back.bin")
        first, back = RuleTable.open(folder / "rules.bin"), RuleTable.open(folder / "back.bin")
        assert len(first) == len(back)
        width = len(back.columns) if len(back) else 0
        originals = {(rule.source, rule.target): rule for rule in first}
        for rule in back:
            original = originals[rule.source, rule.target]
            assert rule.alignment == original.alignment
            assert rule.counts == original.counts
            assert rule.scores == pytest.approx(original.scores[:width], abs=1e-5)
