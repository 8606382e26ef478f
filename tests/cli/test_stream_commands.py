"""Learner and decoder in two processes, compared with both in one process."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.decode.contract import Decoded, Decoder, Request
from hopefear.forest import ForestBuilder, kbest
from hopefear.forest.io.nbest_text import named_features
from hopefear.learn.loop.base import TuningSet
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory
from hopefear.learn.online.mira import Mira, Rm
from hopefear.metrics import create
from hopefear.model.directory import Model

Run = Callable[..., subprocess.CompletedProcess[str]]
SENTENCES, K = 8, 20
SMALL = ("--iterations", "2", "--kbest", str(K), "--patience", "0", "--threads", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    commands = [["world", "-o", ".", "--train", "200", "--dev", str(SENTENCES), "--test", "2"]]
    for system in ("phrase", "hiero"):
        more = ["--system", system, "--tokenized", "--order", "2"]
        commands.append(["train", "train.zh", "train.en", "--model", system, *more])
    for words in commands:
        done = hopefear(*words, "--progress", "off", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def serving(model: Path, *more: str) -> str:
    words = [sys.executable, "-m", "hopefear", "translate", "--model", str(model), *more]
    return shlex.join(words) + " --weights {weights} --serve-learner --nbest {k} --distinct"


def command(folder: Path, run: Path, *more: str) -> list[str]:
    refs = [str(folder / f"dev.en.{number}") for number in range(4)]
    words = ["tune", "--dev", str(folder / "dev.zh"), "--refs", *refs, "--tokenized", *SMALL]
    return [*words, "-o", str(run), *more]


class Lists(Decoder):
    """A decoder that returns the k best derivations of each forest."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.names = decoder, decoder.names

    @property
    def dense(self) -> list[str]:
        return []

    def answer(self, request: Request) -> Decoded:
        weights = request.weights
        builder = ForestBuilder(names=self.names)
        node = builder.node()
        for derivation in kbest(self.decoder.decode(request).forest, weights, K, distinct=True):
            row = builder.row(named_features(derivation, self.names), share=False)
            builder.edge(node, (), derivation.words, row=row)
        return Decoded(builder.finish(node))


def in_one_process(folder: Path, system: str, run: Path, make: Callable[[], Mira]) -> None:
    model = Model.load(folder / system)
    texts = [(folder / f"dev.{end}").read_text().splitlines() for end in ("zh", *REFERENCES)]
    directory = RunDirectory(run)
    directory.prepare({"tuner": "x"}, resume=False)
    OnlineLoop(
        make_tuner=make,
        decoder=Lists(model.decoder()),
        metric=create("bleu"),
        data=TuningSet(texts[0], list(zip(*texts[1:], strict=True))),
        start=model.weights(),
        directory=directory,
        options=LoopOptions(iterations=2, kbest=K, patience=0),
    ).run()


REFERENCES = [f"en.{number}" for number in range(4)]


