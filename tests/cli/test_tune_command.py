"""`hopefear tune`: reports, files, interrupted runs, bad options, external decoders."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from hopefear.cli import main

Run = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ("--iterations", "3", "--patience", "0", "--threads", "2")
LISTS = ("--kbest", "20")


@pytest.fixture(scope="module")
def inside() -> Run:
    """Run commands in this process: starting a process takes longer than most of these tests."""

    def run(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        before, place = signal.getsignal(signal.SIGTERM), Path.cwd()
        try:
            os.chdir(cwd or place)
            with redirect_stdout(out), redirect_stderr(err):
                code = main([str(word) for word in words])
        finally:
            os.chdir(place)
            signal.signal(signal.SIGTERM, before)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, inside: Run) -> Path:
    """A small world and a model of it, trained as raw text."""
    folder = tmp_path_factory.mktemp("world")
    sizes = ("--train", "600", "--dev", "25", "--test", "5")
    for words in (
        ("world", "-o", folder, *sizes),
        (
            *("train", folder / "train.zh", folder / "train.en", "--model", folder / "model"),
            *("--order", "2", "--source-language", "en", "--max-length", "4"),
        ),
    ):
        done = inside(*words, "--progress", "off")
        assert done.returncode == 0, done.stderr
    return folder


def command(world: Path, run: Path, *more: object, tuner: str = "mert") -> list[str]:
    words = ["tune", "--model", world / "model", "--dev", world / "dev.zh", "--refs"]
    words += [world / f"dev.en.{number}" for number in range(4)]
    forests = "space=forest" in more or "lattice-svm" in more
    words += ["--tuner", tuner, "-o", run, *SMALL, *(() if forests else LISTS), *more]
    if tuner == "mert":
        words += ["--set", "restarts=2"] if "--set" not in more else []
    return [str(word) for word in words]


def test_report_and_files(world: Path, tmp_path: Path, hopefear: Run) -> None:
    done = hopefear(*command(world, tmp_path / "run", "--json"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    keys = {"tuner", "best_iteration", "dev_bleu", "iterations", "seconds", "decode_seconds"}
    assert keys | {"optimise_seconds", "active_features"} <= report.keys()
    assert report["tuner"] == "mert"
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len([r for r in records if "mean_of" not in r]) == report["iterations"] + 1
    assert records[report["best_iteration"]]["bleu"] == report["dev_bleu"]
    assert report["dev_bleu"] >= records[0]["bleu"]
    assert "warning: constant within every sentence" in done.stderr
    assert "left" in done.stderr, "the remaining time"
    weights = (tmp_path / "run" / "weights.tsv").read_text()
    assert "p(e|f)\t" in weights

    shown = hopefear("inspect", tmp_path / "run")
    assert shown.returncode == 0, shown.stderr
    assert "a run of mert for bleu" in shown.stdout
    assert "restarts 2" in shown.stdout
    described = json.loads(hopefear("inspect", tmp_path / "run", "--json").stdout)
    assert described["iterations"] == records
    refused = hopefear("inspect", tmp_path / "run", "--phrase", "yu")
    assert refused.returncode == 2
    assert "a run directory" in refused.stderr


# Runs a command in a process that kills itself some time after its imports.
KILLED = """
import os, signal, sys, threading
from hopefear.cli import main
import hopefear.cli.translate, hopefear.model.translate, hopefear.learn.loop.runs
if float(sys.argv[1]) > 0:
    threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGKILL)).start()
