"""hopefear forced: reports, files, bad input."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.forest import ForestFile, count

Run = Callable[..., subprocess.CompletedProcess[str]]

SOURCE = ["a b c d e f", "c d a b", "a b c d e g", "", "b a"]
TARGET = ["A B C D E F", "C D A B", "A B C D E G", "", "B A"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    folder = tmp_path_factory.mktemp("forced")
    links = [" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in SOURCE]
    texts = {"s": SOURCE, "t": TARGET, "a": links}
    for name, lines in texts.items():
        (folder / name).write_text("".join(line + "\n" for line in lines))
    result = hopefear(
        "train", folder / "s", folder / "t", "--align", folder / "a", "--tokenized",
        "--model", folder / "model", "--order", "2", "--limit", "0",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder / "model"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A text of four sentences with two references."""
    rows = [
        ("a b c d e f", "A B C D E F", "A B C D E F"),
        ("e f a b", "A B E F", "E F A B"),  # a jump of 2, then one of 4
        ("a b c d e f", "A B C D E X", "X"),  # a prefix of five; nothing
        ("neu a", "neu A", "neu B"),  # an unknown word; nothing
    ]
    paths = tmp_path / "src", tmp_path / "t0", tmp_path / "t1"
    for path, lines in zip(paths, zip(*rows, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in lines))
    return paths


def forced(hopefear: Run, model: Path, *words: str | Path) -> dict:
    result = hopefear("forced", "--model", model, "--tokenized", "--json", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def counts(report: dict) -> tuple[int, ...]:
    names = ("sentences", "reachable_sentences", "reachable_words", "prefix_sentences")
    return tuple(report[name] for name in (*names, "prefix_words", "limit_hits"))


def test_counts(model: Path, hopefear: Run, pair: tuple[Path, ...]) -> None:
    report = forced(hopefear, model, *pair[:2])
    assert counts(report) == (4, 3, 12, 1, 5, 0)
    assert report["words"] == 18
    narrow = forced(hopefear, model, *pair[:2], "--distortion-limit", "3")
    assert counts(narrow) == (4, 2, 8, 1, 5, 0)
    assert counts(forced(hopefear, model, *pair[:2], "--shortest-prefix", "6"))[3:5] == (0, 0)
    few = forced(hopefear, model, *pair[:2], "--max-states", "5")
    assert few["limit_hits"] > 0


def test_several_targets(model: Path, hopefear: Run, pair: tuple[Path, ...]) -> None:
    """Each reference is a pair of its own, or all derivations are found at once (--union)."""
    assert counts(forced(hopefear, model, *pair)) == (8, 5, 22, 1, 5, 0)
    assert counts(forced(hopefear, model, *pair, "--union")) == (4, 3, 12, 1, 5, 0)


def test_files(model: Path, hopefear: Run, pair: tuple[Path, ...], tmp_path: Path) -> None:
    outputs = []
    for threads in ("1", "3"):
        files = [tmp_path / f"{name}{threads}" for name in ("list", "gold", "figures")]
        words = ["-o", files[0], "--gold-out", files[1], "--figures", files[2]]
        words += ["--limits", "0", "2", "-1", "--threads", threads]
        report = forced(hopefear, model, *pair, *words)
        outputs.append([files[0].read_text(), files[1].read_bytes()])
    assert outputs[0] == outputs[1]
    rows = [line.split("\t") for line in outputs[0][0].splitlines()]
    assert [row[:3] for row in rows] == [
        ["1", "1", "full"], ["1", "2", "full"], ["2", "1", "full"], ["2", "2", "full"],
        ["3", "1", "prefix"], ["3", "2", "none"], ["4", "1", "full"], ["4", "2", "none"],
    ]  # fmt: skip
    assert rows[4][3:5] == ["5", "5"]
    gold = ForestFile(files[1])
    assert [forest.id for forest in gold] == ["1.1", "1.2", "2.1", "2.2", "3.1", "4.1"]
    assert [str(count(forest)) for forest in gold] == [row[5] for row in rows if row[5] != "0"]
    for name in ("reachability.svg", "derivations.svg"):
        ET.fromstring((files[2] / name).read_text())
    assert report["lengths"][0]["by_limit"] == {"0": 0.5, "2": 0.5, "6": 0.75, "-1": 0.75}


def test_leaving_out(model: Path, hopefear: Run) -> None:
    """The phrase "a b" is extracted from three training pairs, "f" from one."""
    files = [model.parent / "s", model.parent / "t"]
    assert counts(forced(hopefear, model, *files))[:2] == (5, 5)
    assert counts(forced(hopefear, model, *files, "--leave-out"))[1:] == (3, 6, 2, 10, 0)


def test_it_prints_table_3(model: Path, hopefear: Run, pair: tuple[Path, ...]) -> None:
    result = hopefear("forced", "--model", model, *pair[:2])
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["full", "75.0%", "66.7%"] in lines
    assert ["+prefix", "100.0%", "94.4%"] in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{s}", "{short}"], "short"),
        (["{s}", "{s}", "--weights", "w"], "--table-limit"),
        (["{s}", "{s}", "--limits", "-2"], "--limits -2"),
        (["-", "-"], "stdin"),
        (["{s}", "-", "--weights", "-", "--table-limit", "5"], "stdin"),
        (["{s}", "{s}", "--gold-out", "-"], "--gold-out -: a pool cannot be written to stdout"),
        (["{s}", "no-such-file"], "no-such-file"),
        (["{s}", "{s}", "-o", "-"], "stdout"),
        (["{s}", "{s}", "-o", "no/such/folder"], "no/such"),
    ],
)
def test_bad_input(
    model: Path, hopefear: Run, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "short").write_text("A B\n")
    known = {"s": model.parent / "s", "short": tmp_path / "short"}
    words = [word.format(**known) for word in words]
    result = hopefear("forced", "--model", model, "--json", *words, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.splitlines()[-1]
    assert result.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} == {"short"}