@pytest.mark.parametrize(
    ("system", "words", "make"),
    [
        ("phrase", ("--tuner", "mira"), Mira),
        ("hiero", ("--tuner", "mira", "--set", "learners=2"), lambda: Mira(learners=2)),
        ("phrase", ("--tuner", "rm", "--set", "minibatch=3"), lambda: Rm(minibatch=3)),
    ],
    ids=["mira", "learners", "rm"],
)
def test_two_processes_learn_the_weights_of_one(
    folder: Path,
    tmp_path: Path,
    hopefear: Run,
    system: str,
    words: tuple[str, ...],
    make: Callable[[], Mira],
) -> None:
    """The weights are equal to the last bit."""
    model = str(folder / system)
    more = ("--model", model, "--stream-decoder", serving(folder / system), *words)
    done = hopefear(*command(folder, tmp_path / "two", *more))
    assert done.returncode == 0, done.stderr
    assert "warning: decoder" not in done.stderr
    in_one_process(folder, system, tmp_path / "one", make)
    for number in range(3):
        name = f"iterations/{number:02}.tsv"
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_run_resumes_after_its_decoder_died(folder: Path, tmp_path: Path, hopefear: Run) -> None:
    """The new process gets the current weights, and the result does not change."""
    Model.load(folder / "phrase").weights().save(tmp_path / "start.tsv")
    limit = tmp_path / "limit"
    some = "i=0; while [ $i -lt 20 ] && IFS= read -r l; do printf '%s\\n' \"$l\"; i=$((i+1)); done"
    decoder = f"if [ -e {limit} ]; then {some}; else cat; fi | {serving(folder / 'phrase')}"
    more = ["--tuner", "mira", "--weights", str(tmp_path / "start.tsv")]
    more += ["--stream-decoder", decoder]
    done = hopefear(*command(folder, tmp_path / "whole", *more))
    assert done.returncode == 0, done.stderr
    limit.touch()
    died = hopefear(*command(folder, tmp_path / "died", *more))
    assert died.returncode == 2
    assert "ended with exit code 0 in the middle of the exchange" in died.stderr
    limit.unlink()
    done = hopefear(*command(folder, tmp_path / "died", *more, "--resume"))
    assert done.returncode == 0, done.stderr
    for name in ("weights.tsv", "iterations/02.tsv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "died" / name).read_bytes()


def test_a_decoder_with_invalid_output(folder: Path, tmp_path: Path, hopefear: Run) -> None:
    Model.load(folder / "phrase").weights().save(tmp_path / "start.tsv")
    more = ["--tuner", "mira", "--weights", str(tmp_path / "start.tsv"), "--stream-decoder"]
    done = hopefear(*command(folder, tmp_path / "run", *more, "read l; echo no licence; sleep 60"))
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("hopefear: ")]
    assert "'no licence', expected the number of entries; its last line: no licence" in line
    none = "echo no grammar >&2; while read l; do echo 0; done"
    done = hopefear(*command(folder, tmp_path / "run1", *more, none))
    assert done.returncode == 2
    assert f"gave no translation at all, of {SENTENCES} sentences" in done.stderr
    assert "its last line: no grammar" in done.stderr
    assert not (tmp_path / "run1" / "weights.tsv").exists()
    late = ["echo loading >&2; sleep 60", "--options", "start_timeout=0.5"]
    done = hopefear(*command(folder, tmp_path / "run2", *more, *late))
    assert done.returncode == 2
    assert "has not answered for 0.5 seconds" in done.stderr
    assert "its last line: loading" in done.stderr
    for words, message in (
        (["x", "--decoder", "y {weights}"], "--decoder and --stream-decoder exclude each"),
        (["x {wieghts}"], "did you mean {weights}"),
    ):
        done = hopefear(*command(folder, tmp_path / "run3", *more, *words))
        assert done.returncode == 2
        assert message in done.stderr
        assert not (tmp_path / "run3").exists()


def test_an_interrupt_leaves_no_process(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    Model.load(folder / "phrase").weights().save(tmp_path / "start.tsv")
    pids = tmp_path / "pids"
    decoder = f"echo $$ >> {pids}; sleep 300"
    more = ["--weights", str(tmp_path / "start.tsv"), "--tuner", "mira", "--set", "learners=2"]
    words = command(folder, tmp_path / "run", *more, "--stream-decoder", decoder)
    process = start([sys.executable, "-m", "hopefear", *words], stderr=subprocess.PIPE)
    while process.poll() is None and not (pids.exists() and pids.read_text().count("\n") == 2):
        time.sleep(0.05)
    for _ in range(3):  # Python may lose a signal that comes while an object is freed
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
            break
    assert process.stderr is not None
    assert process.returncode == 130, process.stderr.read().decode()
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_serving(folder: Path, hopefear: Run, tmp_path: Path) -> None:
    words = ["translate", "--model", folder / "phrase", "--serve-learner"]
    line = (folder / "dev.zh").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "asked").write_text(f'<seg id="7"> {line} </seg>\n', encoding="utf-8")
    done = hopefear(*words, "-i", tmp_path / "asked", "-o", tmp_path / "answers")
    assert done.returncode == 0, done.stderr
    answers = (tmp_path / "answers").read_text(encoding="utf-8").split("\n")
    assert len(answers) == 502
    assert answers[0] == "500"
    assert answers[1].startswith(f"7 ||| {len(line.split())} ||| ")
    done = hopefear(*words, "--nbest", "1", input=f"<seg> {line} </seg>\nnonsense\n")
    assert done.returncode == 2
    assert done.stdout.startswith("1\n0 ||| ")
    assert "hopefear: <stdin>:2: 'nonsense', expected <seg" in done.stderr
    done = hopefear(*words, "--mbr", input="")
    assert done.returncode == 2
    assert "--mbr: cannot be combined with --serve-learner" in done.stderr
