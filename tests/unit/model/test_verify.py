"""Damage in any file of a model is found, and damage in a large file is never used in silence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.lm import LanguageModel
from hopefear.model.directory import Model
from hopefear.model.train import TrainOptions, train
from hopefear.model.verify import refuse_damaged, verify

pytestmark = pytest.mark.engine
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "t.fr").write_text("La maison est petite\noui , la fleur\n" * 4)
    (tmp_path / "t.en").write_text("The house is small\nyes , the flower\n" * 4)
    options = TrainOptions(order=2, threads=1, folds=2)
    train(tmp_path / "t.fr", tmp_path / "t.en", tmp_path / "m", options)
    return tmp_path / "m"


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def faults(model: Path) -> list[str]:
    return [each.file for each in verify(model) if each.fault]


def test_a_sound_model(model: Path) -> None:
    found = {each.file: each.checked for each in verify(model)}
    assert found["rules.bin"] == found["folds/1/lm.bin"] == "checksums, digest"
    assert found["word-lists.tsv"] == found["casing.target.tsv"] == "digest"
    assert found["work/alignment.txt"] == found["work/source.txt"] == "digest"
    assert found["weights.tsv"] == found["model.toml"] == "format"
    assert faults(model) == []


@pytest.mark.parametrize(
    "name",
    [
        *("rules.bin", "lm.bin", "folds/0/rules.bin", "folds/1/lm.bin", "word-lists.tsv"),
        *("casing.source.tsv", "work/source.txt", "work/alignment.txt"),
    ],
)
def test_a_flipped_bit_anywhere(model: Path, name: str) -> None:
    size = (model / name).stat().st_size
    for at in (0, size // 3, size - 1):
        flip(model / name, at)
        assert faults(model) == [name]
        flip(model / name, at)
    assert faults(model) == []


def test_files_that_are_missing_or_no_weights(model: Path) -> None:
    (model / "word-lists.tsv").unlink()
    (model / "weights.tsv").write_text("lm\tgood\n")
    assert faults(model) == ["weights.tsv", "word-lists.tsv"]
    with pytest.raises(InputError, match=r"2 of \d+ files are damaged: weights.tsv: .*restore"):
        refuse_damaged(model, verify(model))


def test_the_command(model: Path, hopefear: Run) -> None:
    result = hopefear("inspect", model, "--verify", "--json")
    report = json.loads(result.stdout)
    assert "rules.bin" in [each["file"] for each in report["files"]]
    assert "no file is damaged" in hopefear("inspect", model, "--verify").stdout
    assert "checksums" in hopefear("inspect", model / "lm.bin", "--verify").stdout
    flip(model / "folds/0/rules.bin", -1)
    result = hopefear("inspect", model, "--verify")
    assert result.returncode == 2
    assert "folds/0/rules.bin: damaged: checksum of section" in result.stderr


def test_training_repeats_a_step_whose_output_is_damaged(model: Path) -> None:
    """A damaged text of the same size was taken for a finished step."""
    text = (model / "work" / "source.txt").read_bytes()
    flip(model / "work" / "source.txt", 3)
    options = TrainOptions(order=2, threads=1, folds=2)
    inputs = model.parent / "t.fr", model.parent / "t.en"
    report = train(*inputs, model, options)
    assert not report["steps"]["text"]["reused"]
    assert (model / "work" / "source.txt").read_bytes() == text
    assert report["steps"]["rules"]["reused"]
    # A state of an older version has sizes.
    state = json.loads((model / "work" / "steps.json").read_text())
    for step in state.values():
        step["outputs"] = {name: (model / name).stat().st_size for name in step["outputs"]}
    (model / "work" / "steps.json").write_text(json.dumps(state))
    assert all(step["reused"] for step in train(*inputs, model, options)["steps"].values())


def test_a_read_only_model_is_opened(model: Path) -> None:
    before = sorted(path.relative_to(model) for path in model.rglob("*"))
    for path in (model, *model.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    found = Model.load(model)
    _ = found.rules, found.lms
    assert faults(model) == []
    assert sorted(path.relative_to(model) for path in model.rglob("*")) == before
    for path in (model, *model.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


CUT = """
import os, sys
from hopefear.lm import LanguageModel
lm = LanguageModel.load(sys.argv[1])
os.truncate(sys.argv[1], 4096)
print("still here", flush=True)
print(sum(lm.score(word) for word in open(sys.argv[2]).read().split()))
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan handles SIGBUS")
def test_a_model_that_is_cut_while_in_use(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20_000)]
    lines = "".join(f"-5\t{word}\t-0.5\n" for word in words)
    (tmp_path / "lm.arpa").write_text(
        f"\\data\\\nngram 1={len(words) + 3}\nngram 2=1\n\n\\1-grams:\n-9\t<unk>\n-9\t<s>\t-1\n"
        f"-2\t</s>\n{lines}\n\\2-grams:\n-1\tw1 w2\n\n\\end\\\n"
    )
    LanguageModel.load(tmp_path / "lm.arpa").compile(tmp_path / "lm.bin")
    (tmp_path / "words").write_text(" ".join(words))
    result = subprocess.run(
        [sys.executable, "-c", CUT, tmp_path / "lm.bin", tmp_path / "words"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2, signal.Signals(-result.returncode)
    assert result.stdout == "still here\n"
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"hopefear: {tmp_path}/lm.bin: cannot be read any more: it became")
