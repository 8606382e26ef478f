"""`hopefear world`: files, reports, bad options."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.syntax.tree import read_trees

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SIZES = ("--train", "60", "--dev", "10", "--test", "12")
FILES = {
    *("train.zh", "train.en", "train.doc", "dev.zh", "dev.doc", "test.zh", "test.doc"),
    *(f"{part}.en.{i}" for part in ("dev", "test") for i in range(4)),
}


def test_world_writes_its_files_and_reports(hopefear: Run, tmp_path: Path) -> None:
    done = hopefear("world", "-o", tmp_path / "w", *SIZES, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["train"]["sentences"] == 60
    assert report["dev"]["sentences"] == 10
    assert report["test"]["references"] == 4
    assert {p.name for p in (tmp_path / "w").iterdir()} == FILES
    for name in FILES:
        part = name.split(".")[0]
        text = (tmp_path / "w" / name).read_text(encoding="utf-8")
        assert len(text.splitlines()) == report[part]["sentences"], name
        assert all(line == " ".join(line.split()) for line in text.splitlines())


def test_same_seed_same_bytes(hopefear: Run, tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert hopefear("world", "-o", tmp_path / name, *SIZES, "--seed", seed).returncode == 0
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / "dev.zh").read_bytes() != (tmp_path / "c" / "dev.zh").read_bytes()


def test_trees_of_the_english_texts(hopefear: Run, tmp_path: Path) -> None:
    assert hopefear("world", "-o", tmp_path / "a", *SIZES).returncode == 0
    assert hopefear("world", "-o", tmp_path / "b", *SIZES, "--trees").returncode == 0
    trees = {p.name for p in (tmp_path / "b").iterdir()} - FILES
    assert trees == {f"{name}.trees" for name in FILES if ".en" in name}
    for name in FILES:  # the texts are the same with trees and without
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for name in trees:
        texts = (tmp_path / "b" / name.removesuffix(".trees")).read_text().splitlines()
        for tree, text in zip(read_trees(tmp_path / "b" / name), texts, strict=True):
            assert tree is not None
            assert " ".join(tree.words) == text
            assert tree.labels[0] == "TOP"


def test_report_as_text(hopefear: Run, tmp_path: Path) -> None:
    done = hopefear("world", "-o", tmp_path, *SIZES)
    assert "words not in train" in done.stdout
    assert "sentences by topic: politics" in done.stdout
    assert "make the world" in done.stderr
    assert "make the world" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--train", "-1"], "--train: -1 is out of range; give a whole number of at least 0"),
        (["--dev", "many"], "--dev"),
        (["--trian", "5"], "unknown option '--trian'; did you mean '--train'?"),
    ],
)
def test_bad_options(hopefear: Run, tmp_path: Path, words: list[str], message: str) -> None:
    done = hopefear("world", "-o", tmp_path / "w", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "w").exists()


def test_a_file_where_the_directory_should_be(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "w").write_text("mine")
    done = hopefear("world", "-o", tmp_path / "w", *SIZES)  # refused before any work
    assert done.returncode == 2
    assert str(tmp_path / "w") in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "w").read_text() == "mine"
