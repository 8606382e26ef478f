"""A tuning run that is stopped, or killed, leaves no decoder and no temporary file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Start = Callable[..., subprocess.Popen[bytes]]

SENTENCES = 6
# Two processes, of which one ignores polite requests to end.
HANGS = (
    "echo $$ >> {pids}; (trap '' TERM HUP; sh -c 'echo $$ >> {pids}; sleep 600'); cat {{weights}}"
)
KINDS = {"--decoder": ("pro", " {nbest}"), "--stream-decoder": ("mira", "")}


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def running(pid: int) -> bool:
    """Whether a process runs; in a container, nobody may take note of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_nothing_is_left(
    tmp_path: Path, start: Start, kind: str, number: signal.Signals, code: int, threads: int
) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "text").write_text("a b\n" * SENTENCES)
    (tmp_path / "weights").write_text("x\t1\n")
    pids = tmp_path / "pids"
    tuner, more = KINDS[kind]
    command = HANGS.format(pids=pids) + more
    words = ["tune", kind, command, "--tokenized", "--weights", "weights", "--tuner", tuner]
    words += ["--threads", str(threads), "--dev", "text", "--refs", "text", "-o", "run"]
    process = start(
        [sys.executable, "-m", "hopefear", *words, "--progress", "off"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
    )
    assert wait_for(lambda: pids.exists() and pids.read_text().count("\n") >= 2)
    assert list((tmp_path / "tmp").iterdir())
    process.send_signal(number)
    error = process.communicate(timeout=60)[1].decode()
    assert process.returncode == code
    said = [line for line in error.splitlines() if not line.startswith("cost ")]
    assert said == (["interrupted"] if number == signal.SIGINT else [])
    left = [int(pid) for pid in pids.read_text().split()]
    assert wait_for(lambda: not any(map(running, left)), 10)
    assert wait_for(lambda: not list((tmp_path / "tmp").iterdir()), 10)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_temporary_files_of_a_run_killed_with_its_guard_are_removed_by_the_next(
    tmp_path: Path, start: Start
) -> None:
    """As by a lack of memory or power."""
    (tmp_path / "tmp").mkdir()
    script = (
        "import time; from hopefear.base.temporary import temporary_directory\n"
        "with temporary_directory('hopefear.'): print(flush=True); time.sleep(600)"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    for _ in range(3):
        process = start([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environ)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        assert len(list((tmp_path / "tmp").iterdir())) == 1
        process.kill()
        process.wait()
