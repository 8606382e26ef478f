"""`hopefear translate` and `inspect --derivation` around the toy decoder of the tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from decoder_toy import toy_model

TOY = [sys.executable, str(Path(__file__).parents[1] / "decoder_toy.py")]
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("toy") / "model").directory


def run(*words: str | Path, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TOY, *map(str, words)],
        input=input,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "COLUMNS": "80"},
    )


def test_files(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(__import__("gzip").compress(b"das haus\r\n\nneu ist\n"))
    out, nbest, stats = tmp_path / "out", tmp_path / "nbest", tmp_path / "stats.json"
    words = ["translate", "--model", model, "--tokenized", "-i", tmp_path / "in.gz", "-o", out]
    words += ["--nbest", "10", "--nbest-out", nbest, "--stats", stats, "--threads", "2"]
    result = run(*words)
    assert (result.returncode, result.stdout) == (0, "")
    assert out.read_text() == "the house\n\nneu is\n"
    lines = nbest.read_text().splitlines()
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "1", "2"]
    statistics = json.loads(stats.read_text())
    assert statistics["sentences"] == 3
    assert statistics["source_words"] == 4
    best = [float(line.split(" ||| ")[3]) for line in (lines[0], *lines[2:])]
    assert statistics["total_score"] == pytest.approx(sum(best), abs=1e-4)
    assert statistics.keys() >= {"cpu_seconds", "wall_seconds", "peak_mb"}


def test_mbr_and_max_translation(model: Path) -> None:
    """Peaked posteriors give the model's best translation; flat ones depend only on the seed."""
    words = ["translate", "--model", model, "--tokenized"]
    text = "das haus\n\nneu ist\n"
    assert run(*words, "--mbr", "--posterior-scale", "50", input=text).stdout == (
        "the house\n\nneu is\n"
    )
    flat = ["--max-translation", "--posterior-scale", "0.001", "--samples", "1", "--seed", "7"]
    runs = [run(*words, *flat, "--threads", n, input="das haus\n" * 30).stdout for n in "12"]
    assert runs[0] == runs[1]
    assert len(set(runs[0].splitlines())) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--distortion-limit", "3"], "distortion-limit: a toy model has no such option"),
        (["--nbest", "3"], "--nbest-out FILE"),
        (["--nbest-out", "x"], "--nbest N"),
        (["--mbr", "--max-translation"], "exclude each other"),
        (["--posterior-scale", "2"], "only with --mbr or --max-translation"),
        (["--mbr", "--posterior-scale", "0"], "expected a number above 0"),
        (["--mbr"], "the language models' weight is 0, so there is no default; give a number"),
        (["--mbr", "--samples", "5"], "--samples: only with --max-translation"),
        (["--trace"], "--nbest N"),
        (["--nbest", "2", "--nbest-out", "-"], "-o and --nbest-out are both -"),
        (["-o", "/no/such/place/x"], "no directory"),
        (["-i", "/no/such/file"], "/no/such/file"),
        (["--weights", "/no/such/file"], "/no/such/file"),
        (["--weights", "-"], "stdin can be only one of them"),
        (["--options", "beem=3"], "--options: unknown key 'beem'; did you mean 'beam'"),
        (["--options", "beam=0"], "--options beam"),
        (["--options", "beam=3", "--beam", "4"], "also given as --beam"),
        (["--beam", "0"], "--beam"),
    ],
)
def test_input_errors(model: Path, words: list[str], message: str) -> None:
    result = run("translate", "--model", model, *words, input="haus\n")
    assert result.returncode == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_odd_bytes_leave_no_half_file(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"haus\n\xff\n")
    words = ["translate", "--model", model, "-i", tmp_path / "in", "-o", tmp_path / "out"]
    result = run(*words)
    assert result.returncode == 2
    assert "in:2: byte 0xff" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_no_model(tmp_path: Path) -> None:
    result = run("translate", "--model", tmp_path)
    assert result.returncode == 2
    assert "no model directory" in result.stderr


def test_a_closed_pipe_ends_quietly(model: Path, start: Start) -> None:
    command = [*TOY, "translate", "--model", model, "--tokenized", "--threads", "2"]
    process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"haus\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"house\n"
    process.stdout.close()
    process.stdin.write(b"haus\n")
    process.stdin.flush()  # the process waits for more input; the reader of its output is gone
    assert process.wait(60) == 0
    assert process.stderr.read() == b""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupt_while_it_waits(model: Path, start: Start, threads: str) -> None:
    command = [*TOY, "translate", "--model", model, "--tokenized", "--threads", threads]
    process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"haus\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"house\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b"interrupted\n"


def test_a_long_line(model: Path) -> None:
    result = run("translate", "--model", model, "--tokenized", input="haus " * 300 + "\nmaus")
    assert result.returncode == 0
    first, second = result.stdout.splitlines()
    assert len(first.split()) == 300
    assert second == "mouse"


def test_derivation_as_a_table(model: Path) -> None:
    result = run("inspect", model, "--derivation", "das haus ist sehr klein " * 4, "--tokenized")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "  2  1 haus    1 house" in result.stdout
    assert any(
        line.startswith("unknown") and line.split()[1:3] == ["-100.0", "4.000"] for line in lines
    )
    report = json.loads(
        run("inspect", model, "--derivation", "das haus", "--tokenized", "--json").stdout
    )
    assert report["score"] == pytest.approx(sum(step["score"] for step in report["steps"]))
    assert report["score"] == pytest.approx(
        sum(entry["adds"] for entry in report["features"].values())
    )
    assert report["alignment"] == [[0, 0], [1, 1]]


def test_derivation_as_a_tree(tmp_path: Path) -> None:
    model = toy_model(tmp_path / "model", system="toytree").directory
    result = run("inspect", model, "--derivation", "a b c", "--tokenized")
    assert "├─ X 0-1  a → A" in result.stdout
    assert "└─ X 2-3  c → C" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    result = run("inspect", model, "--derivation", "a", "--tokenized")  # a tree without branches
    assert "└─ X 0-1  a → A" in result.stdout


def test_inspect_without_training(model: Path) -> None:
    result = run("inspect", model)
    assert result.returncode == 0
    assert "heaviest" in result.stdout
    assert "--derivation" in run("inspect", model, "--tokenized").stderr
    assert (
        "not a model directory" in run("inspect", model / "rules.bin", "--derivation", "a").stderr
    )
