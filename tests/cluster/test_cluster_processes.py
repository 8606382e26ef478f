"""Commands on a cluster as processes: signals, what they leave, what they print."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.temporary import remove_leftovers

TESTS = Path(__file__).resolve().parents[1]
Start = Callable[..., "subprocess.Popen[bytes]"]


def alive(marker: str) -> list[str]:
    """The processes with a word in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if marker.encode() in (entry / "environ").read_bytes():
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes()[:200]!r}")
        except OSError:
            continue
    return found


def until(condition: Callable[[], Any], seconds: float, what: str) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


class Driver:
    """A process of `cluster_driver.py`, in a process group of its own, as a shell starts one."""

    def __init__(
        self,
        start: Start,
        address: str,
        folder: Path,
        what: str,
        temporary: Path | None = None,
    ) -> None:
        self.marker = uuid.uuid4().hex
        self.folder = folder
        env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        env |= {"HOPEFEAR_TEST": self.marker, "PYTHONPATH": str(TESTS), "RAY_TMPDIR": str(folder)}
        if temporary is not None:
            env["TMPDIR"] = str(temporary)
        if address != "auto":
            env["RAY_AUTH_MODE"] = "disabled"
        self.process = start(
            [sys.executable, TESTS / "cluster_driver.py", address, folder, what],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )

    def workers(self) -> list[int]:
        return [int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()]

    def wait_for_work(self) -> None:
        until(lambda: self.workers() or self.process.poll() is not None, 60, "no work started")

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()

    def check_nothing_is_left(self, seconds: float = 10) -> None:
        until(lambda: not alive(self.marker), seconds, f"still there: {alive(self.marker)}")
        gone = [Path(f"/proc/{pid}") for pid in self.workers()]
        until(lambda: not any(path.exists() for path in gone), seconds, "a worker is left")


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGKILL, -9, "")],
)
def test_a_signal_ends_the_command_and_its_workers(
    machines: Any, start: Start, tmp_path: Path, number: int, code: int, text: str
) -> None:
    driver = Driver(start, machines.address, tmp_path, "endless")
    driver.wait_for_work()
    begin = time.monotonic()
    driver.process.send_signal(number)
    assert driver.end() == (code, "", text)
    assert time.monotonic() - begin < 10
    driver.check_nothing_is_left()


def test_dead_workers_print_nothing(machines: Any, start: Start, tmp_path: Path) -> None:
    assert Driver(start, machines.address, tmp_path, "dies").end() == (0, "done\n", "")


def test_clusters_of_commands_end_with_them(start: Start, tmp_path: Path) -> None:
    """Two at a time know nothing of each other. Ctrl-C goes to all processes of a terminal."""
    with tempfile.TemporaryDirectory(prefix="hf-", dir="/tmp") as short:  # paths of sockets
        drivers = []
        for name in ("interrupted", "killed"):
            (tmp_path / name).mkdir()
            drivers.append(Driver(start, "auto", tmp_path / name, "endless", Path(short)))
        interrupted, killed = drivers
        interrupted.wait_for_work()
        killed.wait_for_work()
        assert any("raylet" in process for process in alive(killed.marker))
        os.killpg(interrupted.process.pid, signal.SIGINT)
        assert interrupted.end() == (130, "", "interrupted\n")
        interrupted.check_nothing_is_left()
        assert len(list(Path(short).glob("hopefear-*"))) == 1
        assert killed.process.poll() is None
        assert all(Path(f"/proc/{pid}").exists() for pid in killed.workers())
        killed.process.kill()
        assert killed.end() == (-9, "", "")
        killed.check_nothing_is_left(90)  # helpers of Ray may wait a minute for each other
        remove_leftovers(Path(short), "hopefear-ray-")  # as the next command does
        assert list(Path(short).iterdir()) == []


def test_nothing_at_the_address(start: Start, tmp_path: Path) -> None:
    begin = time.monotonic()
    code, out, error = Driver(start, "127.0.0.1:9", tmp_path, "ends").end()
    assert (code, out) == (2, "")
    assert error.startswith("--cluster 127.0.0.1:9: nothing answers there (Connection refused)")
    assert time.monotonic() - begin < 15
