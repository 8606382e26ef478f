"""Temporary files and directories: made, removed, and removed for a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hopefear.base.files import atomic_directory, open_output
from hopefear.base.temporary import temporary_directory, temporary_file


def test_they_are_removed_at_the_end(tmp_path: Path) -> None:
    with temporary_file(tmp_path, ".a.") as file, temporary_directory(".b.", tmp_path) as directory:
        (directory / "x").write_text("x")
        assert file.is_file()
        assert sorted(p.name[:3] for p in tmp_path.iterdir()) == [".a.", ".b."]
    assert not list(tmp_path.iterdir())


def test_those_in_use_are_kept(tmp_path: Path) -> None:
    """Two files of one prefix; the lock belongs to the open file, not to the process."""
    with temporary_file(tmp_path, ".a.") as one, temporary_file(tmp_path, ".a.") as two:
        assert one.is_file()
        assert two.is_file()


def test_other_names_are_kept(tmp_path: Path) -> None:
    names = [".a.short.tmp", ".a.12345678.txt", ".b.12345678.tmp", "a.12345678.tmp"]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "target").write_text("")
    (tmp_path / ".a.abcdefgh.tmp").symlink_to("target")
    with temporary_file(tmp_path, ".a."):
        pass
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names, "target", ".a.abcdefgh.tmp"}


MAKE = """
import sys, time
from pathlib import Path
from hopefear.base.files import atomic_directory, open_output
with open_output("out") as file, atomic_directory("folder") as folder:
    (folder / "x").write_text("x")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_those_of_a_killed_process_are_removed_by_the_next(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = start([sys.executable, "-c", MAKE], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert len(list(tmp_path.iterdir())) == 2
    for code in (None, -signal.SIGKILL):
        if code is not None:
            process.kill()
            process.wait()
        with open_output(tmp_path / "out") as file:
            file.write(b"x")
        with atomic_directory(tmp_path / "folder"):
            pass
        assert len(list(tmp_path.iterdir())) == (4 if code is None else 2)


def test_one_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, swept = os.open, []

    def remove_first(path: str | Path, *flags: int) -> int:
        handle = real(path, *flags)
        if isinstance(path, Path) and not swept:  # tempfile takes a string
            swept.append(path)
            path.unlink()
        return handle

    monkeypatch.setattr("hopefear.base.temporary.os.open", remove_first)
    with temporary_file(tmp_path, ".a.") as file:
        assert file.is_file()
        assert [file] != swept
