"""`hopefear tune --tuner lattice-svm` on models of both systems, and `--lattices` of any system."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.weights import Weights
from hopefear.cli.main import main
from hopefear.forest import ForestBuilder, save_pool
from hopefear.forest.io import write_json

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lattices(tmp_path: Path) -> Path:
    """PLF lattices and references; the initial weights favour deletions, the references do not."""
    chance = random.Random(1)
    with (tmp_path / "dev.plf").open("w") as plf, (tmp_path / "dev.en").open("w") as refs:
        for _ in range(30):
            right = [f"r{chance.randrange(9)}" for _ in range(4)]
            arcs = "".join(f"(('{w}',0.3,1),('*EPS*',0.5,1),('x{w}',0.2,1),)," for w in right)
            plf.write(f"({arcs})\n")
            refs.write(" ".join(right) + "\n")
    return tmp_path


def tune(folder: Path, files: list[str], *more: object, tuner: str = "lattice-svm") -> list[str]:
    words = ["tune", "--lattices", *(folder / name for name in files), "--refs", folder / "dev.en"]
    words += ["--tuner", tuner, "-o", folder / "run", "--iterations", 2, "--threads", 1, *more]
    return [str(word) for word in words]


@pytest.mark.parametrize("system", ["phrase", "hiero"])
def test_a_model(system: str, tmp_path: Path, hopefear: Run) -> None:
    train = ("train", tmp_path / "train.zh", tmp_path / "train.en", "--model", tmp_path / "model")
    more = ("--system", system, "--tokenized", "--order", "2")
    for words in (
        ("world", "-o", tmp_path, "--train", "200", "--dev", "12", "--test", "2"),
        (*train, *more),
    ):
        done = hopefear(*words, "--progress", "off")
        assert done.returncode == 0, done.stderr
    words = ("tune", "--model", tmp_path / "model", "--dev", tmp_path / "dev.zh", "--tokenized")
    words += ("--refs", *(tmp_path / f"dev.en.{i}" for i in range(4)), "-o", tmp_path / "run")
    words += ("--tuner", "lattice-svm", "--iterations", "4", "--patience", "0", "--json")
    words += ("--set", "first=6", "every=30", "--resume")
    done = hopefear(*words)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 1 < report["decodings"] <= 1.5
    assert report["iterations"] == 4
    assert "lattice-svm|order:4|xi:" in done.stderr
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert report["dev_bleu"] == max(record["score"] for record in records[1:])
    again = hopefear(*words)
    assert json.loads(again.stdout) == report


@pytest.mark.parametrize("tuner", ["lattice-svm", "mert", "mira"])
def test_lattices_of_another_system(lattices: Path, tuner: str, hopefear: Run) -> None:
    done = hopefear(*tune(lattices, ["dev.plf"], "--json", tuner=tuner))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dev_bleu"] > 80
    weights = Weights.load(lattices / "run" / "weights.tsv")
    assert weights["words"] > 0
    assert weights["lattice"] > 0


def test_the_best_paths_by_the_weights(lattices: Path, hopefear: Run) -> None:
    (lattices / "w.tsv").write_text("lattice\t1\nwords\t3\n")
    words = ["rerank", "apply", "--lattices", lattices / "dev.plf", "--weights", lattices / "w.tsv"]
    done = hopefear(*words, "-o", lattices / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"lattices": 30, "missing": 0}
    assert (lattices / "out").read_text() == (lattices / "dev.en").read_text()
    for more in (["--nbest", "x"], ["--ids"]):
        assert hopefear(*words, *more, "-o", lattices / "no").returncode == 2
    assert not (lattices / "no").exists()


def test_a_held_out_set_of_lattices(lattices: Path, hopefear: Run) -> None:
    heldout = ("--heldout", lattices / "dev.plf", "--heldout-refs", lattices / "dev.en")
    done = hopefear(*tune(lattices, ["dev.plf"], "--json", *heldout))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["heldout_score"] == pytest.approx(report["dev_score"])


def test_other_formats(tmp_path: Path, hopefear: Run) -> None:
    """OpenFst, a pool, Hopefear's JSON and an n-best list, with four sentences in all."""
    (tmp_path / "a.fst").write_text("0 1 the 0.5\n0 1 a 0.1\n1 2 cat 0.2\n2\n")
    builder = ForestBuilder()
    for name in ("pool", "json"):
        node = builder.node()
        builder.edge(node, (), ["the", "cat"], features={"lattice": -1.0, "words": 2})
        builder.edge(node, (), ["cat"], features={"lattice": -0.5, "words": 1})
        forest = builder.finish(node)
        path = tmp_path / f"b.{name}"
        if name == "pool":
            save_pool(path, [forest])
        else:
            write_json(path, [forest])
    (tmp_path / "c.nbest").write_text(
        "0 ||| the cat ||| lattice= -1 words= 2 ||| 0\n0 ||| cat ||| lattice= -.5 words= 1 ||| 0\n"
    )
    (tmp_path / "dev.en").write_text("the cat\n" * 4)
    files = ["a.fst", "b.pool", "b.json", "c.nbest"]
    done = hopefear(*tune(tmp_path, files, "--metric", "chrf", "--set", "order=2"))
    assert done.returncode == 0, done.stderr
    assert Weights.load(tmp_path / "run" / "weights.tsv")["words"] > 0


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return name


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (None, ["--model", "m"], "--model: has no effect with --lattices"),
        (None, ["--beam", "5"], "--beam: has no effect with --lattices"),
        (None, ["--dev", "d"], "--dev: has no effect with --lattices"),
        ("((('a',0.5,1),),)\n", [], "1 lattices, but"),
        ("hello\n", [], "lattice format not recognised"),
        ("", [], "lattice format not recognised"),
        ("\n\n((('a',0.5,1),\n", [], "not PLF"),
        ("0 ||| a ||| tm= 1 ||| 0\n", [], "no initial weights; give --weights"),
        ("{7}\n", ["--lattice-format", "plf"], "not PLF"),
    ],
)
def test_invalid_combinations(
    lattices: Path, text: str | None, more: list[str], message: str, hopefear: Run
) -> None:
    name = "dev.plf" if text is None else write(lattices, "bad", text)
    done = hopefear(*tune(lattices, [name], *more))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (lattices / "run").exists()


