"""Reading and writing of files.

Input: `-` is stdin; files named .gz are decompressed. Output: `-` is stdout; other files are
written under a temporary name in the same directory, synced, and renamed at the end, so that an
incomplete file is never visible. `atomic_directory` does the same for a directory (a model).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import os
import select
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from hopefear.base.errors import InputError, OptionError
from hopefear.base.temporary import temporary_directory, temporary_file

PathLike = str | os.PathLike[str]

_GZIP = b"\x1f\x8b"
COMPILED = b"HOPEFEAR"  # first bytes of the engine's binary files: cpp/base/binary_file.hpp
_HEADER = 1216  # its size: header and entries of the sections
_SLOW = 2**26  # bytes that are hashed in a few hundredths of a second
_LONGEST_LINE = 1 << 28  # bytes
_BUFFER = 1 << 16
_LONGEST_WAIT = 0.2  # seconds between looks at signals while input is waited for
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _GzipReader(gzip.GzipFile):
    """A .gz file whose errors are raised as `InputError` with the file's name."""

    def read1(self, size: int = -1) -> bytes:
        with self._named_faults():
            return super().read1(size)

    def read(self, size: int | None = -1) -> bytes:
        with self._named_faults():
            return super().read(size)

    def readline(self, size: int | None = -1) -> bytes:
        with self._named_faults():
            return super().readline(-1 if size is None else size)

    def peek(self, n: int) -> bytes:
        with self._named_faults():
            return super().peek(n)

    @contextlib.contextmanager
    def _named_faults(self) -> Iterator[None]:
        try:
            yield
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self.name}: not a gzip file ({error}); check the name") from None
        except EOFError:
            raise InputError(f"{self.name}: truncated gzip file; create it again") from None


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for reading bytes: `-` is stdin, `.gz` is decompressed."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: closed; give a file or a pipe")
        yield _interruptible(sys.stdin.buffer)
    elif name.endswith(".gz"):
        with _GzipReader(name) as packed:
            yield cast(BinaryIO, packed)
    else:
        with open(name, "rb") as file:  # noqa: PTH123 (name may be any path-like)
            if not is_device(name):  # peeking at a pipe would wait for input
                _check_text(name, file.peek(len(COMPILED)))
            yield _interruptible(file)


class _PolledReader(io.RawIOBase):
    """A pipe, socket or terminal whose `read` never waits without a look at signals.

    A signal just before the system call `read` would not end it, nor would the end of a run on
    another thread.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file  # keeps it open
        self._poll = select.poll()
        self._poll.register(file, select.POLLIN)

    def fileno(self) -> int:
        return self._file.fileno()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        from hopefear._engine import poll_interrupt

        while not self._poll.poll(_LONGEST_WAIT * 1000):
            poll_interrupt()
        return os.readv(self.fileno(), [buffer])


def _interruptible(file: BinaryIO) -> BinaryIO:
    """The file, read with `_PolledReader` unless it is a regular file or in memory."""
    try:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):  # no descriptor
        regular = True
    return file if regular else io.BufferedReader(_PolledReader(file), _BUFFER)


def _check_text(name: str, start: bytes) -> None:
    """Refuse compressed and binary files, which would be read as text without an error."""
    if start.startswith(_GZIP):
        raise InputError(f"{name}: compressed with gzip; give it a name that ends in .gz")
    if start.startswith(COMPILED) and b"\0" in start[:64]:
        raise InputError(f"{name}: a binary file of Hopefear, expected text; check the name")


def check_one_stdin(*paths: PathLike) -> None:
    """Raise an `OptionError` if several of the inputs are `-`: stdin can be read only once."""
    if [os.fspath(path) for path in paths].count("-") > 1:
        raise OptionError(
            "'-' is the value or the default of two inputs; stdin can be only one of them"
        )


def is_same_file(first: PathLike, second: PathLike) -> bool:
    """Whether two paths name one file, which need not exist; never so for stdin and stdout."""
    return os.fspath(first) != "-" and os.path.realpath(first) == os.path.realpath(second)


@contextlib.contextmanager
def open_text(path: PathLike) -> Iterator[Iterator[str]]:
    """Open a UTF-8 file as an iterator of lines without newlines; errors name the line."""
    with open_input(path) as file:
        yield decoded_lines(file, display_name(path))


def decoded_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of an open UTF-8 file without newlines; `name` is the file's name in errors."""
    lines = iter(lambda: file.readline(_LONGEST_LINE), b"")
    for number, line in enumerate(lines, 1):
        if len(line) == _LONGEST_LINE:
            raise InputError(
                f"{name}:{number}: a line of {_LONGEST_LINE:,} bytes or more, expected lines of "
                "text; check the name"
            )
        try:
            yield line.decode("utf-8").rstrip("\n")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise InputError(
                f"{name}:{number}: byte 0x{byte:02x} at column {error.start + 1} is not UTF-8; "
                "convert the file, for instance with iconv"
            ) from None


