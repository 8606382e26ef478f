"""The conventions of the command line, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def hopefear(hopefear_process: Run) -> Run:
    """Run each command in a process of its own, from the start of the interpreter."""
    return hopefear_process


def test_overview(hopefear: Run) -> None:
    for words in ([], ["--help"], ["help"]):
        result = hopefear(*words, env={"COLUMNS": "80"})
        assert result.returncode == 0
        assert "usage: hopefear COMMAND" in result.stdout
        assert "version" in result.stdout
        assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_version(hopefear: Run) -> None:
    assert hopefear("--version").stdout.startswith("hopefear 0.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("vresion", "unknown command 'vresion'; did you mean 'version'?"),
        ("--progress off", "unknown option '--progress'; give a command first"),
        ("version --jsn", "unknown option '--jsn'; did you mean '--json'?"),
        ("version extra", "unexpected argument 'extra'"),
        ("version --progress sometimes", "--progress: 'sometimes' is not valid; give one of"),
        ("version --set a", "--set a: expected key=value"),
        ("version --set a=1", "--set: unknown key 'a'"),
        ("version --config absent.toml", "absent.toml: No such file or directory"),
    ],
)
def test_input_errors(hopefear: Run, words: str, message: str, tmp_path: Path) -> None:
    result = hopefear(*words.split(), cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("hopefear: ")
    assert message in result.stderr


def test_debug_shows_the_traceback(hopefear: Run) -> None:
    result = hopefear("version", "--debug", "--set", "a=1")
    assert result.returncode == 2
    assert "Traceback" in result.stderr


PLUGIN = """
import dataclasses, pathlib, sys, time
from hopefear.base import registry
from hopefear.cli.command import Command
from hopefear.cli.main import main
from hopefear.base.config import option
from hopefear.base.files import write_text

@registry.register("command", "try")
@dataclasses.dataclass(kw_only=True)
class Try(Command):
    '''Misbehave.'''
    how: str = option(help="how")
    size: int = option(1, min=0, help="how much")
    def run(self, console):
        if self.how == "bug":
            raise ZeroDivisionError("1/0")
        if self.how == "print":
            for i in range(100000):
                console.print("x" * 50)
        if self.how == "wait":
            with write_text("out.txt") as file:
                print("ready", flush=True)
                time.sleep(30)
        if self.how == "report":
            return {"size": self.size, "name": "ä"}

sys.exit(main(["try", *sys.argv[1:]]))
"""


@pytest.fixture
def misbehave(tmp_path: Path) -> list[str]:
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    return [sys.executable, str(tmp_path / "plugin.py"), "--how"]


def test_a_bug_is_exit_1(misbehave: list[str]) -> None:
    result = subprocess.run([*misbehave, "bug"], capture_output=True, text=True)
    assert result.returncode == 1
    assert "internal error: ZeroDivisionError: 1/0" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_is_quiet(misbehave: list[str]) -> None:
    shell = " ".join(misbehave) + " print | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_file(
    misbehave: list[str], start: Start, tmp_path: Path, number: int, code: int
) -> None:
    process = start([*misbehave, "wait"], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait(timeout=60) == code
    assert [p.name for p in tmp_path.iterdir()] == ["plugin.py"]


def test_config_set_and_options_in_that_order(misbehave: list[str], tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[try]\nsize = 1\n")

    def size(*words: str) -> str:
        command = [*misbehave, "report", "--json", "--config", str(tmp_path / "c.toml"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert size() == '{"size": 1, "name": "ä"}\n'
    assert size("--set", "size=2") == '{"size": 2, "name": "ä"}\n'
    assert size("--set", "size=2", "--size", "3") == '{"size": 3, "name": "ä"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[other]\n", "has no table [try]"),
        ("try = 3\n", "has no table [try]"),
        ("[try]\nsiez = 1\n", "unknown key 'siez'; did you mean 'size'?"),
        ("[try]\nsize = -1\n", "size: -1 is out of range"),
        ("[try\n", "not valid TOML"),
    ],
)
def test_bad_config(misbehave: list[str], tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(content)
    command = [*misbehave, "report", "--config", str(tmp_path / "c.toml")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_locales(misbehave: list[str]) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = subprocess.run([*misbehave, "report"], capture_output=True, env=env)
    assert "name  ä".encode() in result.stdout


def test_a_full_disk_is_one_line(misbehave: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run([*misbehave, "print"], stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert result.stderr == b"hopefear: <stdout>: No space left on device\n"


@pytest.mark.parametrize(
    ("shell", "code", "message"),
    [
        ("{} version >&-", 2, "hopefear: stdout is closed; open it, for instance to /dev/null\n"),
        (
            "{} lm estimate -o lm.arpa - <&-",
            2,
            "hopefear: <stdin>: closed; give a file or a pipe\n",
        ),
        ("{} version 2>&- >/dev/null", 0, ""),
        ("{} vresion 2>&-", 2, ""),
        ("{} vresion 2>/dev/full", 2, ""),
    ],
)
def test_closed_streams(tmp_path: Path, shell: str, code: int, message: str) -> None:
    command = shell.format(f"{sys.executable} -m hopefear")
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (code, message)
    assert not list(tmp_path.iterdir())
