"""Feature templates from the command line: train, tune, translate, inspect, plugins."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.analysis import feature_report as fired
from hopefear.base.weights import Weights
from hopefear.learn.loop.run import read_metrics
from hopefear.text.world import generate, write

Run = Callable[..., subprocess.CompletedProcess[str]]
PLUGIN = Path(__file__).parents[2] / "examples" / "my_features.py"
PAIR = "Bushi yu Shalong juxing le huitan ."
SPARSE = ("word-pairs", "word-context", "target-bigrams", "insertion", "rule-shape")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write(generate(train=400, dev=15, test=5, seed=1), folder)
    for system in ("phrase", "hiero"):
        words = ["train", folder / "train.zh", folder / "train.en", "--tokenized", "--order", "2"]
        words += ["--model", folder / system, "--system", system]
        words += ["--max-length", "4"] if system == "phrase" else []
        done = hopefear(*words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_features_of_a_sentence(system: str, world: Path, hopefear: Run) -> None:
    words = ["inspect", world / system, "--features", PAIR, "--tokenized", "--templates", *SPARSE]
    done = hopefear(*words)
    assert done.returncode == 0, done.stderr
    assert "word-pairs:Bushi|Bush" in done.stdout
    assert "heaviest of" in done.stdout
    report = json.loads(hopefear(*words, "--json").stdout)
    assert list(report["templates"]) == list(SPARSE)
    for name in ("word-pairs", "word-context", "target-bigrams", "rule-shape"):
        template = report["templates"][name]
        assert template["in_forest"] >= template["fired"] == len(template["features"]) > 0
        assert all(entry["name"].startswith(f"{name}:") for entry in template["features"])
    assert "dense" in report["weights"]


def test_tuning_with_templates(world: Path, hopefear: Run, tmp_path: Path) -> None:
    on = ["--templates", "word-pairs", "insertion:size=20", "punctuation", "sentence-place:parts=2"]
    on += ["--plugin", str(PLUGIN)]
    words = ["tune", "--model", world / "phrase", "--dev", world / "dev.zh", "--refs"]
    words += [world / "dev.en.0", "--tuner", "batch-mira", "-o", tmp_path / "run", "--tokenized"]
    words += ["--iterations", "2", "--kbest", "20", "--set", "passes=5"]
    done = hopefear(*words, *on)
    assert done.returncode == 0, done.stderr
    weights = (tmp_path / "run" / "weights.tsv").read_text()
    assert "\nword-pairs:" in weights
    assert "\nsentence-place:1|short\t" in weights
    config = (tmp_path / "run" / "config.toml").read_text()
    assert "parts = 2" in config
    assert "size = 20" in config

    translate = ["translate", "--model", world / "phrase", "--tokenized", "--weights"]
    translate += [tmp_path / "run" / "weights.tsv"]
    plain, sparse = (hopefear(*translate, *more, input=PAIR) for more in ([], on))
    assert plain.returncode == sparse.returncode == 0, sparse.stderr
    assert "templates not in use: " in plain.stderr
    assert "word-pairs" in plain.stderr
    assert "templates" not in sparse.stderr

    again = hopefear(*words, *on[:2], "--resume")
    assert again.returncode == 2, "another model"

    inspect = hopefear("inspect", tmp_path / "run" / "weights.tsv", "--json")
    groups = json.loads(inspect.stdout)["templates"]
    assert {"word-pairs", "sentence-place"} <= groups.keys()
    assert groups["word-pairs"]["active"] >= len(groups["word-pairs"]["heaviest"]) > 0


@pytest.mark.parametrize(
    ("tuner", "options"),
    [("mira", ["rate=adagrad", "learners=2", "top=30"]), ("pro", ["samples=200"])],
)
def test_sparse_features_from_tuned_dense_weights(
    tuner: str, options: list[str], world: Path, hopefear: Run, tmp_path: Path
) -> None:
    words = ["tune", "--model", world / "phrase", "--dev", world / "dev.zh", "--refs"]
    words += [world / "dev.en.0", "--tuner", tuner, "--tokenized", "--iterations", "2"]
    words += ["--kbest", "20"]
    done = hopefear(*words, "-o", tmp_path / "dense", "--json")
    assert done.returncode == 0, done.stderr
    tuned = json.loads(done.stdout)["dev_bleu"]
    sparse = ["-o", tmp_path / "sparse", "--weights", tmp_path / "dense" / "weights.tsv", "--set"]
    sparse += [*options, "--min-sentences", "2", "--templates", "word-pairs", "rule-id"]
    done = hopefear(*words, *sparse, "--json")
    assert done.returncode == 0, done.stderr
    first, *_, last = read_metrics(tmp_path / "sparse" / "metrics.jsonl")
    assert first["bleu"] == pytest.approx(tuned), "it begins where the other one ended"
    assert last["active_features"] > first["active_features"]
    weights = (tmp_path / "sparse" / "iterations" / "02.tsv").read_text().splitlines()
    learned = [line for line in weights if ":" in line and float(line.split("\t")[1])]
    assert learned
    if tuner == "mira":
        assert len(learned) <= 30
        assert last["dropped_features"] >= 0
        assert last["learnable_features"] > 12


def test_templates_of_the_model(world: Path, hopefear: Run, tmp_path: Path) -> None:
    model = Path(shutil.copytree(world / "phrase", tmp_path / "model"))
    with (model / "model.toml").open("a") as file:
        file.write("\n[features.insertion]\nsize = 3\n\n[features.rule-shape]\nruns = true\n")
    words = ["inspect", model, "--features", PAIR, "--tokenized", "--json"]
    assert list(json.loads(hopefear(*words).stdout)["templates"]) == ["insertion", "rule-shape"]
    report = json.loads(hopefear(*words, "--templates", "rule-shape").stdout)
    shapes = [entry["name"] for entry in report["templates"]["rule-shape"]["features"]]
    assert shapes == ["rule-shape:1|1"], "with the model's options"
    assert json.loads(hopefear(*words, "--templates").stdout)["templates"] == {}


def test_models_without_lists(world: Path, hopefear: Run, tmp_path: Path) -> None:
    model = Path(shutil.copytree(world / "phrase", tmp_path / "model"))
    (model / "word-lists.tsv").unlink()
    words = ["translate", "--model", model, "--tokenized", "--templates", "word-context"]
    done = hopefear(*words, input=PAIR)
    assert done.returncode == 2
    assert "has no word lists, which the feature template word-context needs" in done.stderr
    assert "hopefear train" in done.stderr
    assert hopefear(*words[:-1], "word-context:size=0", input=PAIR).returncode == 0
    train = ["train", world / "train.zh", world / "train.en", "--tokenized", "--order", "2"]
    done = hopefear(*train, "--model", model, "--max-length", "4", "--json")
    steps = json.loads(done.stdout)["steps"]
    assert [name for name, step in steps.items() if not step["reused"]] == ["word lists"]
    assert hopefear(*words, input=PAIR).returncode == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--templates", "word-pears"], "unknown feature 'word-pears'"),
        (["--templates", "insertion:size=-1"], "size"),
        (["--plugin", "nowhere.py"], "nowhere.py: no such plugin file"),
        (["--plugin", "broken.py"], "broken.py: plugin fails with ZeroDivisionError"),
    ],
)
def test_invalid_options(
    more: list[str], message: str, world: Path, hopefear: Run, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    words = ["translate", "--model", world / "phrase", "--tokenized", *more]
    done = hopefear(*words, input=PAIR, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_counts_are_of_all_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count covers all features, although only the largest are shown."""
    monkeypatch.setattr(fired, "_MANY", 2)
    weights = Weights({"lm": 5.0, "a:1": 4.0, "a:2": 1.0, "b:1": 0.5, "b:2": 0.0})
    assert fired.heaviest(weights, 5) == {
        "dense": {"active": 1, "heaviest": {"lm": 5.0}},
        "a": {"active": 2, "heaviest": {"a:1": 4.0}},
        "b": {"active": 1, "heaviest": {}},
    }
