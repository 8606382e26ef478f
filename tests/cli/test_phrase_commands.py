"""train, translate and inspect with a small phrase model of the world."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.decode.systems.phrase import Phrase
from hopefear.model.directory import Model
from hopefear.text.world import generate, write

Run = Callable[..., subprocess.CompletedProcess[str]]
PAIR = "Bushi yu Shalong juxing le huitan ."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write(generate(train=400, dev=5, test=20, seed=1), folder / "world")
    words = ["train", folder / "world" / "train.zh", folder / "world" / "train.en"]
    config = Path(__file__).parents[2] / "configs" / "papers-11-features.toml"
    words += ["--config", config, "--model", folder / "trained", "--tokenized", "--order", "3"]
    result = hopefear(*words)
    assert result.returncode == 0, result.stderr
    return (folder / "trained").rename(folder / "model")


def test_the_papers_eleven_features(model: Path) -> None:
    loaded = Model.load(model)
    dense = set(loaded.decoder().dense)
    orientations = {f"reorder.bwd.{name}" for name in ("mono", "swap", "other")}
    scores = {"p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)"}
    assert dense == orientations | scores | Phrase.own_weights.keys() | {"lm"}
    assert len(dense - {"unknown"}) == 11
    assert {name for name, _ in loaded.weights().items()} == dense


def test_translate(model: Path, hopefear: Run, tmp_path: Path) -> None:
    source = model.parent / "world" / "test.zh"
    outputs = []
    for threads in ("1", "3"):
        files = [tmp_path / f"{name}.{threads}" for name in ("text", "nbest")]
        words = ["translate", "--model", model, "-i", source, "-o", files[0], "--tokenized"]
        words += ["--nbest", "20", "--distinct", "--nbest-out", files[1], "--threads", threads]
        result = hopefear(*words)
        assert result.returncode == 0, result.stderr
        outputs.append([path.read_bytes() for path in files])
    assert outputs[0] == outputs[1]
    assert outputs[0][0].count(b"\n") == 20
    lists = [line.split(b" ||| ") for line in outputs[0][1].splitlines()]
    assert len({(row[0], row[1]) for row in lists}) == len(lists)


def test_options_reach_the_decoder(model: Path, hopefear: Run, tmp_path: Path) -> None:
    text = (model.parent / "world" / "test.zh").read_text()

    def total(*words: str) -> float:
        stats = tmp_path / "stats.json"
        result = hopefear(
            *("translate", "--model", model, "--tokenized", "--stats", stats, *words), input=text
        )
        assert result.returncode == 0, result.stderr
        return float(json.loads(stats.read_text())["total_score"])

    best = total()
    assert total("--search", "stack", "--beam", "50") == pytest.approx(best, abs=3)
    assert total("--beam", "1", "--pop-limit", "1") < best
    assert total("--distortion-limit", "0") < best
    assert total("--options", "table_limit=1") < best


def test_raw_text_and_markup(model: Path, hopefear: Run) -> None:
    line = f'<n translation="Bushes || Bush">Bushi</n> {PAIR[6:]}'
    words = ["translate", "--model", model, "--markup", "exclusive"]
    result = hopefear(*words, "--tokenized", input=line)
    assert result.stdout.startswith("Bush")
    assert "held talks" in result.stdout
    result = hopefear(*words, "--tokenized", input='<n translation="zzz">Bushi yu</n> Shalong')
    assert "zzz" in result.stdout
    assert "Bush" not in result.stdout


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupt_in_the_middle_of_a_sentence(
    model: Path, start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, threads: str
) -> None:
    (tmp_path / "in").write_text(f"{PAIR}\n" + PAIR.replace(".", "") * 30)
    words = ["translate", "--model", model, "--tokenized", "--threads", threads]
    words += ["-i", tmp_path / "in", "--search", "stack", "--beam", "100000"]
    words += ["--distortion-limit", "-1"]  # a search of hours
    command = [sys.executable, "-m", "hopefear", *words]
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b"interrupted\n"


def test_derivation(model: Path, hopefear: Run) -> None:
    words = ["inspect", model, "--derivation", PAIR, "--tokenized"]
    result = hopefear(*words, env={"COLUMNS": "80"})
    assert result.returncode == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "reorder.bwd.mono" in result.stdout
    report = json.loads(hopefear(*words, "--json").stdout)
    total = sum(entry["adds"] for entry in report["features"].values())
    assert report["score"] == pytest.approx(total, abs=1e-4)
    assert report["score"] == pytest.approx(sum(s["score"] for s in report["steps"]), abs=1e-4)
    covered = sorted(p for step in report["steps"] for p in step["source_positions"])
    assert covered == list(range(7))


def test_weights_that_do_not_fit(model: Path, hopefear: Run, tmp_path: Path) -> None:
    weights = tmp_path / "weights.tsv"
    weights.write_text("lm\t1\nwords\t0.5\nLM0\t3\n")
    result = hopefear(
        "translate", "--model", model, "--tokenized", "--weights", weights, input=PAIR
    )
    assert result.returncode == 0
    assert "warning: no weight for p(f|e), lex(f|e)" in result.stderr
    assert "LM0" in result.stderr
    weights.write_text("lm\tinf\n")
    result = hopefear("translate", "--model", model, "--weights", weights, input=PAIR)
    assert result.returncode == 2
    assert "weights.tsv:1" in result.stderr


def test_training_again_keeps_learned_weights(model: Path, hopefear: Run, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    learned = (copy / "weights.tsv").read_text().replace("words\t0.6", "words\t0.7")
    (copy / "weights.tsv").write_text(learned)
    world = model.parent / "world"
    words = ["train", world / "train.zh", world / "train.en", "--model", copy, "--tokenized"]
    words += ["--order", "3", "--reordering"]
    assert hopefear(*words, "msd-backward-fe").returncode == 0
    assert (copy / "weights.tsv").read_text() == learned
    assert hopefear(*words, "msd-bidirectional-fe").returncode == 0
    assert "reorder.fwd.mono" in (copy / "weights.tsv").read_text()
