"""Hierarchical rules of small sentences, and their scores; memory and threads change nothing."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from hopefear.base.config import Size
from hopefear.base.errors import OptionError
from hopefear.decode.system_options import SystemExtractOptions
from hopefear.rules.extract import extract
from hopefear.rules.hiero import HieroExtractOptions, rules_of
from hopefear.rules.table import Rule, RuleTable

pytestmark = pytest.mark.engine


def write(folder: Path, source: list[str], target: list[str], alignment: list[str]) -> list[Path]:
    paths = [folder / "a.fr", folder / "a.en", folder / "a.align"]
    for path, lines in zip(paths, (source, target, alignment), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return paths


def made(folder: Path, *texts: list[str], **options: object) -> RuleTable:
    files = write(folder, *texts)
    extract(*files, folder / "rules.bin", HieroExtractOptions(threads=1, **options))
    return RuleTable.open(folder / "rules.bin")


def by_pair(table: RuleTable) -> dict[tuple[str, str], Rule]:
    return {(" ".join(rule.source), " ".join(rule.target)): rule for rule in table}


def pairs(text: str, other: str, points: str, **options: object) -> dict[tuple[str, str], float]:
    alignment = [(int(f), int(e)) for f, e in (point.split("-") for point in points.split())]
    counts: dict[tuple[str, str], float] = {}
    for rule in rules_of(text.split(), other.split(), alignment, HieroExtractOptions(**options)):
        key = " ".join(rule.source), " ".join(rule.target)
        counts[key] = counts.get(key, 0) + rule.weight
    return counts


def test_inner_phrases_become_nonterminals() -> None:
    assert pairs("a b", "y x", "0-1 1-0") == pytest.approx(
        {
            ("a", "x"): 1,
            ("b", "y"): 1,
            # "a b" shares its count with the rules in which one word is a gap.
            ("a b", "y x"): 1 / 3,
            ("[X,1] b", "y [X,1]"): 1 / 3,
            ("a [X,1]", "[X,1] x"): 1 / 3,
        }
    )
    assert pairs("a b", "y x", "0-1 1-0", counting="whole")["a b", "y x"] == 1


def test_two_nonterminals_are_not_adjacent() -> None:
    rules = pairs("a b c", "x y z", "0-2 1-1 2-0")
    assert ("[X,1] b [X,2]", "[X,2] y [X,1]") in rules
    assert ("[X,1] [X,2] c", "x [X,2] [X,1]") not in rules
    neighbours = pairs("a b c", "x y z", "0-2 1-1 2-0", adjacent=True)
    assert ("[X,1] [X,2] c", "x [X,2] [X,1]") in neighbours
    assert {rule for rule in neighbours if rule[0].count("[X") < 2} == {
        rule for rule in rules if rule[0].count("[X") < 2
    }
    single = pairs("a b c", "x y z", "0-2 1-1 2-0", max_nonterminals=1)
    assert single.keys() == {rule for rule in rules if "[X,2]" not in rule[0]}
    lexical = pairs("a b c", "x y z", "0-2 1-1 2-0", max_nonterminals=0)
    assert lexical.keys() == {rule for rule in rules if "[X" not in rule[0]}
    assert set(lexical.values()) == {1}


def test_limits() -> None:
    text, points = "a b c d", "0-0 1-1 2-2 3-3"
    assert max(len(rule[0].split()) for rule in pairs(text, text, points, max_symbols=2)) == 2
    assert ("a [X,1]", "a [X,1]") in pairs(text, text, points, max_symbols=2)
    assert (
        max(len(rule[0].split()) for rule in pairs(text, text, points, max_span=2, max_symbols=4))
        == 2
    )
    assert ("[X,1] d", "[X,1] d") in pairs(text, text, points, min_hole=3)
    assert ("a [X,1] c", "a [X,1] c") not in pairs(text, text, points, min_hole=2)


def test_unaligned_words_at_the_edges() -> None:
    loose, tight = (
        pairs("a b c", "x y", "0-0 2-1", boundaries=name) for name in ("loose", "tight")
    )
    assert ("a b", "x") in loose
    assert ("[X,1] c", "[X,1] y") in loose
    assert tight.keys() == {
        *(("a", "x"), ("c", "y"), ("a b c", "x y")),
        *(("[X,1] b c", "[X,1] y"), ("a b [X,1]", "x [X,1]")),
    }


def test_a_rule_has_aligned_words() -> None:
    text = ("a b", "x y", "0-0")
    assert ("[X,1] b", "[X,1] y") not in pairs(*text)
    assert ("[X,1] b", "[X,1] y") in pairs(*text, aligned_words=False)


def test_scores_and_counts(tmp_path: Path) -> None:
    table = made(tmp_path, ["a b", "a b", "a"], ["y x", "x y", "z"], ["0-1 1-0", "0-0 1-1", "0-0"])
    assert table.columns == (
        *("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)"),
        *("count(f)", "count(f,e)", "singleton(f)", "singleton(f,e)"),
    )
    rules = by_pair(table)
    rule = rules["a [X,1]", "[X,1] x"]
    scores = dict(zip(table.columns, rule.scores, strict=True))
    assert rule.label == "X"
    assert rule.counts == pytest.approx((1 / 3, 2 / 3, 1 / 3))
    assert rule.alignment == ((0, 1),)
    assert rule.sentence == 0
    assert scores == pytest.approx(
        {
            "p(f|e)": 0,
            "lex(f|e)": 0,  # x is linked to a only
            "p(e|f)": math.log(1 / 2),
            "lex(e|f)": math.log(2 / 3),  # a is x twice, z once
            "count(f)": math.log(1 + 2),
            "count(f,e)": math.log(1 + 1),
            "singleton(f)": 0,
            "singleton(f,e)": 1,
        }
    )
    both = rules["a", "x"]
    assert both.sentence is None
    assert both.counts.joint == 2
    assert dict(zip(table.columns, both.scores, strict=True))["singleton(f,e)"] == 0


def test_a_rule_counts_once_in_a_sentence(tmp_path: Path) -> None:
    table = made(tmp_path, ["a b c"], ["x y z"], ["0-0 1-1 2-2"])
    rule = by_pair(table)["a [X,1]", "x [X,1]"]  # with b, and with b c
    scores = dict(zip(table.columns, rule.scores, strict=True))
    assert scores["count(f,e)"] == pytest.approx(math.log(2))
    assert scores["singleton(f)"] == scores["singleton(f,e)"] == 1
    assert rule.counts.joint > 1 / 3


def test_filters(tmp_path: Path) -> None:
    texts = (["a b", "a c"], ["x y", "x z"], ["0-0 1-1"] * 2)
    every = by_pair(made(tmp_path, *texts))
    kept = by_pair(made(tmp_path, *texts, min_hiero_count=2.0))
    assert ("a [X,1]", "x [X,1]") in kept
    assert ("a b", "x y") in kept
    assert ("[X,1] b", "[X,1] y") in every
    assert ("[X,1] b", "[X,1] y") not in kept
    frequent = by_pair(made(tmp_path, *texts, min_count=2.0))
    assert frequent.keys() == {("a", "x"), ("a [X,1]", "x [X,1]")}
    one = made(tmp_path, ["a", "a", "a"], ["x", "y", "x"], ["0-0"] * 3, limit=1)
    assert [rule.target for rule in one] == [("x",)]


def test_bytes_do_not_depend_on_memory_or_threads(tmp_path: Path) -> None:
    chosen = random.Random(7)
    source, target, alignment = [], [], []
    for _ in range(120):
        words = chosen.choices("abcdefgh", k=chosen.randint(1, 14))
        source.append(" ".join(words))
        target.append(" ".join(word.upper() for word in reversed(words)))
        size = len(words)
        alignment.append(" ".join(f"{i}-{size - 1 - i}" for i in range(size) if i % 5 != 3))
    files = write(tmp_path, source, target, alignment)
    tables = []
    for memory, threads in ((1 << 30, 1), (1 << 20, 1), (1 << 20, 3)):
        output = tmp_path / "rules.bin"
        report = extract(
            *files,
            output,
            HieroExtractOptions(memory=Size(memory), threads=threads),
        )
        assert (report["spilled_bytes"] > 0) == (memory == 1 << 20)
        tables.append(output.read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_options_of_other_systems_are_refused() -> None:
    with pytest.raises(OptionError, match="--max-length is an option of phrase rules"):
        SystemExtractOptions(system="hiero", max_length=5)
    with pytest.raises(OptionError, match="--boundaries is an option of hiero rules"):
        SystemExtractOptions(boundaries="tight")