sys.exit(main(sys.argv[2:]))
"""


def test_killed_at_random_moments(world: Path, tmp_path: Path) -> None:
    def run(directory: str, seconds: float) -> int:
        options = ("--resume", "--progress", "off", "--set", "restarts=4")
        words = [str(seconds), *command(world, tmp_path / directory, *options)]
        done = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True)
        return done.returncode

    began = time.monotonic()
    assert run("whole", 0) == 0
    took = time.monotonic() - began
    chance = random.Random(11)
    codes = [run("broken", 0.02), *(run("broken", chance.uniform(0, took / 2)) for _ in range(3))]
    assert -signal.SIGKILL in codes
    assert run("broken", 0) == 0
    for path in (tmp_path / "whole").rglob("*.tsv"):
        other = tmp_path / "broken" / path.relative_to(tmp_path / "whole")
        assert other.read_bytes() == path.read_bytes(), path.name


def test_resuming_with_other_options_is_refused(world: Path, tmp_path: Path, inside: Run) -> None:
    run = tmp_path / "run"
    assert inside(*command(world, run, "--iterations", "1")).returncode == 0
    before = (run / "weights.tsv").read_bytes()
    again = inside(*command(world, run, "--iterations", "1", "--resume", "--threads", "1"))
    assert again.returncode == 0, again.stderr
    cases = (
        (("--iterations", "1"), "has a run already; --resume continues it"),
        (("--iterations", "1", "--resume", "--seed", "2"), "loop.seed = 1, now it is 2"),
        (("--iterations", "1", "--resume", "--set", "restarts=3"), "tuner.restarts = 2, now"),
        (("--iterations", "1", "--resume", "--beam", "5"), "system.decoder.beam = not given"),
        (("--iterations", "1", "--resume", "--tokenized"), "system.tokenized = false, now"),
    )
    for more, message in cases:
        done = inside(*command(world, run, *more))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert message in done.stderr
    changed = tmp_path / "dev.zh"
    changed.write_text((world / "dev.zh").read_text().replace("le", "la"))
    words = command(world, run, "--iterations", "1", "--resume")
    words[words.index(str(world / "dev.zh"))] = str(changed)
    done = inside(*words)
    assert done.returncode == 2
    assert "contents.dev" in done.stderr
    assert (run / "weights.tsv").read_bytes() == before


def test_several_runs(world: Path, tmp_path: Path, inside: Run) -> None:
    run = tmp_path / "run"
    more = ("--runs", "2", "--iterations", "1")
    done = inside(*command(world, run, *more, "--json"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["runs"]) == 2
    low, high = sorted(run["dev_bleu"] for run in report["runs"])
    assert low <= report["dev_bleu_mean"] <= high == report["dev_bleu"]
    assert (run / "run-2" / "weights.tsv").is_file()
    shown = inside(*command(world, run, *more, "--resume"))
    assert "deviation" in shown.stdout
    assert inside("inspect", run).stdout.count("\n") > 4


def test_start_fix_tie_and_another_metric(world: Path, tmp_path: Path, inside: Run) -> None:
    start = tmp_path / "start.tsv"
    done = inside(*command(world, tmp_path / "zero", "--iterations", "0"))
    assert done.returncode == 0, done.stderr
    start.write_text((tmp_path / "zero" / "weights.tsv").read_text().replace("lm\t0.5", "lm\t0.75"))
    more = ("--weights", start, "--fix", "lm", "reorder.*", "--tie", "p(f|e) p(e|f)")
    done = inside(*command(world, tmp_path / "run", *more, "--metric", "ter", "--json"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["dev_score"] != report["dev_bleu"]
    first = dict(line.split("\t") for line in start.read_text().splitlines())
    for path in (tmp_path / "run" / "iterations").iterdir():
        weights = dict(line.split("\t") for line in path.read_text().splitlines())
        assert weights["lm"] == "0.75"
        assert weights["p(f|e)"] == weights["p(e|f)"]
        assert weights["reorder.fwd.mono"] == first["reorder.fwd.mono"]


def test_a_held_out_set(world: Path, tmp_path: Path, hopefear: Run) -> None:
    more = ["--heldout", world / "test.zh", "--heldout-refs", world / "test.en.0"]
    words = command(world, tmp_path / "run", *more, "--iterations", "1", "--json")
    done = hopefear(*words)
    assert done.returncode == 0, done.stderr
    assert "heldout_score" in json.loads(done.stdout)
    # Repeated with the same text on stdin: the run is already finished.
    words[words.index(str(world / "dev.zh"))] = "-"
    again = hopefear(*words, "--resume", input=(world / "dev.zh").read_text())
    assert json.loads(again.stdout) == json.loads(done.stdout), again.stderr


def test_a_config_file_with_a_table_of_the_tuner(world: Path, tmp_path: Path, inside: Run) -> None:
    config = tmp_path / "tune.toml"
    config.write_text("[tune]\nseed = 7\n[tune.mert]\nrestarts = 1\n[tune.bleu]\norder = 2\n")
    more = ("--config", config, "--set", "kicks=1", "metric.reference_length=average")
    done = inside(*command(world, tmp_path / "run", *more, "--iterations", "1"))
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "run" / "config.toml").read_text()
    for line in ("seed = 7", "restarts = 1", "kicks = 1", "order = 2"):
        assert line in written
    assert 'reference_length = "average"' in written
    config.write_text("[tune.mert]\nrestart = 1\n")
    done = inside(*command(world, tmp_path / "other", "--config", config, "--set", "kicks=1"))
    assert done.returncode == 2
    assert "[tune.mert]: unknown key 'restart'; did you mean 'restarts'?" in done.stderr


def test_another_decoder(world: Path, tmp_path: Path, hopefear: Run) -> None:
    """Hopefear's decoder, called as an external decoder, gives the same weights."""
    prepared = {}
    for name in ("dev.zh", *(f"dev.en.{number}" for number in range(4))):
        prepared[name] = tmp_path / name
        lines = (world / name).read_text()
        prepared[name].write_text(lines.lower())
    data = ["--dev", prepared["dev.zh"], "--refs", *list(prepared.values())[1:]]
    more = ["--tuner", "mert", "--set", "restarts=1", "--tokenized", "--iterations", "1"]
    more += ["--kbest", "10", "--threads", "1", "--fix", "unknown"]
    own = hopefear("tune", "--model", world / "model", *data, *more, "-o", tmp_path / "own")
    assert own.returncode == 0, own.stderr
    start = tmp_path / "own" / "iterations" / "00.tsv"
    python, model = shlex.quote(sys.executable), shlex.quote(str(world / "model"))
    line = (
        f"{python} -m hopefear translate --model {model} --weights {{weights}} --tokenized "
        "-i {input} -o /dev/null --nbest {k} --nbest-out {nbest} --distinct --progress off"
    )
    words = ["tune", "--decoder", line, *data, *more, "-o", tmp_path / "other"]
    other = hopefear(*words, "--weights", start)
    assert other.returncode == 0, other.stderr
    scores = []
    for run in ("own", "other"):
        lines = (tmp_path / run / "metrics.jsonl").read_text().splitlines()
        scores.append(json.loads(lines[0])["bleu"])
    assert scores[0] == pytest.approx(scores[1])
    failed = hopefear("tune", "--decoder", "false {weights}", *data, *more, "-o", tmp_path / "x")
    assert failed.returncode == 2
    assert "no initial weights" in failed.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--tuner", "mret"), "unknown tuner 'mret'; did you mean 'mert'?"),
        (("--metric", "blue"), "unknown metric 'blue'; did you mean 'bleu'?"),
        (("--set", "restart=3"), "--set: unknown key 'restart'; did you mean 'restarts'?"),
        (("--set", "restarts=many"), "--set restarts: 'many' is not valid"),
        (("--set", "metrik.order=2"), "unknown component 'metrik'"),
        (("--set", "restarts"), "expected key=value"),
        (
            ("--tuner", "batch-mira", "--set", "space=forest", "--metric", "ter"),
            "space forest: supports only BLEU, and the metric is ter",
        ),
        (
            ("--tuner", "pro", "--set", "smooth_brevity=true", "--metric", "ter"),
            "smooth_brevity: TER has no brevity penalty to smooth",
        ),
        (
            ("--tuner", "pro", "--set", "max_length_difference=3", "--metric", "ter"),
            "max_length_difference: TER does not count words",
        ),
        (("--set", "space=forest", "--kbest", "5"), "--kbest: mert learns from whole"),
        (
            ("--tuner", "maxforce", "--set", "eta=1", "--kbest", "5"),
            "--kbest: maxforce learns from whole",
        ),
        (
            ("--tuner", "mira", "--set", "space=forest", "--kbest", "5"),
            "--kbest: mira learns from whole",
        ),
        (
            ("--tuner", "lattice-svm", "--no-distinct", "--set", "order=2"),
            "--no-distinct: lattice-svm learns from whole forests",
        ),
        (("--fix", "lmm"), "the model has no feature 'lmm'"),
        (("--fix", "lmm", "--runs", "2"), "the model has no feature 'lmm'"),
        (("--tie", "lm words", "--set", "space=forest"), "--tie needs k-best lists"),
        (("--heldout", "dev.zh"), "--heldout and --heldout-refs: only together"),
        (("--options", "bem=3"), "unknown key 'bem'"),
        (("--weights", "nowhere.tsv"), "nowhere.tsv: No such file"),
        (("--weights", "-", "--train", "-", "en"), "stdin can be only one of them"),
        (
            ("--train", "zh", "en", "--prefixes", "5", "--align", "-"),
            "--align -: the alignment is read more",
        ),
        (("--model", "nowhere"), "nowhere: is no model directory"),
    ],
)
def test_bad_options(
    world: Path, tmp_path: Path, inside: Run, more: tuple[str, ...], message: str
) -> None:
    done = inside(*command(world, tmp_path / "run", *more), cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert message in done.stderr
    assert not (tmp_path / "run").exists()


def test_bad_input(world: Path, tmp_path: Path, inside: Run) -> None:
    short = tmp_path / "short.en"
    short.write_text("one line\n")
    words = ["tune", "--model", world / "model", "--dev", world / "dev.zh", "--refs", short]
    done = inside(*words, "--tuner", "mert", "-o", tmp_path / "run")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "has 25 lines" in done.stderr
    assert not (tmp_path / "run").exists()
    (tmp_path / "empty").write_text("")
    words = ["tune", "--model", world / "model", "--dev", tmp_path / "empty"]
    words += ["--refs", tmp_path / "empty", "--tuner", "mert", "-o", tmp_path / "run"]
    done = inside(*words)
    assert done.returncode == 2
    assert "is empty" in done.stderr


def test_tokenised_references_are_noticed(world: Path, tmp_path: Path, inside: Run) -> None:
    for number in range(4):
        lines = (world / f"dev.en.{number}").read_text().splitlines()
        (tmp_path / f"dev.en.{number}").write_text("".join(f"Oh , {line} .\n" for line in lines))
    heldout = ("--heldout", tmp_path / "dev.zh", "--heldout-refs", tmp_path / "dev.en.0")
    given = command(world, tmp_path / "run", *heldout)
    raw = (world / "dev.zh").read_text().replace(" ,", ",").replace(" .", ".")
    (tmp_path / "dev.zh").write_text(raw)
    given[given.index("--dev") + 1] = str(tmp_path / "dev.zh")
    refs = [str(tmp_path / f"dev.en.{number}") for number in range(4)]
    begin = given.index("--refs") + 1
    done = inside(*given[:begin], *refs, *given[begin + 4 :])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("has blanks before commas and full stops") == 1
