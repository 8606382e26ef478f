"""`hopefear parse train|apply|score`, and extraction with trees."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--cycles", "1", "--split-iterations", "3", "--merge-iterations", "1")


@pytest.fixture(scope="module")
def world(hopefear: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    done = hopefear(
        "world", "-o", folder, "--train", "300", "--dev", "20", "--test", "0", "--trees"
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_train_apply_score(hopefear: Run, world: Path, tmp_path: Path) -> None:
    done = hopefear(
        "parse", "train", world / "train.en.trees", "-o", tmp_path / "p", *SMALL, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trees"] == 300
    found = tmp_path / "dev.trees"
    done = hopefear(
        "parse", "apply", tmp_path / "p", "-i", world / "dev.en.0", "-o", found, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sentences"] == 20
    gold = world / "dev.en.0.trees"
    done = hopefear("parse", "score", found, "--gold", gold, "--json")
    report = json.loads(done.stdout)
    assert report["f1"] > 70
    assert {"precision", "recall", "f1", "exact", "sentences"} <= report.keys()
    done = hopefear("parse", "score", gold, "--gold", gold)
    assert "f1         100.00" in done.stdout


def test_stdin_to_stdout(hopefear_process: Run, world: Path, tmp_path: Path) -> None:
    options = [*SMALL, "--lowercase"]
    trees = world / "train.en.trees"
    assert hopefear_process("parse", "train", trees, "-o", tmp_path / "p", *options).returncode == 0
    done = hopefear_process("parse", "apply", tmp_path / "p", input="He slept .\n\n")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("(TOP ")
    assert second == "()"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "missing.trees", "-o", "p"], "missing.trees"),
        (["train", "empty", "-o", "p"], "empty: no trees to learn from"),
        (["train", "bad", "-o", "p"], "bad:2: the tree ends early"),
        (["apply", "nowhere", "-i", "bad"], "nowhere: no parser: parser.bin is missing"),
        (["score", "bad", "--gold", "good"], "bad:2: the tree ends early"),
        (["score", "good", "--gold", "empty"], "good has 1 lines, empty has 2"),
    ],
)
def test_bad_input(hopefear: Run, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "empty").write_text("()\n\n")
    (tmp_path / "bad").write_text("(NN a)\n(S (NN a)\n")
    (tmp_path / "good").write_text("(NN a)\n")
    done = hopefear("parse", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.splitlines()[-1].startswith("hopefear: ")
    assert "internal error" not in done.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("system", ["samt", "tree"])
def test_a_model_with_trees(hopefear: Run, world: Path, tmp_path: Path, system: str) -> None:
    texts = (world / "train.zh", world / "train.en")
    options = ("--system", system, "--tokenized", "--order", "2", "--model", tmp_path / "m")
    done = hopefear("train", *texts, *options)
    assert done.returncode == 2
    assert "--trees is missing" in done.stderr
    trees = ("--trees", world / "train.en.trees")
    done = hopefear("train", *texts, *options, *trees)
    assert done.returncode == 0, done.stderr
    source = world / "dev.zh"
    done = hopefear("translate", "--model", tmp_path / "m", "--tokenized", "-i", source)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20
    done = hopefear("extract", *texts, tmp_path / "m" / "alignment", "--system", system, "-o", "x")
    assert done.returncode == 2
