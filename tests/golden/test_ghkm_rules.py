"""String-to-tree rules equal those of Moses's extract-ghkm; scores equal those of its tables."""

from __future__ import annotations

import gzip
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hopefear.rules.extract import extract
from hopefear.rules.ghkm import GhkmExtractOptions, rules_of
from hopefear.rules.table import RuleTable
from hopefear.syntax.tree import read_trees

pytestmark = pytest.mark.engine
UNLIMITED = {"composed": False, "max_scope": 1000}
# Name of a file of rules, and the options that make the same rules.
MODES: dict[str, dict[str, Any]] = {
    "minimal": UNLIMITED,
    "minimal.scope3": {"composed": False},
    "minimal.unary": {**UNLIMITED, "unary": True},
    "composed": {},
    "composed.unary": {"unary": True},
    "composed.scope1": {"max_scope": 1},
    "composed.scope2": {"max_scope": 2},
    "composed.scopeall": {"max_scope": 1000},
    "composed.d2s2n10": {"max_depth": 2, "max_size": 2, "max_nodes": 10},
    "composed.d2s2n6": {"max_depth": 2, "max_size": 2, "max_nodes": 6},
    "composed.nodes8": {"max_nodes": 8},
    "composed.d4s4n20": {"max_depth": 4, "max_size": 4, "max_nodes": 20},
}


def lines_of(path: Path) -> list[str]:
    packed = path.with_name(path.name + ".gz")
    if packed.exists():
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            return file.read().splitlines()
    return path.read_text(encoding="utf-8").splitlines()


def moses_line(number: int, rule: Any) -> str:
    """A rule of ours as a line of extract-ghkm."""

    def side(words: tuple[str, ...]) -> str:
        return " ".join(re.sub(r"^\[(\S+),\d+\]$", r"[X][\1]", word) for word in words)

    places = [i for i, word in enumerate(rule.source) if re.fullmatch(r"\[\S+,\d+\]", word)]
    links = [(f, e) for f, e in rule.alignment]
    for e, word in enumerate(rule.target):
        if match := re.fullmatch(r"\[\S+,(\d+)\]", word):
            links.append((places[int(match[1]) - 1], e))
    links.sort(key=lambda link: (link[1], link[0]))
    alignment = " ".join(f"{f}-{e}" for f, e in links)
    fragment, leaves = [], 0
    for token in rule.fragment.split(" "):
        if token.startswith("("):
            fragment.append(token.replace("(", "["))
            continue
        word = rule.target[leaves]
        match = re.fullmatch(r"\[(\S+),(\d+)\]", word)
        closing = len(token) - len(f"[{match[2]}]" if match else word)
        fragment.append((f"[{match[1]}]" if match else word) + "]" * closing)
        leaves += 1
    return (
        f"{side(rule.source)} [X] ||| {side(rule.target)} [{rule.label}] ||| {alignment} ||| "
        f"{number} ||| 1 ||| {{{{Tree {' '.join(fragment)}}}}}"
    )


TINY = {"minimal", "minimal.scope3", "minimal.unary", "composed", "composed.unary"}
CASES = [("tiny", mode) for mode in (*sorted(TINY), "composed.d2s2n6")] + [
    (corpus, mode) for corpus in ("captions", "bible") for mode in MODES if "n6" not in mode
]


@pytest.mark.parametrize(("corpus", "mode"), CASES)
def test_rules_equal_those_of_moses(corpus: str, mode: str, shared: Path) -> None:
    folder = shared / "golden/ghkm" / corpus
    path = folder / mode if corpus == "tiny" else folder / "extract" / mode
    expected: Counter[str] = Counter()
    for line in lines_of(path):
        expected[plain(line)] += 1
    options = GhkmExtractOptions(**MODES[mode])
    found: Counter[str] = Counter()
    sources = (folder / "source").read_text().splitlines()
    alignments = (folder / "alignment").read_text().splitlines()
    trees = read_trees(folder / "trees.penn")
    for number, (words, tree, points) in enumerate(zip(sources, trees, alignments, strict=True), 1):
        if tree is None:
            continue
        pairs = [tuple(map(int, point.split("-"))) for point in points.split()]
        for rule in rules_of(words.split(), str(tree), pairs, options):
            found[plain(moses_line(number, rule))] += 1
    missing, surplus = expected - found, found - expected
    assert not missing, f"{missing.total()} missing, {surplus.total()} surplus"
    assert not surplus
    assert found.total() > 50


def plain(line: str) -> str:
    """A line without the escapes of brackets in words, which the peer's trees do not have."""
    return line.replace("-LRB-", "(").replace("-RRB-", ")")


@pytest.mark.parametrize("mode", ["minimal.scope3", "composed"])
@pytest.mark.parametrize("corpus", ["captions", "bible"])
def test_scores_equal_those_of_moses(corpus: str, mode: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "golden/ghkm" / corpus
    options = GhkmExtractOptions(limit=0, trees=folder / "trees.penn", threads=2, **MODES[mode])
    extract(
        folder / "source", folder / "target", folder / "alignment", tmp_path / "rules.bin", options
    )
    table = RuleTable.open(tmp_path / "rules.bin")
    ours = {}
    for rule in table:
        line = moses_line(1, rule_with_text(rule))
        source, target, alignment = line.split(" ||| ")[:3]
        ours[source, target, nonterminals(source, alignment)] = rule
    lines = lines_of(folder / "tables" / f"{mode}.plain")
    assert len(lines) == len(ours)
    for line in lines:
        source, target, scores, alignment, counts = line.split(" ||| ")[:5]
        rule = ours[source, target, nonterminals(source, alignment)]
        expected = [float(score) for score in scores.split()]
        found = [math.exp(score) for score in rule.scores[:4]]
        assert found == pytest.approx(expected, rel=1e-4), line
        assert tuple(rule.counts) == tuple(map(float, counts.split()))


def nonterminals(source: str, alignment: str) -> tuple[str, ...]:
    """The links between nonterminals."""
    words = source.split()
    links = (
        link for link in alignment.split() if words[int(link.split("-")[0])].startswith("[X][")
    )
    return tuple(sorted(links))


def rule_with_text(rule: Any) -> Any:
    class Shown:
        source, target, alignment = rule.source, rule.target, rule.alignment
        label, fragment = rule.label, f"(X {rule.target[0]})"

    return Shown
