"""cdec's model with a grammar for each sentence, imported: what the commands make of it."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base import registry
from hopefear.base.weights import Weights
from hopefear.forest.io import read_nbest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    if "hiero" not in registry.names("system"):
        pytest.skip("this version has no hierarchical decoder")
    return shared / "golden" / "cdec"


@pytest.fixture(scope="module")
def model(golden: Path, hopefear: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cdec") / "model"
    words = ["import", golden / "cdec.ini", "--weights", golden / "weights.txt", "--model", made]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    assert "a grammar for each sentence" in result.stdout
    return made


def first_of(path: Path) -> dict[str, tuple[str, float]]:
    """The best of each list."""
    found: dict[str, tuple[str, float]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            id, words, _, score = (part.strip() for part in line.split("|||")[:4])
            found.setdefault(id, (words, float(score)))
    return found


def test_lists(model: Path, golden: Path, hopefear: Run, tmp_path: Path) -> None:
    """Paths of grammars are relative to the input; scores are those of cdec."""
    nbest = tmp_path / "nbest.gz"
    words = ["translate", "--model", model, "--tokenized", "-i", golden / "input.sgm"]
    words += ["-o", tmp_path / "out", "--nbest", "5", "--nbest-out", nbest]
    words += ["--trace", "--trace-alignment", "--threads", "2", "--stats", tmp_path / "stats"]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    assert "warning" not in result.stderr
    ours, theirs = first_of(nbest), first_of(golden / "kbest100.distinct.txt.gz")
    assert list(ours) == list(theirs)
    not_lower = sum(ours[id][1] >= theirs[id][1] - 1e-3 for id in theirs)
    assert not_lower >= 28
    for id, (text, score) in theirs.items():
        if ours[id][0] == text:
            assert ours[id][1] == pytest.approx(score, abs=1e-3)
    for found in read_nbest(nbest):
        names = found.forest.names
        assert names is not None
        known = {names.name(int(feature)) for feature in found.forest.feature_ids}
        assert known >= {"LanguageModel", "WordPenalty", "CountEF", "MaxLexEgivenF"}
    with gzip.open(nbest, "rt", encoding="utf-8") as file:
        first = file.readline().rstrip("\n").split(" ||| ")
    assert first[4].startswith("(S (X ")
    assert first[5].startswith("0-0 1-1")
    assert json.loads((tmp_path / "stats").read_text())["sentences"] == 30


def test_constrained(model: Path, golden: Path, hopefear: Run) -> None:
    line = (golden / "input.sgm").read_text().splitlines()[0].strip()
    wanted = "a group of men load cotton into a truck"
    words = ["translate", "--model", model, "--tokenized"]
    result = hopefear(*words, input=f"{line} ||| {wanted}\n{line} ||| zzz\n", cwd=golden)
    assert result.stdout == f"{wanted}\n\n"
    assert "<stdin>:2: this target cannot be derived" in result.stderr


def test_faults(model: Path, hopefear: Run) -> None:
    words = ["translate", "--model", model, "--tokenized"]
    for line, message in (
        ("un homme", "each line needs a grammar"),
        ('<seg grammar="no.gz"> un </seg>', "no grammar 'no.gz'"),
    ):
        result = hopefear(*words, input=line)
        assert result.returncode == 2
        assert message in result.stderr
    result = hopefear(*words, "--distortion-limit", "3", input="")
    assert "a hiero model has no such option" in result.stderr


def test_tree(model: Path, golden: Path, hopefear: Run) -> None:
    line = (golden / "input.sgm").read_text().splitlines()[1]
    words = ["inspect", model, "--tokenized", "--derivation", line]
    result = hopefear(*words, cwd=golden, env={"COLUMNS": "80"})
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "└─ X " in result.stdout
    assert "WordPenalty" in result.stdout


def test_export_gives_back_the_weights(shared: Path, hopefear: Run, tmp_path: Path) -> None:
    golden = shared / "golden" / "cdec"
    words = ["import", golden / "cdec.ini", "--weights", golden / "weights.txt"]
    assert hopefear(*words, "--model", tmp_path / "model").returncode == 0
    words = ["export", tmp_path / "model", "--format", "cdec", "-o", tmp_path / "there"]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    theirs = dict(Weights.load(golden / "weights.txt").items())
    assert dict(Weights.load(tmp_path / "there" / "weights").items()) == theirs
    ini = (tmp_path / "there" / "cdec.ini").read_text().splitlines()
    original = (golden / "cdec.ini").read_text().replace("../lm3.arpa.gz", "lm.arpa.gz")
    assert set(original.split("\n")) - {""} <= set(ini)