def test_something_to_learn_from_is_needed(tmp_path: Path, hopefear: Run) -> None:
    refs = write(tmp_path, "r", "a\n")
    done = hopefear("tune", "--refs", tmp_path / refs, "--tuner", "mert", "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "--dev is missing" in done.stderr


def test_reranking_refers_to_tune(lattices: Path, hopefear: Run) -> None:
    nbest = lattices / write(lattices, "n", "0 ||| a ||| tm= 1 ||| 0\n")
    words = ("rerank", "tune", "--nbest", nbest, "--refs", lattices / "dev.en")
    done = hopefear(*words, "--tuner", "lattice-svm", "-o", lattices / "w.tsv")
    assert done.returncode == 2
    assert "hopefear tune --lattices" in done.stderr


def test_references_may_come_from_standard_input(lattices: Path, hopefear: Run) -> None:
    words = tune(lattices, ["dev.plf"], "--set", "first=5", "every=5", tuner="lattice-svm")
    words[words.index("--refs") + 1] = "-"
    done = hopefear(*words, input=(lattices / "dev.en").read_text())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "tune --dev d --refs r --model m --tuner mira -o run --lattice-format plf",
            "--lattice-format: only with --lattices",
        ),
        (
            "rerank apply --nbest n --weights w -o out --lattice-format plf",
            "--lattice-format: used only with --lattices",
        ),
        (
            "tune --dev d --refs r --train s t --leave-out --stream-decoder x --tokenized "
            "--tuner mira -o run",
            "--leave-out: only with --train and a built-in decoder",
        ),
    ],
)
def test_options_without_effect(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    assert message in capsys.readouterr().err


def test_weights_of_other_lattices(lattices: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(lattices, "w.tsv", "tm\t1\n")
    words = ["rerank", "apply", "--lattices", lattices / "dev.plf", "-o", lattices / "out"]
    assert main([str(word) for word in (*words, "--weights", lattices / "w.tsv")]) == 0
    assert "no feature of the lattices has a weight in" in capsys.readouterr().err