def display_name(path: PathLike) -> str:
    """The name of a file in messages; bytes that are not UTF-8 are replaced."""
    name = os.fspath(path)
    return "<stdin>" if name == "-" else os.fsencode(name).decode("utf-8", "replace")


def digest_of(path: PathLike, size: int | None = None) -> str:
    """Return a hash of a file's content, or of its first `size` bytes.

    Of a large compiled file, the header is hashed: it has the checksums of all content, which is
    compared with them when the file is opened.
    """
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        if size is None:
            size = os.fstat(file.fileno()).st_size
        if size > _SLOW and file.peek(len(COMPILED)).startswith(COMPILED):
            digest.update(f"{size}\n".encode())
            digest.update(file.read(_HEADER))
        else:
            while size and (block := file.read(min(size, 2**20))):
                digest.update(block)
                size -= len(block)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """A temporary path, renamed to `path` if the block succeeds and removed if it fails."""
    target = Path(os.path.realpath(path))  # a symbolic link is kept
    check_writable(target)
    if is_device(target):  # renaming would replace the device
        raise OSError(errno.EINVAL, "is a device or a pipe, expected a real file", str(target))
    with contextlib.ExitStack() as stack:
        try:
            temporary = stack.enter_context(temporary_file(target.parent, f".{target.name[:40]}."))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(target)) from None
        with _naming(os.fspath(path), temporary):
            yield temporary
            _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)


@contextlib.contextmanager
def open_output(path: PathLike, *, level: int = 9) -> Iterator[BinaryIO]:
    """Open a file for writing bytes: `-` is stdout, `.gz` is compressed.

    A regular file gets its name at the end (see `atomic_path`). `level` is the compression level of
    `.gz`, 1 (fast) to 9.
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
    with atomic_path(name) as temporary, temporary.open("wb") as file:
        if name.endswith(".gz"):
            # Without name and time in the header, the same content gives the same bytes.
            with gzip.GzipFile("", "wb", level, file, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield file


@contextlib.contextmanager
def _naming(name: str, temporary: Path | None = None) -> Iterator[None]:
    """Name the file, instead of the temporary one, in the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            error.filename = name
        elif error.errno in _FULL:
            error.filename = str(error.filename).replace(str(temporary), name)
        raise


def is_device(path: PathLike) -> bool:
    """Whether `path` is a device or a pipe, which is written to directly."""
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


@contextlib.contextmanager
def write_text(path: PathLike) -> Iterator[io.TextIOWrapper]:
    """Like `open_output`, for UTF-8 text with Unix line endings."""
    with open_output(path) as file:
        wrapper = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield wrapper
        finally:
            wrapper.flush()
            wrapper.detach()


@contextlib.contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """A temporary directory, which replaces `path` if the block succeeds."""
    target = Path(os.path.realpath(path))
    check_writable(target, directory=True)
    with temporary_directory(f".{target.name}.", target.parent) as temporary:
        with _naming(os.fspath(path), temporary):
            yield temporary
        temporary.chmod(0o777 & ~_umask())
        if target.exists():
            old = temporary.with_suffix(".old")
            target.rename(old)
            try:
                temporary.rename(target)
            except BaseException:  # for instance, an interrupt between the two renames
                if not target.exists():
                    old.rename(target)
                raise
            shutil.rmtree(old)
        else:
            temporary.rename(target)


@contextlib.contextmanager
def locked(path: PathLike, refusal: str) -> Iterator[None]:
    """Hold an exclusive lock on a file; the system releases it when the process ends.

    Raises an `InputError` with the message `refusal` if another process holds the lock.
    """
    with open(path, "w") as file:  # noqa: PTH123 (path may be any path-like)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(refusal) from None
        yield


def path_inside(folder: Path, name: PathLike) -> Path | None:
    """The path of `name`, relative to a folder; None if it leaves the folder.

    `..` is resolved by the text of the path. A symbolic link is followed: who made the folder chose
    its target.
    """
    path = Path(os.path.normpath(folder / name))
    root = os.path.normpath(folder.absolute())
    return path if Path(os.path.normpath(path.absolute())).is_relative_to(root) else None


def check_writable(path: PathLike, *, directory: bool = False) -> None:
    """Raise the `OSError` that writing `path` would raise; call it before any long work."""
    target = Path(path)
    if not directory and (str(target) == "-" or is_device(target)):
        return  # no file is created
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
    """Raise the `OSError` that creating the directory or writing into it would raise."""
    target = Path(path)
    existing = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not existing.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(existing))


def refuse_devices(directory: Path) -> None:
    """Raise an `InputError` for a pipe or device in a directory: opening it may wait for ever."""
    for path in sorted(directory.rglob("*")):
        if is_device(path):
            raise InputError(f"{path}: a device or a pipe, expected a file; remove it")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
