"""Hierarchical rules and fractional counts are those of Moses's extract-rules, line by line."""

from __future__ import annotations

import gzip
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from hopefear.rules.cdec import import_grammar, read_grammar, write_grammar
from hopefear.rules.extract import extract
from hopefear.rules.hiero import HieroExtractOptions, Occurrence, rules_of
from hopefear.rules.table import RuleTable

TOLERANCE = 1e-5  # Moses sums single floats and prints six digits
# Source and target as Moses writes them, links of words and nonterminals.
Key = tuple[tuple[str, ...], tuple[str, ...], frozenset[tuple[int, int]]]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "moses" / "hiero"


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def moses_symbols(side: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("[X][X]" if symbol.startswith("[X,") else symbol for symbol in side)


def moses_key(rule: Occurrence) -> Key:
    places = {symbol: at for at, symbol in enumerate(rule.source) if symbol.startswith("[X,")}
    links = {(places[s], at) for at, s in enumerate(rule.target) if s in places}
    links.update(rule.alignment)
    return moses_symbols(rule.source), moses_symbols(rule.target), frozenset(links)


def moses_lines(golden: Path) -> dict[Key, list[float]]:
    """Rule -> its counts, one for each sentence, sorted."""
    found = defaultdict(list)
    with gzip.open(golden / "extract.sorted.gz", "rt", encoding="utf-8") as file:
        for line in file:
            source, target, links, count = (field.split() for field in line.split("|||")[:4])
            assert source.pop() == target.pop() == "[X]"
            points = frozenset((int(f), int(e)) for f, e in (link.split("-") for link in links))
            found[tuple(source), tuple(target), points].append(float(count[0]))
    return {key: sorted(counts) for key, counts in found.items()}


def test_every_occurrence(golden: Path) -> None:
    ours = defaultdict(list)
    for source, target, points in zip(
        *(lines(golden / name) for name in ("train.fr", "train.en", "train.gdfa")), strict=True
    ):
        alignment = [(int(f), int(e)) for f, e in (point.split("-") for point in points.split())]
        sums: dict[Key, float] = defaultdict(float)
        for rule in rules_of(source.split(), target.split(), alignment):
            sums[moses_key(rule)] += rule.weight
        for key, count in sums.items():
            ours[key].append(count)
    theirs = moses_lines(golden)
    assert sum(map(len, theirs.values())) == 43618
    assert ours.keys() == theirs.keys()
    assert all(len(ours[key]) == len(counts) for key, counts in theirs.items())
    np.testing.assert_allclose(
        [count for key in theirs for count in sorted(ours[key])],
        [count for counts in theirs.values() for count in counts],
        rtol=TOLERANCE,
    )


def test_the_table_adds_them_up(golden: Path, tmp_path: Path) -> None:
    files = [golden / name for name in ("train.fr", "train.en", "train.gdfa")]
    report = extract(*files, tmp_path / "rules.bin", HieroExtractOptions(limit=0))
    assert report["occurrences"] == 43618
    table = RuleTable.open(tmp_path / "rules.bin")
    joint: dict[tuple[object, ...], float] = defaultdict(float)
    by_source: dict[tuple[str, ...], float] = defaultdict(float)
    for (source, target, points), counts in moses_lines(golden).items():
        places = [at for at, symbol in enumerate(source) if symbol == "[X][X]"]
        numbers = {e: places.index(f) for f, e in points if f in places}
        words = tuple(f"[X,{numbers[e] + 1}]" if e in numbers else s for e, s in enumerate(target))
        joint[source, words] += sum(counts)
        by_source[source] += sum(counts)
    assert len(table) == len(joint)
    rows = []
    for rule in table:
        source = moses_symbols(rule.source)
        count = joint[source, rule.target]
        rows.append((rule.counts.joint, count, math.exp(rule.scores[2]), count / by_source[source]))
    counts, expected_counts, scores, expected_scores = np.array(rows).T
    np.testing.assert_allclose(counts, expected_counts, rtol=TOLERANCE)
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-4)


def test_grammars_of_cdec(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "golden" / "cdec" / "grammars").glob("*.gz"))
    grammars = [read_grammar(path) for path in files]
    assert sum(map(len, grammars)) == 107923
    arities = [0, 0, 0]
    for grammar in grammars[:5]:
        for rule in grammar:
            arities[sum(1 for symbol in rule.source if symbol.startswith("[X,"))] += 1
    text = "".join(gzip.decompress(path.read_bytes()).decode() for path in files[:5])
    sources = [line.split(" ||| ")[1] for line in text.splitlines()]
    assert arities == [sum(1 for s in sources if s.count("[X,") == n) for n in range(3)]
    assert grammars[0].columns == (
        *("EgivenFCoherent", "SampleCountF", "CountEF", "MaxLexFgivenE", "MaxLexEgivenF"),
        *("IsSingletonF", "IsSingletonFE"),
    )
    # Through a file and through text, nothing is lost.
    import_grammar(files[0], output=tmp_path / "rules.bin")
    kept = list(grammars[0])
    assert list(RuleTable.open(tmp_path / "rules.bin")) == kept
    write_grammar(grammars[0], tmp_path / "again.gz")
    assert list(read_grammar(tmp_path / "again.gz")) == kept
