"""`hopefear tune --set search_aware=…`: every tuner with the option, and bad options."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.learn.loop.run import read_metrics

Run = Callable[..., subprocess.CompletedProcess[str]]
#: tuner -> options that make it fast
TUNERS = {
    "mert": ["restarts=2", "kicks=1"],
    "batch-mira": ["passes=10"],
    "pro": ["threshold=0.01"],
    "mira": [],
    "rm": [],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    folder = tmp_path_factory.mktemp("world")
    sizes = ("--train", "300", "--dev", "6", "--test", "1")
    text = (folder / "train.zh", folder / "train.en")
    for words in (
        ("world", "-o", folder, *sizes),
        ("train", *text, "--model", folder / "model", "--order", "2", "--max-length", "4"),
    ):
        done = hopefear(*words)
        assert done.returncode == 0, done.stderr
    return folder


def command(world: Path, run: Path, tuner: str, *options: str) -> list[str | Path]:
    words: list[str | Path] = ["tune", "--model", world / "model", "--dev", world / "dev.zh"]
    words += ["--refs", *(world / f"dev.en.{number}" for number in range(4)), "--tuner", tuner]
    words += ["-o", run, "--iterations", "1", "--kbest", "20"]
    return [*words, "--json", "--threads", "1", "--set", *TUNERS[tuner], *options]


@pytest.mark.parametrize("tuner", TUNERS)
def test_all_bins_are_learned_from(tuner: str, world: Path, tmp_path: Path, hopefear: Run) -> None:
    metrics = {}
    for how in ("off", "potential"):
        done = hopefear(*command(world, tmp_path / how, tuner, f"search_aware={how}"))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tuner"] == tuner
        assert f'search_aware = "{how}"' in (tmp_path / how / "config.toml").read_text()
        metrics[how] = read_metrics(tmp_path / how / "metrics.jsonl")
    what = "updates" if tuner in ("mira", "rm") else "candidates"
    assert metrics["potential"][1][what] > 2 * metrics["off"][1][what]
    learned = {(tmp_path / how / "iterations" / "01.tsv").read_bytes() for how in metrics}
    start = (tmp_path / "off" / "iterations" / "00.tsv").read_bytes()
    assert len(learned | {start}) == 3


@pytest.mark.parametrize("tuner", ["batch-mira", "pro", "rm"])
def test_with_sparse_features(tuner: str, world: Path, tmp_path: Path, hopefear: Run) -> None:
    """With sparse features, future-cost features, and (rm) a relative margin."""
    run = tmp_path / "run"
    words = command(world, run, tuner, "search_aware=potential", "future=true")
    done = hopefear(*words, "--templates", "word-pairs")
    assert done.returncode == 0, done.stderr
    lines = (run / "iterations" / "01.tsv").read_text().splitlines()
    learned = [line for line in lines if line.startswith("word-pairs:") and line[-2:] != "\t0"]
    assert len(learned) > 3


@pytest.mark.parametrize(
    ("tuner", "options", "more", "message"),
    [
        ("mert", ["search_aware=all"], [], "off, partial, potential"),
        ("pro", ["future=true"], [], "future: applies to search_aware"),
        ("batch-mira", ["search_aware=potential", "space=forest"], [], "set space=kbest"),
        ("mira", ["search_aware=partial"], ["--metric", "ter"], "set search_aware=potential"),
    ],
)
def test_invalid_options(
    tuner: str,
    options: list[str],
    more: list[str],
    message: str,
    world: Path,
    tmp_path: Path,
    hopefear: Run,
) -> None:
    done = hopefear(*command(world, tmp_path / "run", tuner, *options), *more)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run" / "weights.tsv").exists()
