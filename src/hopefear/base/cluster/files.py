"""The files of a job on each machine: found at their own path, or copied from the first machine.

`Files` describes files by size and either time of change or digest. A machine has them if the files
at the same path are equal: of a file system that machines share, and of copies that kept the times,
nothing is read to find out. If not, and there is a shared folder, they are in SHARED/DIGEST/, which
any machine may have filled: one of a network file system is filled once, one on a machine's own
disk once per machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.executor import Folder
from hopefear.base.files import digest_of
from hopefear.base.temporary import temporary_directory

BLOCK = 64 << 20  # bytes of a file that are sent at once
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Files:
    """A file, or files of a folder, by their content."""

    root: str  # absolute
    members: tuple[str, ...]  # relative to the root; "" for a single file
    sizes: tuple[int, ...]
    times: tuple[int, ...]  # of the last change, in nanoseconds
    digests: tuple[str, ...] = ()  # not known yet: the times decide

    @property
    def key(self) -> str:
        """A digest of everything but the place and the times."""
        text = repr((Path(self.root).name, self.members, self.sizes, self.digests))
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def without_digests(self) -> Files:
        """Return the same description without digests."""
        return Files(self.root, self.members, self.sizes, self.times)

    def path(self, number: int) -> Path:
        """Return the path of a member on the first machine."""
        return Path(self.root) / self.members[number]

    def copy_in(self, shared: Path) -> Path:
        """Return the root of the copy in a shared folder."""
        return shared / self.key / Path(self.root).name


def describe_files(what: Path | Folder) -> Files:
    """Describe a file, or some files of a folder, by sizes and times."""
    root, members = (what.root, what.members) if isinstance(what, Folder) else (what, ("",))
    root = root.absolute()
    status = [(root / member).stat() for member in members]
    return Files(
        str(root),
        tuple(members),
        tuple(one.st_size for one in status),
        tuple(one.st_mtime_ns for one in status),
    )


class Digests:
    """Digests of files, each computed once as long as the file does not change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, str]] = {}

    def of(self, path: Path) -> str:
        """Return the digest of a file."""
        status = path.stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(str(path))
        if known is None or known[0] != stamp:
            known = (stamp, digest_of(path))
            self._known[str(path)] = known
        return known[1]

    def complete(self, files: Files) -> Files:
        """Return the same description with digests."""
        digests = tuple(self.of(files.path(number)) for number in range(len(files.members)))
        return Files(files.root, files.members, files.sizes, files.times, digests)

    def differs(self, files: Files, root: Path) -> str:
        """Return which file is missing or different below a root; empty if none is."""
        for number, member in enumerate(files.members):
            path = root / member
            try:
                status = path.stat()
                if status.st_size == files.sizes[number] and (
                    self.of(path) == files.digests[number]
                    if files.digests
                    else _is_same_time(status.st_mtime_ns, files.times[number])
                ):
                    continue
            except FileNotFoundError:
                return f"{path}: no such file"
            except OSError as error:
                return f"{path}: {error.strerror}"
            return f"{path}: differs from that of the machine where the command runs"
        return ""


def _is_same_time(here: int, there: int) -> bool:
    """Whether equal times mean the same file: whole seconds may be those of an archive."""
    return here == there and here % 1_000_000_000 != 0


class Copies:
    """The files of a machine, and the copies that it receives in a shared folder."""

    def __init__(self, shared: Path | None) -> None:
        self.shared = shared
        self.places: dict[str, str] = {}  #: root on the first machine -> root here
        self._digests = Digests()
        self._writing: dict[str, tuple[Path, ExitStack]] = {}  # key -> temporary folder

    def missing(self, files: Sequence[Files]) -> list[tuple[int, str]]:
        """Return the numbers of the entries that this machine lacks, with the reason."""
        lacking = []
        for number, entry in enumerate(files):
            reason = self._digests.differs(entry, Path(entry.root))
            if not reason:
                self.places[entry.root] = entry.root
                continue
            if self.shared is not None and entry.digests:
                copy = entry.copy_in(self.shared)
                if not self._digests.differs(entry, copy):
                    self.places[entry.root] = str(copy)
                    continue
            lacking.append((number, reason))
        return lacking

    def write(self, entry: Files, number: int, offset: int, block: memoryview | bytes) -> None:
        """Write a block of a member of an entry; blocks come in order."""
        if self.shared is None:
            raise InputError(f"{entry.root}: there is no shared folder to copy it to")
        if number == offset == 0:
            self._discard(entry)  # of a copy that was not finished
        if entry.key not in self._writing:
            self.shared.mkdir(parents=True, exist_ok=True)
            stack = ExitStack()
            folder = stack.enter_context(temporary_directory(f".{entry.key}.", self.shared))
            self._writing[entry.key] = folder, stack
        path = self._writing[entry.key][0] / Path(entry.root).name / entry.members[number]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if offset == 0 else "ab") as file:
            file.write(block)

    def _discard(self, entry: Files) -> None:
        if entry.key in self._writing:
            self._writing.pop(entry.key)[1].close()

    def finish(self, entry: Files) -> str:
        """Move the copy of an entry to its place; return what is wrong with it, if anything."""
        assert self.shared is not None
        written, place = self._writing[entry.key][0], self.shared / entry.key
        try:
            if wrong := self._digests.differs(entry, written / Path(entry.root).name):
                return wrong
            if self._digests.differs(entry, entry.copy_in(self.shared)):
                shutil.rmtree(place, ignore_errors=True)  # incomplete, or damaged
                written.chmod(0o755)
                written.rename(place)
        except OSError:  # another machine was faster, in a folder that both see
            if wrong := self._digests.differs(entry, entry.copy_in(self.shared)):
                return wrong
        finally:
            self._discard(entry)
        self.places[entry.root] = str(entry.copy_in(self.shared))
        return ""

    def path(self, path: Path) -> Path:
        """Return where this machine has a file or a folder."""
        known = self.places.get(str(path))
        if known is not None:
            return Path(known)
        for root, place in self.places.items():
            if path.is_relative_to(root):
                return Path(place) / path.relative_to(root)
        return path


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the offsets and blocks of a file; one empty block for an empty file."""
    offset = 0
    with path.open("rb") as file:
        while (block := file.read(BLOCK)) or offset == 0:
            yield offset, block
            offset += len(block)
            if not block:
                return
