"""Cleaning: what is dropped, and that it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.errors import InputError, OptionError
from hopefear.text.clean import CleanRules, clean_files

SOURCE = ["a b", "", "a " * 90, "a", "a b", "même", "x" * 200, " \t ", "a b", "a b c"]
TARGET = ["c d", "x", "c d", "c " * 10, "c d", "même", "c", "x", "c e", "a  b"]


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("a.fr", "a.en", "a.doc")]
    documents = [f"d{i}" for i in range(1, 11)]
    for path, lines in zip(paths, (SOURCE, TARGET, documents), strict=True):
        path.write_text("".join(line + "\n" for line in lines))
    return paths


def test_reasons_counts_and_lines(corpus: list[Path], tmp_path: Path) -> None:
    outputs = [tmp_path / name for name in ("b.fr", "b.en", "b.doc")]
    rules = CleanRules(drop_identical=True, drop_repeated=True)
    report = clean_files(corpus, outputs, rules, log=tmp_path / "log.tsv")
    assert report.to_mapping() == {
        "pairs": 10,
        "kept": 3,
        "dropped": {
            "empty": 2,
            "long": 1,
            "ratio": 1,
            "repeated": 1,
            "identical": 1,
            "word-length": 1,
        },
        "first_lines": {
            "empty": [2, 8],
            "long": [3],
            "ratio": [4],
            "repeated": [5],
            "identical": [6],
            "word-length": [7],
        },
    }
    assert outputs[2].read_text() == "d1\nd9\nd10\n"
    assert outputs[0].read_text() == "a b\na b\na b c\n"
    assert (tmp_path / "log.tsv").read_text().splitlines()[:3] == [
        "2\tempty\t0 and 1 words",
        "3\tlong\t90 and 2 words",
        "4\tratio\t1 and 10 words",
    ]
    assert report.text().startswith("kept 3 of 10 pairs; empty: 2 (line 2, 8); ")


def test_options_off_keep_more(corpus: list[Path], tmp_path: Path) -> None:
    outputs = [tmp_path / "b.fr", tmp_path / "b.en"]
    rules = CleanRules(min_words=0, max_words=100, max_ratio=1000, max_word_length=1000)
    assert clean_files(corpus[:2], outputs, rules).kept == 10
    assert outputs[1].read_bytes() == corpus[1].read_bytes()


def test_borders_are_inclusive() -> None:
    rules = CleanRules(min_words=2, max_words=6, max_ratio=3, max_word_length=3)
    assert rules.fault(["abc"] * 2, ["a"] * 6) is None
    assert rules.fault(["a"], ["a"] * 2) == ("short", "1 and 2 words")
    assert rules.fault(["a"] * 7, ["a"] * 6) == ("long", "7 and 6 words")
    assert CleanRules(max_ratio=2.5).fault(["a"] * 2, ["a"] * 5) is None
    assert CleanRules(max_ratio=2.4).fault(["a"] * 5, ["a"] * 2) == ("ratio", "5 and 2 words")


def test_only_the_first_lines_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n" * 9)
    (tmp_path / "b").write_text("x\n" * 9)
    report = clean_files(
        [tmp_path / "a", tmp_path / "b"], [tmp_path / "c", tmp_path / "d"], CleanRules()
    )
    assert report.lines == {"empty": [1, 2, 3, 4, 5]}
    assert report.text() == "kept 0 of 9 pairs; empty: 9 (line 1, 2, 3, 4, 5, …)"


def test_faults(corpus: list[Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nothing would be left"):
        CleanRules(min_words=9, max_words=3)
    with pytest.raises(OptionError, match="3 input files and 2 output files"):
        clean_files(corpus, corpus[:2], CleanRules())
    corpus[1].write_text("c d\n")
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"a\.fr has 10 lines, .*a\.en has 1 line"):
        clean_files(
            corpus[:2], [tmp_path / "x", tmp_path / "y"], CleanRules(), log=tmp_path / "log"
        )
    assert set(tmp_path.iterdir()) == before


def test_the_log_is_a_file_of_its_own(corpus: list[Path], tmp_path: Path) -> None:
    outputs = [tmp_path / "x", tmp_path / "y"]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for log in (outputs[1], corpus[0]):
        with pytest.raises(OptionError, match="is a file of the corpus; give another name"):
            clean_files(corpus[:2], outputs, CleanRules(), log=log)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
