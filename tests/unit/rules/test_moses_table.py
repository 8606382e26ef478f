"""Moses's text tables: import, export, and malformed files."""

from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import pytest

from hopefear.base.errors import InputError, OptionError
from hopefear.rules.moses import read_table, write_table
from hopefear.rules.table import RuleTable

pytestmark = pytest.mark.engine

PHRASES = """\
la maison ||| the house ||| 0.5 0.25 1 0.125 ||| 0-0 1-1 ||| 2 1 1 ||| |||
la ||| it ||| 0.1 0.1 0.25 0.1 ||| 0-0 ||| 10 4 1 ||| |||
la ||| the ||| 0.5 0.5 0.75 1.5e-05 ||| 0-0 ||| 6 4 3 ||| |||
"""
REORDERING = """\
la ||| the ||| 0.6 0.2 0.2 0.3 0.3 0.4
la maison ||| the house ||| 0.2 0.2 0.6 0.3 0.3 0.4
"""


def test_import(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text(PHRASES)
    (tmp_path / "rt").write_text(REORDERING)
    report = read_table(tmp_path / "pt", tmp_path / "rt", output=tmp_path / "rules.bin")
    assert report == {
        "rules": 3,
        "source_sides": 2,
        "over_limit": 0,
        "without_reordering": 1,
        "too_long": 0,
    }
    table = RuleTable.open(tmp_path / "rules.bin")
    best, other = table.lookup(["la"])
    assert best.target == ("the",)
    assert best.scores == pytest.approx(
        [math.log(p) for p in (0.5, 0.5, 0.75, 1.5e-05, 0.6, 0.2, 0.2, 0.3, 0.3, 0.4)]
    )
    assert best.counts == (6, 4, 3)
    assert best.sentence is None
    assert other.scores[4:] == (0,) * 6  # as in Moses without an entry
    assert table.lookup(["la", "maison"])[0].alignment == ((0, 0), (1, 1))


def test_directories_with_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    (folder / "pt").write_text(PHRASES)
    read_table(folder / "pt", output=folder / "rules.bin")
    assert len(RuleTable.open(folder / "rules.bin")) == 3


def test_export_restores_the_imported_text(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text("".join(sorted(PHRASES.splitlines(keepends=True))))
    (tmp_path / "rt").write_text("".join(sorted(REORDERING.splitlines(keepends=True))))
    read_table(tmp_path / "pt", output=tmp_path / "rules.bin")
    write_table(RuleTable.open(tmp_path / "rules.bin"), tmp_path / "out.gz")
    lines = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines()
    assert sorted(lines) == sorted(PHRASES.splitlines())
    assert lines[0].startswith("la maison")  # a source side follows those that it is a prefix of
    with pytest.raises(OptionError, match="no reordering scores"):
        write_table(RuleTable.open(tmp_path / "rules.bin"), tmp_path / "o", tmp_path / "r")


def test_names_limits_and_fewer_fields(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text("a ||| x ||| 0.5 0\na ||| y ||| 0.75 1\nb|||z|||1 1\n")
    output = tmp_path / "rules.bin"
    read_table(tmp_path / "pt", output=output, columns=["TM_0", "TM_1"], limit=1)
    table = RuleTable.open(output)
    assert table.columns == ("TM_0", "TM_1")
    assert [rule.target for rule in table] == [("y",), ("z",)]
    assert table.lookup(["b"])[0].counts == (0, 0, 0)
    read_table(tmp_path / "pt", output=output)
    assert RuleTable.open(output).columns == ("score0", "score1")
    assert RuleTable.open(output).lookup(["a"])[1].scores[1] == -100
    with pytest.raises(InputError, match="2 scores, but 1 names"):
        read_table(tmp_path / "pt", output=output, columns=["TM_0"])
    with pytest.raises(OptionError, match="not a feature name"):
        read_table(tmp_path / "pt", output=output, columns=["TM 0", "TM_1"])


def test_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text("")
    assert read_table(tmp_path / "pt", output=tmp_path / "rules.bin")["rules"] == 0
    assert len(RuleTable.open(tmp_path / "rules.bin")) == 0


BAD = [
    ("a ||| x\n", r"pt:1: expected 'source \|\|\| target \|\|\| scores …', found 2 fields"),
    ("a ||| x ||| 1 1\nb ||| y ||| 1\n", "pt:2: expected 2 scores, found 1"),
    ("a ||| x ||| 1 -1\n", "pt:1: '-1' is not a probability"),
    ("a ||| x ||| nan\n", "pt:1: 'nan' is not a probability"),
    ("a ||| x ||| 1e\n", "pt:1: '1e' is not a probability"),
    ("a ||| x ||| 1e400\n", "pt:1: '1e400' is not a probability"),
    ("a ||| x ||| \n", "pt:1: expected 1 scores, found 0"),
    ("a ||| x ||| 1 ||| 0-1\n", "pt:1: point 0-1 is outside"),
    ("a ||| x ||| 1 ||| 0-0 ||| 1 x\n", "pt:1: 'x' is no count"),
    ("a ||| x ||| 1 ||| 0-0 ||| 1e39 1 1\n", "pt:1: '1e39' is no count"),
    (" ||| x ||| 1\n", "pt:1: the source phrase is empty"),
    ("a ||| ||| 1\n", "pt:1: the target phrase is empty"),
    ("a " * 300 + "||| x ||| 1\n", "pt:1: a phrase of 300 words"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_phrase_tables(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "pt", output=tmp_path / "rules.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["pt"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ||| x ||| 1 1\n", r"rt:1: expected 3 scores \(msd-backward\) or 6"),
        ("a ||| 1 1 1\n", "rt:1: .* found 2 fields; .* target phrase if its type has fe"),
        ("a ||| x ||| 1 1 1\nb ||| x ||| 1 1\n", "rt:2: expected 3 scores, found 2"),
    ],
)
def test_bad_reordering_tables(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pt").write_text(PHRASES)
    (tmp_path / "rt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "pt", tmp_path / "rt", output=tmp_path / "rules.bin")


def test_reordering_scores_of_the_source_side(tmp_path: Path) -> None:
    pairs = ("a b ||| x", "a ||| x", "a ||| \x01", "b ||| x")
    (tmp_path / "pt").write_text("".join(f"{pair} ||| 1\n" for pair in pairs))
    (tmp_path / "rt").write_text("b ||| 0.5 0.5\na ||| 0.25 0.75\na ||| 0.125 0.875\n")
    report = read_table(
        tmp_path / "pt",
        tmp_path / "rt",
        output=tmp_path / "rules.bin",
        columns=["t"],
        reordering_columns=["m", "o"],
        reordering_by_source=True,
    )
    assert report["without_reordering"] == 1
    table = RuleTable.open(tmp_path / "rules.bin")
    assert [rule.scores[1] for rule in table.lookup(["a"])] == [pytest.approx(math.log(0.125))] * 2
    assert table.lookup(["b"])[0].scores[2] == pytest.approx(math.log(0.5))
    assert table.lookup(["a", "b"])[0].scores[1:] == (0, 0)


def test_sparse_features_are_not_dropped_in_silence(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text("a ||| x ||| 1 ||| 0-0 ||| 1 1 1 ||| dom_news 1 |||\n")
    with pytest.raises(InputError, match="pt:1: sparse features 'dom_news 1' in the sixth field"):
        read_table(tmp_path / "pt", output=tmp_path / "rules.bin")


def test_long_phrases(tmp_path: Path) -> None:
    (tmp_path / "pt").write_text("a b c ||| x ||| 1\na b ||| y ||| 1\n")
    report = read_table(tmp_path / "pt", output=tmp_path / "rules.bin", longest_source=2)
    assert (report["rules"], report["too_long"]) == (1, 1)
