"""`hopefear tune --tuner violation`: learning from the bitext by forced decoding."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def make(folder: Path, hopefear: Run, system: str) -> Path:
    train = ("train", folder / "train.zh", folder / "train.en", "--model", folder / "model")
    for words in (
        ("world", "-o", folder, "--train", "200", "--dev", "10", "--test", "2"),
        (*train, "--system", system, "--tokenized", "--order", "2"),
    ):
        done = hopefear(*words, "--progress", "off")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    return make(tmp_path_factory.mktemp("world"), hopefear, "phrase")


def command(world: Path, run: Path, *more: object, bitext: bool = True) -> list[str]:
    words = ["tune", "--model", world / "model", "--dev", world / "dev.zh", "--tokenized", "--refs"]
    words += [world / f"dev.en.{number}" for number in range(4)]
    if bitext:
        words += ["--train", world / "train.zh", world / "train.en"]
    small = ("--iterations", "2", "--patience", "0", "--threads", "2", "--beam", "10")
    return [str(word) for word in [*words, "-o", run, *small, *more]]


def test_maxforce_on_the_bitext(world: Path, tmp_path: Path, hopefear: Run) -> None:
    words = ("--tuner", "maxforce", "--prefixes", "4", "--templates", "rule-id", "--json")
    done = hopefear(*command(world, tmp_path / "run", *words))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tuner"] == "maxforce"
    assert report["iterations"] == 2
    assert "of 200 sentence pairs" in done.stderr
    assert "are prefixes" in done.stderr
    records = [
        json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    assert records[1]["updates"] > 0
    assert records[1]["active_by_template"]["rule-id"] > 10
    assert records[1]["examples"] > 100
    assert {"invalid", "violation", "updates_by_tenth", "optimise_seconds"} <= records[2].keys()

    again = hopefear(*command(world, tmp_path / "run", *words, "--resume"))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["dev_bleu"] == report["dev_bleu"]
    other = hopefear(*command(world, tmp_path / "run", *words, "--resume", "--prefixes", "5"))
    assert other.returncode == 2
    assert "training.prefixes = 4, now it is 5" in other.stderr


def test_a_file_of_feature_combinations(world: Path, tmp_path: Path, hopefear: Run) -> None:
    combinations = tmp_path / "mine"
    combinations.write_text("s0.w+t0.w\n")
    words = ("--tuner", "maxforce", "--templates", f"word-edges:file={combinations}")
    done = hopefear(*command(world, tmp_path / "run", *words))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / "iterations" / "02.tsv").read_text().splitlines()
    names = [line.split("\t")[0] for line in lines]
    fired = [name for name in names if name.startswith("word-edges:")]
    assert len(fired) > 10
    assert all(name.startswith("word-edges:s0.w+t0.w|") for name in fired)
    combinations.write_text("s0.w+t0.w\nlen+t0.w\n")
    again = hopefear(*command(world, tmp_path / "run", *words, "--resume"))
    assert again.returncode == 2
    assert "len+t0.w" in again.stderr


def test_patterns_in_fix(world: Path, tmp_path: Path, hopefear: Run) -> None:
    words = ("--tuner", "maxforce", "--templates", "rule-id", "--fix")
    refused = hopefear(*command(world, tmp_path / "no", *words, "rule-id:*"))
    assert refused.returncode == 2
    assert "no feature 'rule-id:*'; a pattern only matches features" in refused.stderr
    start = (world / "model" / "weights.tsv").read_text() + "rule-id:.|.\t0.5\n"
    (tmp_path / "start").write_text(start)
    more = ("--weights", tmp_path / "start", "--iterations", "1")
    done = hopefear(*command(world, tmp_path / "run", *words, "rule-id:*", *more))
    assert done.returncode == 0, done.stderr
    assert "--fix 'rule-id:*': holds the 1 features that have a weight" in done.stderr
    assert "rule-id:.|.\t0.5\n" in (tmp_path / "run" / "weights.tsv").read_text()


def test_prefixes_by_the_word_alignment(world: Path, tmp_path: Path, hopefear: Run) -> None:
    links = world / "model" / "work" / "alignment.txt"
    words = ("--tuner", "maxforce", "--prefixes", "4", "--json")
    reports = []
    for name, more in (("any", ()), ("boxes", ("--align", links))):
        done = hopefear(*command(world, tmp_path / name, *words, *more))
        assert done.returncode == 0, done.stderr
        reports.append(json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[1]))
    assert reports[1]["example_words"] < reports[0]["example_words"]
    short = tmp_path / "short.txt"
    short.write_text("0-0\n")
    done = hopefear(*command(world, tmp_path / "other", *words, "--align", short))
    assert done.returncode == 2
    assert "is it for another text?" in done.stderr
    other = tmp_path / "other.txt"
    other.write_text("\n" * 200)
    again = hopefear(*command(world, tmp_path / "boxes", *words, "--resume", "--align", other))
    assert again.returncode == 2
    assert "contents.align" in again.stderr
    words = ("--tuner", "maxforce", "--prefixes", "4", "--align", other)
    done = hopefear(*command(world, tmp_path / "none", *words, bitext=False))
    assert done.returncode == 2
    assert "--align: only with --train" in done.stderr


def test_other_updates_on_the_development_set(world: Path, tmp_path: Path, hopefear: Run) -> None:
    words = ("--tuner", "violation", "--set", "update=early", "eta=0.1", "--json")
    done = hopefear(*command(world, tmp_path / "run", *words, "--prefixes", "2", bitext=False))
    assert done.returncode == 0, done.stderr
    assert "of 40 sentence pairs" in done.stderr, "each reference is one"
    shown = hopefear("inspect", tmp_path / "run")
    assert "update early" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tuner", "mert"), "--train: mert learns from the development set"),
        (("--tuner", "maxforce", "--train", "x"), "--train: 3 files, expected two; give SRC TGT"),
        (("--tuner", "violation", "--set", "update=late"), "give one of early, max-violation"),
        (("--tuner", "mert", "--leave-out"), "--train: mert learns from"),
        (("--tuner", "maxforce", "--align", "x"), "--align: only with --train and --prefixes"),
        (("--tuner", "mira", "--prefixes", "5"), "--prefixes: mira does not use forced decoding"),
    ],
)
def test_invalid_options(
    words: tuple[str, ...], message: str, world: Path, tmp_path: Path, hopefear: Run
) -> None:
    done = hopefear(*command(world, tmp_path / "run", *words))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_hierarchical_models_are_refused(tmp_path: Path, hopefear: Run) -> None:
    world = make(tmp_path / "world", hopefear, "hiero")
    words = command(world, tmp_path / "run", "--tuner", "maxforce")
    at = words.index("--beam")
    for more in ((), ("--decoder", "cat {weights}", "--weights", world / "model" / "weights.tsv")):
        done = hopefear(*words[:at], *words[at + 2 :], *more)
        assert done.returncode == 2
        assert "use a phrase-based model" in done.stderr
