"""`hopefear world` and `hopefear demo`: files, reports, bad options."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hopefear.cli import main
from hopefear.text import world

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


def test_world_for_people(hopefear: Run, tmp_path: Path) -> None:
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
    done = hopefear("world", "-o", tmp_path / "w", *SIZES)  # before the work: no line of progress
    assert done.returncode == 2
    assert str(tmp_path / "w") in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "w").read_text() == "mine"


def test_demo_tells_its_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(world, "generate", partial(world.generate, train=200, dev=12, test=12))
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 0
    told = capsys.readouterr().out
    assert told.count("Example ") == 3
    assert told.count("    = ") == 12
    assert all(f"\n{number}. " in "\n" + told for number in range(1, 6))
    assert {p.name for p in (tmp_path / "demo" / "world").iterdir()} == FILES
    first = (tmp_path / "demo" / "world" / "train.zh").read_text(encoding="utf-8").splitlines()[0]
    assert first == "Bushi yu Shalong juxing le huitan ."


def test_demo_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(world, "generate", partial(world.generate, train=20, dev=30, test=9))
    assert main(["demo", "-o", str(tmp_path / "demo"), "--json", "--seed", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["steps"]["world"]["seed"] == 2
    assert report["steps"]["world"]["train"]["sentences"] == 20
    assert len(report["steps"]["world"]["examples"]) == 3
    assert report["steps"]["translate"]["sentences"] == 9
    assert len((tmp_path / "demo" / "test.out").read_text().splitlines()) == 9
    assert len(report["steps"]["report"]["systems"]) == len(report["steps"]["tune"]["tuners"])
    assert "</html>" in (tmp_path / "demo" / "report.html").read_text()
