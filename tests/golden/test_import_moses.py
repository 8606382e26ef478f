"""The tuned model of Moses, imported: what the commands make of it."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.forest import kbest
from hopefear.forest.io import read_nbest
from hopefear.model.directory import Model

Run = Callable[..., subprocess.CompletedProcess[str]]
TOTAL = -4201.88  # of Moses with cube pruning 300


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "moses" / "decode"


@pytest.fixture(scope="module")
def model(golden: Path, hopefear: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moses")
    result = hopefear("import", golden / "moses.ini", "--model", folder / "made", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["rules"]["rules"] == 32427
    return (folder / "made").rename(folder / "moved")


@pytest.fixture(scope="module")
def translated(model: Path, golden: Path, hopefear: Run) -> Path:
    out = model.parent / "translated"
    out.mkdir()
    words = ["translate", "--model", model, "--tokenized", "-i", golden / "input.fr"]
    words += ["-o", out / "text", "--stats", out / "stats.json", "--threads", "2"]
    words += ["--nbest", "10", "--nbest-out", out / "nbest.gz", "--trace", "--trace-alignment"]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    assert "warning" not in result.stderr
    return out


def test_total_score(translated: Path) -> None:
    stats = json.loads((translated / "stats.json").read_text())
    assert (stats["sentences"], stats["source_words"]) == (200, 2755)
    assert TOTAL - 0.01 <= stats["total_score"] <= TOTAL + 1


def test_output_is_near_that_of_moses(translated: Path, golden: Path) -> None:
    ours = (translated / "text").read_text().splitlines()
    theirs = (golden / "output.cube300.en").read_text().splitlines()
    same = sum(a == b.strip() for a, b in zip(ours, theirs, strict=True))
    assert same >= 190


def test_the_lists_are_read_back(translated: Path, model: Path) -> None:
    loaded = Model.load(model)
    weights, decoder = loaded.weights(), loaded.decoder()
    count = 0
    for number, found in enumerate(read_nbest(translated / "nbest.gz")):
        assert found.id == str(number)
        names = found.forest.names
        assert names is not None
        assert {names.name(int(id)) for id in found.forest.feature_ids} == set(decoder.dense)
        again = kbest(found.forest, weights, 10)
        assert sorted((d.score for d in again), reverse=True) == pytest.approx(
            found.scores.tolist(), abs=1e-3
        )
        count += 1
    assert count == 200


def test_the_same_derivations_have_the_same_columns(translated: Path, golden: Path) -> None:
    """Words, segmentation and score of what both lists have."""

    def rows(path: Path) -> dict[tuple[str, ...], float]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            fields = [[part.strip() for part in line.split("|||")] for line in file]
        return {(row[0], row[1], row[4]): float(row[3]) for row in fields}

    ours, theirs = rows(translated / "nbest.gz"), rows(golden / "nbest10.cube300.txt.gz")
    both = ours.keys() & theirs.keys()
    assert len(both) >= 1800
    assert max(abs(ours[key] - theirs[key]) for key in both) < 1e-3


def test_word_alignments(translated: Path, golden: Path) -> None:
    """Every link is inside the segment that it belongs to."""
    with gzip.open(translated / "nbest.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" ||| ") for line in file]
    for row in lines[:200]:
        segments = []
        for part in row[4].split():
            sides = [[int(x) for x in side.split("-")] for side in part.split("=")]
            segments.append([range(side[0], side[-1] + 1) for side in sides])
        for link in row[5].split():
            i, j = map(int, link.split("-"))
            assert any(i in source and j in target for source, target in segments)


def test_cube_pruning_at_twice_the_pop_limit(shared: Path, hopefear: Run, tmp_path: Path) -> None:
    """No sentence of the world scores lower than with Moses's search at half the pop limit."""
    world = shared / "golden" / "world" / "decode"
    ini, model = world / "moses.ini", tmp_path / "model"
    assert hopefear("import", ini, "--model", model).returncode == 0
    first = (world / "input.zh").read_text().splitlines(keepends=True)[:30]
    (tmp_path / "input").write_text("".join(first))
    words = ["translate", "--model", model, "--tokenized", "-i", tmp_path / "input", "-o"]
    words += [tmp_path / "out", "--nbest", "1", "--nbest-out", tmp_path / "nbest"]
    result = hopefear(*words, "--search", "cube", "--beam", "300", "--pop-limit", "600")
    assert result.returncode == 0, result.stderr
    lists = (tmp_path / "nbest").read_text().splitlines()
    ours = [float(line.split(" ||| ")[3]) for line in lists]
    theirs: dict[str, float] = {}
    with gzip.open(world / "nbest.cube300.10.gz", "rt") as lines:
        for line in lines:
            fields = line.split(" ||| ")
            theirs.setdefault(fields[0], float(fields[3]))
    assert len(ours) == len(theirs) == 30
    assert all(a > b - 1e-3 for a, b in zip(ours, theirs.values(), strict=True))
    assert sum(a > b + 1e-3 for a, b in zip(ours, theirs.values(), strict=True)) >= 4


def test_export_equals_the_files_of_moses(
    model: Path, golden: Path, hopefear: Run, tmp_path: Path
) -> None:
    result = hopefear("export", model, "--format", "moses", "-o", tmp_path / "there")
    assert result.returncode == 0, result.stderr
    for ini in (golden, tmp_path / "there"):
        lines = (ini / "moses.ini").read_text().splitlines()
        rows = dict(line.split("= ") for line in lines if "0= " in line)
        assert len(rows) == 7
        weights = {name: list(map(float, text.split())) for name, text in rows.items()}
        if ini == golden:
            theirs = weights
    assert weights == theirs
    for name, columns in (("phrase-table.gz", 3), ("reordering-table.gz", 3)):
        tables = []
        for folder in (golden, tmp_path / "there"):
            with gzip.open(folder / name, "rt") as file:
                lines = sorted(line.split(" ||| ")[:columns] for line in file)
            tables.append(lines)
        assert len(tables[0]) == len(tables[1]) == 32427
        for a, b in zip(*tables, strict=True):
            assert a[:2] == b[:2]
            assert [float(x) for x in a[2].split()] == pytest.approx(
                [float(x) for x in b[2].split()], rel=2e-5
            )
