"""Temporary files and directories that do not outlive their process for long.

The process that makes one holds a lock on it, and removes it at the end. A process that was killed
cannot do so, but the system releases its lock: the next process that makes a temporary file or
directory of the same prefix in the same place removes those without a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

SUFFIX = ".tmp"


@contextlib.contextmanager
def temporary_file(directory: Path, prefix: str) -> Iterator[Path]:
    """A new empty file, removed at the end unless it was renamed."""

    def make() -> str:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=SUFFIX, dir=directory)
        os.close(handle)
        return name

    with _locked(make) as path:
        remove_leftovers(directory, prefix)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_directory(prefix: str, directory: Path | None = None) -> Iterator[Path]:
    """A new directory, by default in $TMPDIR or /tmp, removed at the end unless it was renamed."""
    parent = Path(tempfile.gettempdir()) if directory is None else directory
    with _locked(lambda: tempfile.mkdtemp(prefix=prefix, suffix=SUFFIX, dir=parent)) as path:
        remove_leftovers(parent, prefix)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def remove_leftovers(directory: Path, prefix: str) -> None:
    """Remove the temporary files and directories of `prefix` that no process holds."""
    pattern = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}" + re.escape(SUFFIX))
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and not entry.is_symlink():
                _remove_unheld(Path(entry.path))


def _remove_unheld(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.lstat().st_uid != os.geteuid():
            return
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        finally:
            os.close(handle)


@contextlib.contextmanager
def _locked(make: Callable[[], str]) -> Iterator[Path]:
    """What `make` creates, with a lock on it.

    Another process may remove it before it has its lock; then a new one is made.
    """
    while True:
        path = Path(make())
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # a file system without locks: never removed by others
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_open_file(path, handle):
            break
        os.close(handle)
    try:
        yield path
    finally:
        os.close(handle)


def _is_open_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
