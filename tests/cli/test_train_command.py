"""`hopefear train` and `hopefear inspect`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.weights import Weights
from hopefear.text import world

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    directory = tmp_path_factory.mktemp("train")
    world.write(world.generate(train=300, dev=1, test=1), directory)
    result = hopefear(
        "train", directory / "train.zh", directory / "train.en", "--model", directory / "model",
        "--tokenized", "--order", "3", "--json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert list(report["steps"]) == ["text", "alignment", "language model", "rules", "word lists"]
    assert all(step["seconds"] >= 0 for step in report["steps"].values())
    return directory / "model"


def test_inspect_describes_a_model_in_a_page(model: Path, hopefear: Run) -> None:
    result = hopefear("inspect", model)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert len(lines) < 40
    for text in ("a phrase model, zh to en", "sentence pairs", "order 3", "source sides", "CPU"):
        assert text in result.stdout


def test_inspect_looks_up_a_phrase(model: Path, hopefear: Run) -> None:
    for path in (model, model / "rules.bin"):
        report = json.loads(hopefear("inspect", path, "--phrase", "Shalong", "--json").stdout)
        rules = report["rules"] if path == model else report
        assert rules["translations"]
        assert "Sharon" in hopefear("inspect", path, "--phrase", "Shalong").stdout
    assert "no rule for 'blah'" in hopefear("inspect", model, "--phrase", "blah").stdout


def test_hierarchical_model_with_folds(model: Path, hopefear: Run, tmp_path: Path) -> None:
    texts = [model.parent / f"train.{side}" for side in ("zh", "en")]
    words = ("train", *texts, "--model", tmp_path / "m", "--tokenized", "--order", "3")
    words = (*words, "--system", "hiero", "--folds", "2", "--max-span", "6")
    result = hopefear(*words, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert list(report["steps"])[-2:] == ["fold 0", "fold 1"]
    assert report["steps"]["fold 0"]["rules"] < report["steps"]["rules"]["rules"]
    again = json.loads(hopefear(*words, "--json").stdout)
    assert all(step["reused"] for step in again["steps"].values())
    shown = hopefear("inspect", tmp_path / "m").stdout
    assert "a hiero model" in shown
    assert "singleton(f,e)" in shown


def test_inspect_detects_the_kind_of_file(model: Path, hopefear: Run, tmp_path: Path) -> None:
    assert json.loads(hopefear("inspect", model / "lm.bin", "--json").stdout)["order"] == 3
    for name in ("w.tsv", "w.bin"):
        Weights({"lm": 0.5, "words": -1.0}).save(tmp_path / name)
        out = hopefear("inspect", tmp_path / name, "--top", "1").stdout
        assert "2 features" in out
        assert "words" in out
        assert "lm " not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("inspect absent", "absent: No such file or directory"),
        ("inspect text.txt", "text.txt:1: expected name<TAB>value"),
        ("inspect .", ".: is no model directory"),
        ("train a.fr b.en --model m", "a.fr: No such file or directory"),
        ("train text.txt text.txt --model m", "no language in the file name"),
        ("train text.txt text.txt --model text.txt --tokenized", "text.txt: is a file"),
        ("train text.txt text.txt --model m --tokenized --system glued", "unknown system 'glued'"),
    ],
)
def test_bad_input(hopefear: Run, tmp_path: Path, words: str, message: str) -> None:
    (tmp_path / "text.txt").write_text("some words\n")
    result = hopefear(*words.split(), "--progress", "off", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "m").exists()
