"""Files in and out, in one place.

Reading: `-` is stdin, .gz is unpacked by its name. Writing: to a temporary name beside the target,
synced and renamed at the end, so that nobody ever sees half a file; `-` is stdout. A directory that
is written as a whole (a model) goes through `atomic_directory` in the same way.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from hopefear.base.errors import InputError, OptionError

PathLike = str | os.PathLike[str]

_GZIP = b"\x1f\x8b"
COMPILED = b"HOPEFEAR"  # what binary files of the engine begin with: cpp/base/binary_file.hpp
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _GzipReader(gzip.GzipFile):
    """A .gz file whose faults are an `InputError` with its name."""

    def read1(self, size: int = -1) -> bytes:
        with self._named_faults():
            return super().read1(size)

    def read(self, size: int | None = -1) -> bytes:
        with self._named_faults():
            return super().read(size)

    def readline(self, size: int | None = -1) -> bytes:
        with self._named_faults():
            return super().readline(-1 if size is None else size)

    @contextlib.contextmanager
    def _named_faults(self) -> Iterator[None]:
        try:
            yield
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self.name}: not a gzip file ({error}); check the name") from None
        except EOFError:
            raise InputError(f"{self.name}: truncated gzip file; fetch or make it again") from None


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BinaryIO]:
    """A binary file to read from: `-` is stdin, `.gz` is unpacked."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: is closed; give a file or a pipe")
        yield sys.stdin.buffer
    elif name.endswith(".gz"):
        with _GzipReader(name) as packed:
            yield cast(BinaryIO, packed)
    else:
        with open(name, "rb") as file:  # noqa: PTH123 (name may be any path-like)
            if not is_device(name):  # a pipe would have to wait
                _check_text(name, file.peek(len(COMPILED)))
            yield file


def _check_text(name: str, start: bytes) -> None:
    """Refuse what would be read as a text of nonsense words."""
    if start.startswith(_GZIP):
        raise InputError(f"{name}: packed with gzip; give it a name that ends in .gz")
    if start.startswith(COMPILED) and b"\0" in start[:64]:
        raise InputError(f"{name}: a binary file of Hopefear, expected text; check the name")


def check_one_stdin(*paths: PathLike) -> None:
    """Refuse `-` in two places: the second would find nothing left to read."""
    if [os.fspath(path) for path in paths].count("-") > 1:
        raise OptionError("'-' is given or taken for two inputs; stdin can be only one of them")


@contextlib.contextmanager
def open_text(path: PathLike) -> Iterator[Iterator[str]]:
    """Lines of a UTF-8 file without their newline; bytes that are no UTF-8 name their line."""
    with open_input(path) as file:
        yield decoded_lines(file, display_name(path))


def decoded_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """What `open_text` gives, of a file that is open already."""
    for number, line in enumerate(file, 1):
        try:
            yield line.decode("utf-8").rstrip("\n")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise InputError(
                f"{name}:{number}: byte 0x{byte:02x} at column {error.start + 1} is not UTF-8; "
                "convert the file, for instance with iconv"
            ) from None


def display_name(path: PathLike) -> str:
    """How messages call a file; a name that is no UTF-8 is shown as far as it is."""
    name = os.fspath(path)
    return "<stdin>" if name == "-" else os.fsencode(name).decode("utf-8", "replace")


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to it when the block ends well, removed when not."""
    target = Path(os.path.realpath(path))  # a link stays a link
    check_writable(target)
    if is_device(target):  # renaming would replace it by a file
        raise OSError(errno.EINVAL, "is a device or a pipe, expected a real file", str(target))
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def open_output(path: PathLike, *, level: int = 9) -> Iterator[BinaryIO]:
    """A binary file to write to: `-` is stdout, `.gz` is packed, a real file appears at the end.

    `level` is how hard `.gz` packs (1 to 9): large tables are written faster with a low one.
    """
    name = os.fspath(path)
    if name == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if is_device(name):
        with _naming(name), open(name, "wb") as device:  # noqa: PTH123
            yield device
        return
    with _naming(name), atomic_path(name) as temporary, temporary.open("wb") as file:
        if name.endswith(".gz"):
            # No name and no time in the header: the same content gives the same bytes.
            with gzip.GzipFile("", "wb", level, file, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield file


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Writing does not say which file the disk was too small for."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = name
        raise


def is_device(path: PathLike) -> bool:
    """Whether `path` is /dev/null, a pipe or the like: written to directly, nothing to rename."""
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


@contextlib.contextmanager
def write_text(path: PathLike) -> Iterator[io.TextIOWrapper]:
    """Like `open_output`, for UTF-8 text with Unix line ends."""
    with open_output(path) as file:
        wrapper = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield wrapper
        finally:
            wrapper.flush()
            wrapper.detach()


@contextlib.contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """A temporary directory beside `path`; takes its place when the block ends well."""
    target = Path(os.path.realpath(path))
    check_writable(target, directory=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if target.exists():
            old = temporary.with_suffix(".old")
            target.rename(old)
            try:
                temporary.rename(target)
            except BaseException:  # an interrupt between the two, for instance
                if not target.exists():
                    old.rename(target)
                raise
            shutil.rmtree(old)
        else:
            temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextlib.contextmanager
def locked(path: PathLike, refusal: str) -> Iterator[None]:
    """Keep other processes out by a file; the system lets go when this one ends, however it ends.

    `refusal` is what is said if another one is in.
    """
    with open(path, "w") as file:  # noqa: PTH123 (path may be any path-like)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(refusal) from None
        yield


def check_writable(path: PathLike, *, directory: bool = False) -> None:
    """Raise the `OSError` that writing `path` would end in, before any long work is done."""
    target = Path(path)
    if not directory and (str(target) == "-" or is_device(target)):
        return  # stdout, or written to directly: nothing appears in the folder
    if target.is_dir() and not directory:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if directory and target.exists() and not target.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))
    parent = target.parent
    if not parent.exists():
        raise OSError(errno.ENOENT, f"no directory {str(parent)!r} to write into", str(target))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def check_directory(path: PathLike) -> None:
    """Raise the `OSError` that making this directory, or writing into it, would end in."""
    target = Path(path)
    there = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
