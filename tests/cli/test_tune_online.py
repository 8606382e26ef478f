"""`hopefear tune` with online tuners, on phrase-based and hierarchical models."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ("--iterations", "2", "--kbest", "20", "--patience", "0", "--threads", "2")


@pytest.fixture(scope="module", params=["phrase", "hiero"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, hopefear: Run
) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    train = ("train", folder / "train.zh", folder / "train.en", "--model", folder / "model")
    more = ("--system", request.param, "--tokenized", "--order", "2")
    for words in (
        ("world", "-o", folder, "--train", "200", "--dev", "10", "--test", "2"),
        (*train, *more),
    ):
        done = hopefear(*words, "--progress", "off")
        assert done.returncode == 0, done.stderr
    return folder


def command(world: Path, run: Path, *more: object) -> list[str]:
    words = ["tune", "--model", world / "model", "--dev", world / "dev.zh", "--tokenized", "--refs"]
    words += [world / f"dev.en.{number}" for number in range(4)]
    return [str(word) for word in [*words, "-o", run, *SMALL, *more]]


def test_leave_out(world: Path, tmp_path: Path, hopefear: Run) -> None:
    text = ("--train", world / "train.zh", world / "train.en", "--max-examples", "5")
    done = hopefear(*command(world, tmp_path / "run", "--tuner", "mira", *text, "--leave-out"))
    assert done.returncode == 0, done.stderr


def test_mira_and_rm(world: Path, tmp_path: Path, hopefear: Run) -> None:
    run = tmp_path / "mira"
    words = ("--tuner", "mira", "--set", "learners=3", "--fix", "lm", "--json")
    done = hopefear(*command(world, run, *words))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tuner"] == "mira"
    assert report["iterations"] == 2
    assert "cost 10 * (1 * bleu-context" in done.stderr
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert records[2]["away_score"] <= records[2]["towards_score"]
    assert {"spread", "active_by_template", "optimise_seconds", "score"} <= records[2].keys()
    lm = {
        line
        for path in (run / "iterations").iterdir()
        for line in path.read_text().splitlines()
        if line.startswith("lm\t")
    }
    assert len(lm) == 1, "it is fixed"

    again = hopefear(*command(world, run, *words, "--resume"))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["dev_bleu"] == report["dev_bleu"]
    shown = hopefear("inspect", run)
    assert shown.returncode == 0, shown.stderr
    assert "a run of mira for bleu" in shown.stdout

    done = hopefear(*command(world, tmp_path / "rm", "--tuner", "rm", "--runs", "2", "--json"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["runs"]) == 2
    assert (tmp_path / "rm" / "run-2" / "weights.tsv").is_file()

    refused = hopefear(*command(world, tmp_path / "no", "--tuner", "rm", "--tie", "words lm"))
    assert refused.returncode == 2
    assert refused.stderr == "hopefear: --tie: rm cannot tie weights; use a batch tuner\n"
    refused = hopefear(*command(world, tmp_path / "no", "--tuner", "mira", "--set", "B=2"))
    assert refused.returncode == 2
    assert "B: applies to step rm-pa or rm-cp" in refused.stderr
