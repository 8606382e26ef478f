"""`hopefear tune --recipe`: steps in one run directory, resumed after a kill."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hopefear as api
from hopefear.base.weights import Weights
from hopefear.model import recipes
from hopefear.model.run import Run
from hopefear.model.tune_options import TuneOptions

Command = Callable[..., subprocess.CompletedProcess[str]]
STEPS = ["1-dense", "2-sparse", "3-dense"]


@pytest.fixture(scope="module", params=["phrase", "hiero"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, hopefear: Command
) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    more = ("--system", request.param, "--tokenized", "--order", "2")
    if request.param == "phrase":
        more += ("--clusters", "5", "--max-length", "3")
    for words in (
        ("world", "-o", folder, "--train", "120", "--dev", "12", "--test", "2"),
        ("train", folder / "train.zh", folder / "train.en", "--model", folder / "model", *more),
    ):
        done = hopefear(*words, "--progress", "off")
        assert done.returncode == 0, done.stderr
    return folder


def command(world: Path, run: Path, *more: object, recipe: str = "best") -> list[str]:
    words = ["tune", "--model", world / "model", "--dev", world / "dev.zh", "--tokenized", "--refs"]
    words += [world / f"dev.en.{number}" for number in range(4)]
    words += ["--recipe", recipe, "-o", run, "--pop-limit", "10", "--threads", "2", *more]
    return [str(word) for word in words]


def files(model: Path) -> dict[str, bytes]:
    every = [path for path in model.rglob("*") if path.is_file() and "work" not in path.parts]
    return {str(path.relative_to(model)): path.read_bytes() for path in every}


def test_the_steps_of_best(world: Path, tmp_path: Path, hopefear: Command) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(world, folder)
    before = files(folder / "model")
    run = folder / "run"
    done = hopefear(*command(folder, run, "--json"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["tuner"], report["recipe"]) == ("recipe best", "best")
    assert [step["step"] for step in report["steps"]] == STEPS
    assert [step["tuner"] for step in report["steps"]] == ["mert", "mira", "mert"]
    assert report["seconds"] == pytest.approx(sum(s["seconds"] for s in report["steps"]), abs=0.01)
    # The plan comes first, with times.
    said = done.stderr.splitlines()
    assert said[0].startswith(f"recipe best in {run}: 3 steps, about ")
    assert [line.split(":")[0].strip() for line in said[1:5]] == ["folds", *STEPS]
    assert all(", about " in line for line in said[1:5])
    assert "to translate: hopefear translate --model" in said[-1]

    # The model has folds now, and is otherwise unchanged.
    after = files(folder / "model")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"model.toml"}
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"folds"}

    # Dense weights are those of the first step until the last one; only the second learns others.
    first, second, last = (Run(run / name) for name in STEPS)
    dense = {name for name, _ in first.weights.items()}
    learned = Weights.load(next((run / "2-sparse" / "iterations").glob("01.*")))
    assert len(learned) > len(dense)
    assert {name: learned[name] for name in dense} == {name: first.weights[name] for name in dense}
    sparse = {name: value for name, value in learned.items() if name not in dense}
    ratios = [last.weights[name] / value for name, value in sparse.items() if value]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-4)  # a mean may scale all
    assert second.config["training"] == {"folds": True}
    chosen = (last, first)[int(report["best_step"] == "1-dense")]
    assert dict(Weights.load(run / "weights.tsv").items()) == dict(chosen.weights.items())
    assert report["dev_bleu"] == max(first.dev_bleu, last.dev_bleu)

    whole = Run(run)
    assert whole.finished
    assert [record["iteration"] for record in whole.records] == list(range(len(whole.records)))
    assert whole.best["score"] == report["dev_score"]
    written = (run / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == whole.records

    again = hopefear(*command(folder, run, "--resume", "--json"))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == report
    assert "about" not in again.stderr
    shown = hopefear("inspect", run)
    assert shown.returncode == 0, shown.stderr
    assert "a run of recipe best for bleu (steps 1-dense 2-sparse 3-dense" in shown.stdout
    one = hopefear("inspect", run / "2-sparse")
    assert "a run of mira for bleu" in one.stdout
    page = folder / "report.html"
    made = hopefear(
        "report", run, run / "1-dense", "-o", page, "--names", "best", "dense", "--json"
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["systems"][0]["tuner"] == "recipe best"
    assert json.loads(made.stdout)["notes"] == []
    words = said[-1].removeprefix("to translate: hopefear ").split()
    translated = hopefear(*words, "-i", world / "test.zh", "--tokenized")
    assert translated.returncode == 0, translated.stderr
    assert len(translated.stdout.splitlines()) == 2


def test_folds_are_those_of_training(world: Path, tmp_path: Path, hopefear: Command) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(world, folder)
    model = api.Model.load(folder / "model")
    from hopefear.model.adding_folds import add_folds

    add_folds(model, 5)
    added = files(folder / "model")
    settings = model.settings["training"]
    words = ["train", folder / "train.zh", folder / "train.en", "--model", folder / "model"]
    words += ["--system", model.system, "--tokenized", "--order", "2", "--folds", "5"]
    if model.system == "phrase":
        words += ["--clusters", "5", "--max-length", "3"]
    assert settings["folds"] == 0
    done = hopefear(*words, "--json")
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert all(step["reused"] for step in steps.values()), steps
    assert files(folder / "model") == added


def test_fast_several_runs(world: Path, tmp_path: Path, hopefear: Command) -> None:
    run = tmp_path / "run"
    done = hopefear(*command(world, run, "--runs", "2", "--seed", "3", "--json", recipe="fast"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [part["steps"][0]["tuner"] for part in report["runs"]] == ["batch-mira"] * 2
    assert (run / "run-2" / "1-batch-mira" / "config.toml").is_file()
    assert Run(run / "run-2" / "1-batch-mira").config["loop"]["seed"] == 4
    best = run / f"run-{report['best_run']}" / "weights.tsv"
    assert (run / "weights.tsv").read_bytes() == best.read_bytes()
    assert len(Run(run).members) == 2
    shown = hopefear(*command(world, run, "--runs", "2", "--seed", "3", "--resume", recipe="fast"))
    assert shown.returncode == 0, shown.stderr
    assert "run 2: 1-batch-mira" in shown.stdout
    refused = hopefear(*command(world, run, "--runs", "2", "--seed", "3", recipe="fast"))
    assert refused.returncode == 2
    assert "has a run already; --resume continues it" in refused.stderr


KILLED = """
import os, signal, sys, threading
from hopefear.cli import main
import hopefear.model.recipes, hopefear.learn.loop.runs, hopefear.rules.extract
if float(sys.argv[1]) > 0:
    threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGKILL)).start()
