"""Phrase pairs, scores, orientations and lexical tables are Moses's."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from hopefear.rules.extract import TextExport, extract
from hopefear.rules.moses import read_table, write_table
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.rules.table import RuleTable

TOLERANCE = 1e-4


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def fields(line: str) -> list[str]:
    return [field.strip() for field in line.split("|||")]


def assert_same(ours: list[str], theirs: list[str], tolerance: float) -> None:
    """Line by line: the third field holds numbers that are close, all others are equal."""
    first, second = [fields(line) for line in ours], [fields(line) for line in theirs]
    assert [f[:2] + f[3:] for f in first] == [f[:2] + f[3:] for f in second]
    numbers = [
        np.array([[float(word) for word in f[2].split()] for f in side]) for side in (first, second)
    ]
    np.testing.assert_allclose(*numbers, rtol=tolerance)


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "moses" / "extract"


@pytest.fixture(scope="module")
def made(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phrases")
    names = ("phrase-table.gz", "reordering-table.gz", "lex.f2e.gz", "lex.e2f.gz")
    extract(
        golden / "train.fr",
        golden / "train.en",
        golden / "train.gdfa",
        folder / "rules.bin",
        PhraseExtractOptions(limit=0),
        export=TextExport(*(folder / name for name in names)),
    )
    return folder


@pytest.mark.parametrize("name", ["phrase-table.gz", "reordering-table.gz"])
def test_text_tables(made: Path, golden: Path, name: str) -> None:
    ours, theirs = lines(made / name), lines(golden / name)
    assert len(theirs) == 19852
    assert_same(ours, theirs, TOLERANCE)  # and in the same order


@pytest.mark.parametrize("name", ["lex.f2e.gz", "lex.e2f.gz"])
def test_lexical_tables(made: Path, golden: Path, name: str) -> None:
    assert sorted(lines(made / name)) == sorted(lines(golden / name))


def test_the_binary_table_has_the_same_rules(made: Path, golden: Path) -> None:
    table = RuleTable.open(made / "rules.bin")
    ours = []
    for rule in table:
        scores = " ".join(repr(math.exp(score)) for score in rule.scores[:4])
        links = " ".join(f"{s}-{t}" for s, t in rule.alignment)
        counts = " ".join(f"{count:g}" for count in rule.counts)
        sides = " ".join(rule.source), " ".join(rule.target)
        ours.append(" ||| ".join((*sides, scores, links, counts, "", "")))
        assert rule.sentence is None or rule.counts.joint < 5
    by_sides = [
        sorted(side, key=lambda line: fields(line)[:2])
        for side in (ours, lines(golden / "phrase-table.gz"))
    ]
    assert_same(*by_sides, TOLERANCE)


def test_backward_reordering_is_the_first_half(made: Path, golden: Path, tmp_path: Path) -> None:
    export = TextExport(tmp_path / "pt.gz", tmp_path / "rt.gz")
    options = PhraseExtractOptions(reordering="msd-backward-fe")
    files = (golden / "train.fr", golden / "train.en", golden / "train.gdfa")
    extract(*files, tmp_path / "rules.bin", options, export=export)
    both = [line.rsplit(" ", 3)[0] for line in lines(made / "reordering-table.gz")]
    assert lines(tmp_path / "rt.gz") == both
    assert lines(tmp_path / "pt.gz") == lines(made / "phrase-table.gz")


def test_a_table_of_moses_comes_back_as_it_was(shared: Path, tmp_path: Path) -> None:
    decode = shared / "golden" / "moses" / "decode"
    report = read_table(
        decode / "phrase-table.gz", decode / "reordering-table.gz", output=tmp_path / "rules.bin"
    )
    assert report["without_reordering"] == 0
    table = RuleTable.open(tmp_path / "rules.bin")
    assert len(table) == 32427
    write_table(table, tmp_path / "pt.gz", tmp_path / "rt.gz")
    for name, written in (("phrase-table.gz", "pt.gz"), ("reordering-table.gz", "rt.gz")):
        by_sides = [
            sorted(lines(path), key=lambda line: fields(line)[:2])
            for path in (tmp_path / written, decode / name)
        ]
        assert_same(*by_sides, 1e-5)
