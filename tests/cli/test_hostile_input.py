"""Input and limits that no user means: one line and exit code 2, in little time and memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
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


TUNER = """
from dataclasses import dataclass
from hopefear.base.registry import register
from hopefear.learn.tuner import BatchTuner

@register("tuner", "mine")
@dataclass(kw_only=True)
class Mine(BatchTuner):
    '''A tuner.'''
    def optimize(self, pool, weights, task):
        {}
"""
FEATURE = """
from hopefear.features.feature import feature

@feature("mine")
def mine(use):
    {}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TUNER.format("raise ValueError('a\\nb')"), "plugin.py:11: plugin fails with ValueError: "),
        (TUNER.format("return None"), "tuner mine: optimize returns NoneType, expected Optimized"),
        (
            TUNER.replace('"mine"', '"pro"'),
            "tuner 'pro' is registered twice, by hopefear.learn.batch.pro.Pro and plugin.Mine",
        ),
    ],
)
def test_a_plugin_whose_tuner_fails(hopefear: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "plugin.py").write_text(text)
    (tmp_path / "lists").write_text("0 ||| a ||| x= 1 ||| 1\n0 ||| b ||| x= 2 ||| 1\n")
    (tmp_path / "ref").write_text("a\n")
    words = ["rerank", "tune", "--nbest", "lists", "--refs", "ref", "--tuner", "mine", "-o", "w"]
    refused(hopefear(*words, "--plugin", "plugin.py", cwd=tmp_path), message)
    assert not (tmp_path / "w").exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, hopefear: Run) -> Path:
    """A folder with a world, a phrase model, a hierarchical model and a run."""
    folder = tmp_path_factory.mktemp("trained")
    train = ["train", "train.zh", "train.en", "--tokenized", "--order", "2"]
    tune = ["tune", "--model", "m", "--dev", "dev.zh", "--refs", "dev.en.0", "--tokenized"]
    for words in (
        ["world", "-o", ".", "--train", "100", "--dev", "4", "--test", "1"],
        [*train, "--model", "m"],
        [*train, "--model", "h", "--system", "hiero"],
        [*tune, "--tuner", "mira", "--iterations", "1", "-o", "run"],
    ):
        done = hopefear(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("raise ValueError('no')", "plugin.py:6: plugin fails with ValueError: no"),
        ("yield 5", "feature template mine: yields 5, expected a part of the name and a number"),
        ("yield 'a', 'b'", "feature template mine: yields ('a', 'b'), expected a part of the name"),
    ],
)
def test_a_plugin_whose_feature_fails(
    hopefear: Run, trained: Path, tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "plugin.py").write_text(FEATURE.format(line))
    words = ["inspect", trained / "m", "--features", "a", "--templates", "mine", "--tokenized"]
    refused(hopefear(*words, "--plugin", "plugin.py", cwd=tmp_path), message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("world -o", "--output: '' is not valid; give a path"),
        ("score a --refs", "--refs: '' is not valid; give a path"),
        ("inspect", "PATH: '' is not valid; give a path"),
    ],
)
def test_an_empty_path(hopefear: Run, tmp_path: Path, words: str, message: str) -> None:
    """As in -o "$DIR" without the variable; it would name the current directory."""
    refused(hopefear(*words.split(), "", cwd=tmp_path), message)


@pytest.mark.parametrize(
    "words",
    [
        "rerank tune --nbest b --refs a --tuner mert --output b",
        "align a b --output ./a",
        "cluster a b --output b",
        "lm estimate a --output a",
        "translate --model m -i a --output a",
        "forced a b --model m --gold-out b",
        "text clean a b --output b c",
        "text clean a b --output c d --log a",
    ],
)
def test_an_output_that_is_an_input(hopefear: Run, tmp_path: Path, words: str) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "b").symlink_to("a")
    done = hopefear(*words.split(), cwd=tmp_path)
    refused(done, "is an input and would be overwritten; give another name")
    assert (tmp_path / "a").read_text() == "a\n"


def test_two_outputs_of_one_name(hopefear: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    done = hopefear("align", "a", "a", "-o", "o", "--save-model", "./o", cwd=tmp_path)
    refused(done, "-o and --save-model are both o; give different names")


def test_a_full_stdout(trained: Path) -> None:
    for words in (["translate", "--model", "m", "-i", "train.zh"], ["version"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "hopefear", *words, "--progress", "off"],
                cwd=trained,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "hopefear: <stdout>: No space left on device"


def test_training_without_any_rule(hopefear: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "links").write_text("\n" * 100)
    words = ["train", trained / "train.zh", trained / "train.en", "--tokenized", "--order", "2"]
    done = hopefear(*words, "--model", "m", "--align", "links", cwd=tmp_path)
    refused(done, "m/rules.bin: no rules in 100 sentence pairs; check the alignment, or --min-co")
    assert not (tmp_path / "m" / "model.toml").exists()


def test_rules_of_another_system(hopefear: Run, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "m", tmp_path / "m")
    shutil.copy(trained / "h" / "rules.bin", tmp_path / "m" / "rules.bin")
    done = hopefear("translate", "--model", "m", input="a\n", cwd=tmp_path)
    refused(done, "m/rules.bin: rules of the system 'hiero', expected 'phrase' as in model.toml")


@pytest.mark.parametrize("change", ["edit", "remove", "cut"])
def test_damaged_weights_of_an_iteration(
    hopefear: Run, trained: Path, tmp_path: Path, change: str
) -> None:
    shutil.copytree(trained / "run", tmp_path / "runs" / "1")
    path = tmp_path / "runs" / "1" / "iterations" / "01.tsv"
    text = path.read_text()
    assert hopefear("inspect", "runs", "--verify", cwd=tmp_path).returncode == 0
    path.write_text(text.replace("lm\t", "lm\t1") if change == "edit" else text[:-9])
    if change == "remove":
        path.unlink()
    fault = "no such file" if change == "remove" else "differs from the file that was written in"
    refused(hopefear("inspect", "runs", "--verify", cwd=tmp_path), f"1/iterations/01.tsv: {fault}")


@pytest.mark.parametrize("megabytes", [300, 450, 600])
def test_little_virtual_memory(trained: Path, tmp_path: Path, megabytes: int) -> None:
    """OpenBLAS, loaded with too little memory, does not return."""
    size = megabytes << 20
    tune = ["tune", "--model", "m", "--dev", "dev.zh", "--refs", "dev.en.0", "--tokenized"]
    done = subprocess.run(
        [sys.executable, "-m", "hopefear", *tune, "--tuner", "pro", "-o", tmp_path / "run"],
        cwd=trained,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )
    refused(done, "the limit of virtual memory leaves")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["run/checkpoint/state.json", "m/work/steps.json"])
def test_a_pipe_in_the_place_of_a_state(
    hopefear: Run, trained: Path, tmp_path: Path, name: str
) -> None:
    """A pipe without another end is opened for ever."""
    for folder in ("run", "m"):
        shutil.copytree(trained / folder, tmp_path / folder)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    texts = [str(trained / file) for file in ("dev.zh", "dev.en.0")]
    words = ["tune", "--model", "m", "--dev", texts[0], "--refs", texts[1], "--tokenized"]
    words += ["--tuner", "mira", "--iterations", "1", "-o", "run", "--resume"]
    if name.startswith("m/"):
        words = ["train", *texts, "--model", "m", "--tokenized"]
    refused(hopefear(*words, cwd=tmp_path), f"{name}: a device or a pipe, expected a file; remove")
