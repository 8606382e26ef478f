"""Taggers from the command line: chosen in training, kept by the model, used by all commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.text.world import generate, write

Run = Callable[..., subprocess.CompletedProcess[str]]
PLUGIN = ("--plugin", str(Path(__file__).parents[2] / "examples" / "my_tagger.py"))
TEMPLATE = ("--templates", "word-edges:levels=t")
SENTENCE = "Bushi yu Shalong juxing le huitan ."


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagged")
    write(generate(train=200, dev=5, test=1, seed=1), folder)
    (folder / "tags").write_text("Bushi\tNR\nShalong\tNR\njuxing\tVV\n")
    return folder


@pytest.fixture(scope="module")
def train(world: Path, hopefear: Run) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: object, model: str = "model") -> subprocess.CompletedProcess[str]:
        texts = (world / "train.zh", world / "train.en")
        fixed = ("--order", "2", "--max-length", "3", "--tokenized")
        return hopefear("train", *texts, "--model", world / model, *fixed, *words)

    return run


@pytest.fixture(scope="module")
def model(world: Path, train: Run) -> Path:
    done = train("--source-tagger", "form", *PLUGIN)
    assert done.returncode == 0, done.stderr
    return world / "model"


def fired(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert done.returncode == 0, done.stderr
    features = json.loads(done.stdout)["templates"]["word-edges"]["features"]
    return {entry["name"] for entry in features}


def test_features_of_a_sentence(model: Path, hopefear: Run) -> None:
    inspect = ("inspect", model, "--tokenized", *PLUGIN, *TEMPLATE, "--json", "--features")
    assert "word-edges:sp.t+s0.t|<s>|-hi" in fired(hopefear(*inspect, SENTENCE))
    # The same word in another context.
    moved = fired(hopefear(*inspect, "Shalong yu Bushi juxing le huitan ."))
    assert "word-edges:sp.t+s0.t|<s>|-ng" in moved
    assert any("name" in name for name in moved)
    assert not any("|-hi" in name for name in moved)
    assert "tagger form" in hopefear("inspect", model).stdout


def test_learning_with_tags(world: Path, model: Path, hopefear: Run, tmp_path: Path) -> None:
    done = hopefear(
        "tune", "--model", model, "--dev", world / "dev.zh", "--refs", world / "dev.en.0",
        "--train", world / "train.zh", world / "train.en", "--max-examples", 10, "--prefixes", 2,
        "--tokenized", "--tuner", "maxforce", "--iterations", 1, "-o", tmp_path / "run",
        *PLUGIN, *TEMPLATE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    weights = (tmp_path / "run" / "iterations" / "01.tsv").read_text()
    assert "\nword-edges:sp.t+s0.t|" in weights
    words = ("--model", model, "--weights", tmp_path / "run" / "weights.tsv", "--tokenized")
    done = hopefear("translate", *words, *PLUGIN, *TEMPLATE, input=SENTENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_an_unknown_tagger(model: Path, hopefear: Run) -> None:
    translate = ("translate", "--model", model, "--tokenized")
    done = hopefear(*translate, *TEMPLATE, input=SENTENCE)
    assert done.returncode == 2
    assert "model.toml: tagger: unknown tagger 'form'" in done.stderr
    assert "--plugin FILE.py" in done.stderr
    assert done.stderr.count("\n") == 1
    assert hopefear(*translate, input=SENTENCE).returncode == 0, "no template asks for tags"


def test_the_lexicon_tagger(world: Path, train: Run, hopefear: Run) -> None:
    done = train("--source-tagger", "lexicon", "--source-tags", world / "tags", model="lexicon")
    assert done.returncode == 0, done.stderr
    words = ("--tokenized", *TEMPLATE, "--json", "--features", "Bushi juxing")
    features = fired(hopefear("inspect", world / "lexicon", *words))
    assert "word-edges:s1.t+sn.t|NR|VV" in features
    # Another tagger, or none, changes only model.toml.
    done = train("--source-tags", world / "tags", "--json", model="lexicon")
    assert all(step["reused"] for step in json.loads(done.stdout)["steps"].values())
    assert "tagger" not in hopefear("inspect", world / "lexicon").stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [("nobody", "unknown tagger 'nobody'"), ("lexicon", "train with --source-tags FILE")],
)
def test_invalid_options(name: str, message: str, world: Path, train: Run) -> None:
    done = train("--source-tagger", name, model="refused")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (world / "refused").exists()
