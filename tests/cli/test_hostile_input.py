"""Input and limits that no user means: one line and exit code 2, in little time and memory."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[bytes]"]

BIG = "9" * 5000


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.splitlines()[-1]


def test_forests_whose_derivations_double(tmp_path: Path, hopefear: Run) -> None:
    """A node that is both tails of the next one, 25 times."""
    edges = [{"head": 0, "target": [word], "features": {"x": 1}} for word in "ab"]
    edges += [{"head": i, "tails": [i - 1, i - 1]} for i in range(1, 26)]
    forest = {"id": "7", "goal": 25, "nodes": 26, "edges": edges}
    (tmp_path / "f.jsonl").write_text(json.dumps(forest) + "\n")
    (tmp_path / "ref").write_text("a\n")
    (tmp_path / "w").write_text("x\t1\n")
    for tuner in ("mert", "lattice-svm"):
        words = ["--lattices", "f.jsonl", "--refs", "ref", "--weights", "w", "--tuner", tuner]
        done = hopefear("tune", *words, "-o", tuner, cwd=tmp_path)
        refused(done, "forest '7': a derivation has more than 16777216 edges")


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("moses", f"{BIG} ||| a ||| x= 1 ||| 1"),
        ("cdec", f"{BIG} ||| a ||| x=1 ||| 1"),
        ("jsonl", f'{{"id": "{BIG}", "text": "a", "features": {{"x": 1}}}}'),
    ],
)
def test_ids_of_many_digits(tmp_path: Path, hopefear: Run, format: str, line: str) -> None:
    (tmp_path / "lists").write_text(line + "\n")
    (tmp_path / "ref").write_text("a\n")
    (tmp_path / "w").write_text("x\t1\n")
    lists = ["--nbest", "lists", "--format", format, "-o", "out"]
    tuned = hopefear("rerank", "tune", *lists, "--refs", "ref", "--tuner", "mert", cwd=tmp_path)
    refused(tuned, "lists: id 999")
    refused(hopefear("rerank", "apply", *lists, "--weights", "w", cwd=tmp_path), "lists: id 999")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "tune --model m --dev d --refs r --tuner pro -o o --kbest 1000000000",
            "--kbest: 1000000000 is out of range; give a whole number from 1 to 1000000",
        ),
        (
            f"extract s t a --system phrase -o o --limit {2**62}",
            f"--limit: {2**62} is out of range; give a whole number from 0 to 2147483647",
        ),
        (
            f"forced s t --model m --shortest-prefix {2**31}",
            f"--shortest-prefix: {2**31} is out of range; give a whole number from 1 to 2147483647",
        ),
        (
            f"inspect m --top {2**70}",
            f"--top: {2**70} is out of range; give a whole number from 1 to 2147483647",
        ),
    ],
)
def test_counts_have_a_largest_value(hopefear: Run, words: str, message: str) -> None:
    refused(hopefear(*words.split()), message)


def test_seeds_are_longer(hopefear: Run, tmp_path: Path) -> None:
    seed = str(2**62)
    words = ["world", "-o", "w", "--train", "2", "--dev", "1", "--test", "1", "--seed", seed]
    assert hopefear(*words, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("inspect /dev/zero", "/dev/zero: a device or a pipe, expected a file"),
        ("score /dev/zero --refs /dev/zero", "/dev/zero:1: a line of 268,435,456 bytes or more"),
        ("lm compile /dev/zero -o lm.bin", "/dev/zero:1: a line of 268435456 bytes or more"),
        ("version --config /dev/zero", "/dev/zero: more than 67,108,864 bytes, expected a TOML"),
    ],
)
def test_endless_input(hopefear: Run, tmp_path: Path, words: str, message: str) -> None:
    refused(hopefear(*words.split(), cwd=tmp_path), message)


def test_a_pipe_is_not_inspected(hopefear: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(hopefear("inspect", "pipe", cwd=tmp_path), "pipe: a device or a pipe")


def test_unequal_files_are_named_as_given(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "a.zh").write_text("x\ny\n")
    (tmp_path / "a.en").write_text("x\n")
    (tmp_path / "none").write_text("")
    words = ["train", "a.zh", "a.en", "--model", "m", "--tokenized"]
    refused(hopefear(*words, cwd=tmp_path), "a.zh has 2 lines, a.en has 1 line; parallel files")
    words[2] = "a.zh"
    done = hopefear(*words, "--lm-text", "none", cwd=tmp_path)
    refused(done, "none: no words in it")
    assert "tmp" not in done.stderr.splitlines()[-1]


def _little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))


def test_a_full_disk_while_tuning(hopefear: Run, tmp_path: Path) -> None:
    """A limit on file sizes simulates a full disk."""
    parts = ["--train", "200", "--dev", "10", "--test", "1"]
    for words in (
        ["world", "-o", ".", *parts],
        ["train", "train.zh", "train.en", "--model", "m", "--tokenized", "--order", "2"],
    ):
        assert hopefear(*words, cwd=tmp_path).returncode == 0
    tune = ["tune", "--model", "m", "--dev", "dev.zh", "--refs", "dev.en.0", "--tokenized"]
    done = subprocess.run(
        [sys.executable, "-m", "hopefear", *tune, "--tuner", "pro", "-o", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=_little_room,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "hopefear: run/checkpoint/pool/00.npz: File too large"


def test_the_rules_of_one_pair_can_be_interrupted(tmp_path: Path, start: Start) -> None:
    """A pair with few links has very many rules; one pair is extracted by one thread."""
    for side in "st":
        (tmp_path / side).write_text(" ".join(f"{side}{i}" for i in range(80)) + "\n")
    (tmp_path / "links").write_text(" ".join(f"{i}-{i}" for i in range(0, 80, 3)) + "\n")
    words = ["extract", "s", "t", "links", "--system", "hiero", "-o", "rules"]
    process = start(
        [sys.executable, "-m", "hopefear", *words, "--max-span", "40", "--progress", "lines"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"read: 1 sentences")
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    assert process.wait(60) == 143
    assert time.monotonic() - begin < 10


PLUGINS = {
    "import sys; sys.exit(0)": "plugin.py: plugin ends the process with sys.exit(0) while it is l",
    "import sys; sys.exit('no')": "plugin.py: plugin ends the process with sys.exit('no') while",
}


@pytest.mark.parametrize("text", PLUGINS)
def test_a_plugin_that_exits_while_it_is_loaded(hopefear: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "plugin.py").write_text(text)
    done = hopefear("inspect", "m", "--plugin", "plugin.py", cwd=tmp_path)
    refused(done, PLUGINS[text])


COMMAND = """
import dataclasses
from pathlib import Path
from hopefear.base import registry
from hopefear.base.config import option
from hopefear.base.threads import in_order
from hopefear.cli.command import Command

@registry.register("command", "leave")
@dataclasses.dataclass(kw_only=True)
class Leave(Command):
    '''Leave.'''
    plugin: list[Path] = option([], help="plugins")
    def run(self, console):
        list(in_order(lambda item: exit(item), [0], threads=2))
"""


def test_a_plugin_that_exits_later(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(COMMAND)
    done = hopefear("leave", "--plugin", "plugin.py", cwd=tmp_path)
    refused(done, "plugin.py:15: plugin ends the process with sys.exit(0); raise an error instead")


@pytest.mark.parametrize("seconds", [0.01, 0.02, 0.04, 0.08, 0.16])
def test_ctrl_c_while_modules_load_is_quiet(start: Start, seconds: float) -> None:
    code = "import sys; from hopefear.__main__ import main; print(flush=True); sys.exit(main())"
    process = start(
        [sys.executable, "-c", code, "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1].decode()
    assert process.returncode in (0, 130, -signal.SIGINT), error
    assert error in ("", "interrupted\n")