sys.exit(main(sys.argv[2:]))
"""


def test_killed_at_random_moments(world: Path, tmp_path: Path) -> None:
    if 'system = "hiero"' in (world / "model" / "model.toml").read_text():
        pytest.skip("one system is enough")

    def run(folder: Path, seconds: float) -> int:
        words = command(folder, folder / "run", "--resume", "--progress", "off")
        done = subprocess.run([sys.executable, "-c", KILLED, str(seconds), *words])
        return done.returncode

    for name in ("whole", "broken"):
        shutil.copytree(world, tmp_path / name)
    assert run(tmp_path / "whole", 0) == 0
    chance = random.Random(7)
    codes = [run(tmp_path / "broken", chance.uniform(0.05, 1.5)) for _ in range(4)]
    assert -signal.SIGKILL in codes
    assert run(tmp_path / "broken", 0) == 0
    for path in (tmp_path / "whole").rglob("*"):
        if path.suffix in (".tsv", ".bin") or path.name == "model.toml":
            other = tmp_path / "broken" / path.relative_to(tmp_path / "whole")
            assert other.read_bytes() == path.read_bytes(), path


@pytest.mark.filterwarnings("ignore:constant within every sentence")
def test_python(world: Path, tmp_path: Path) -> None:
    said: list[str] = []
    run = api.tune(
        world / "model",
        dev=(world / "dev.zh").read_text().splitlines(),
        refs=[(world / "dev.en.0").read_text().splitlines()],
        recipe="fast",
        output=tmp_path / "run",
        tokenized=True,
        display="off",
        tell=said.append,
    )
    assert [step.tuner for step in run.steps] == ["batch-mira"]
    assert run.report()["recipe"] == "fast"
    assert run.weights["lm"] == run.steps[0].weights["lm"]
    assert "recipe fast" in repr(run)
    assert said[0].startswith("recipe fast")


@pytest.mark.parametrize(
    ("more", "recipe", "message"),
    [
        (("--tuner", "mert"), "best", "--tuner: has no effect with --recipe best"),
        (("--iterations", "3"), "best", "--iterations: has no effect with --recipe best"),
        (("--train", "a", "b"), "fast", "--train: has no effect with --recipe fast"),
        (("--set", "C=0.1"), "best", "--set C: no --tuner is given that could have this option"),
        (("--refs", "-"), "best", "'-': --recipe best reads its texts several times"),
        ((), "slow", "--recipe"),
        (("--weights", "nowhere.tsv"), "best", "nowhere.tsv"),
        (("--train", "nowhere", "nowhere"), "best", "nowhere"),
        (("--templates", "rule-idd"), "best", "unknown feature 'rule-idd'"),
        (("--templates",), "best", "--templates: names none, but recipe best learns their weights"),
        (("--keep-pool",), "best", "--keep-pool: has no effect with --recipe best"),
    ],
)
def test_bad_options(
    world: Path, tmp_path: Path, hopefear: Command, more: tuple[str, ...], recipe: str, message: str
) -> None:
    done = hopefear(*command(world, tmp_path / "run", *more, recipe=recipe))
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_the_command_to_translate_can_be_copied(tmp_path: Path) -> None:
    options = TuneOptions(
        model=Path("my model"), refs=[Path("r")], output=tmp_path, plugin=[Path("my_feature.py")]
    )
    (line,) = recipes._advice(Path("run"), options, ["rule-id", "word-edges:levels=w"])
    assert line == (
        "to translate: hopefear translate --model 'my model' --weights run/weights.tsv --plugin "
        "my_feature.py --templates rule-id word-edges:levels=w"
    )


def test_neither_tuner_nor_recipe(world: Path, tmp_path: Path, hopefear: Command) -> None:
    words = command(world, tmp_path / "run")
    at = words.index("--recipe")
    done = hopefear(*words[:at], *words[at + 2 :])
    assert done.returncode == 2
    assert "--tuner is missing; give a tuner, or --recipe best" in done.stderr


def test_a_model_whose_training_is_unknown(world: Path, tmp_path: Path, hopefear: Command) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(world, folder)
    (folder / "model" / "work" / "steps.json").unlink()
    done = hopefear(*command(folder, folder / "run"))
    assert done.returncode == 2
    assert "its folds cannot be made; run the same 'hopefear train' again with" in done.stderr
    assert not (folder / "run").exists()


def test_a_text_without_folds_is_refused_before_the_first_step(
    world: Path, tmp_path: Path, hopefear: Command
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(world, folder)
    from hopefear.model.adding_folds import add_folds

    unequal = ("--train", folder / "train.zh", folder / "dev.en.0")
    for texts, message in (
        (unequal, "give files of equal length"),
        (("--train", folder / "dev.zh", folder / "dev.en.0"), "so they have no fold"),
        (unequal, "give files of equal length"),
    ):
        done = hopefear(*command(folder, folder / "run", *texts))
        assert done.returncode == 2
        assert message in done.stderr.splitlines()[-1]
        assert not list((folder / "run").glob("1-dense"))
        if texts is unequal:
            assert not (folder / "run").exists()
            add_folds(api.Model.load(folder / "model"), 3)


def test_learning_from_the_own_text_and_the_dev_set(
    world: Path, tmp_path: Path, hopefear: Command
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(world, folder)
    from hopefear.model.adding_folds import add_folds

    add_folds(api.Model.load(folder / "model"), 3)
    base = command(folder, folder / "run")
    at = base.index("--recipe")
    base = [*base[:at], *base[base.index("--pop-limit") :], "--tuner", "mira", "--iterations", "1"]
    reports = {}
    text = ("--train", folder / "train.zh", folder / "train.en")
    for name, more in {
        "given": (*text, "--folds"),
        "own": ("--folds",),
        "both": ("--folds", "--with-dev"),
        "left-out": (*text, "--leave-out"),
    }.items():
        done = hopefear(*base, *more, "-o", folder / name, "--kbest", "20", "--json")
        assert done.returncode == 0, done.stderr
        reports[name] = json.loads(done.stdout)
    weights = {name: (folder / name / "weights.tsv").read_bytes() for name in reports}
    assert weights["given"] == weights["own"]
    assert len(set(weights.values())) == 3
    done = hopefear(*base, "--with-dev", "-o", folder / "wrong")
    assert done.returncode == 2
    assert "--with-dev: only with --train or --folds" in done.stderr
