"""The files of a job on each machine: found at their own path, or copied from the first machine.

`Files` describes files by size and digest. A machine has them if the files at the same path are
equal. If not, and there is a shared folder, they are in SHARED/DIGEST/, which any machine may have
filled: one of a network file system is filled once, one on a machine's own disk once per machine.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.executor import Folder
from hopefear.base.files import digest_of

BLOCK = 64 << 20  # bytes of a file that are sent at once
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Files:
    """A file, or files of a folder, by their content."""

    root: str  # absolute
    members: tuple[str, ...]  # relative to the root; "" for a single file
    sizes: tuple[int, ...]
    digests: tuple[str, ...]

    @property
    def key(self) -> str:
        """A digest of everything but the place."""
        text = repr((Path(self.root).name, self.members, self.sizes, self.digests))
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def path(self, number: int) -> Path:
        """Return the path of a member on the first machine."""
        return Path(self.root) / self.members[number]

    def copy_in(self, shared: Path) -> Path:
        """Return the root of the copy in a shared folder."""
        return shared / self.key / Path(self.root).name


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

    def describe(self, what: Path | Folder) -> Files:
        """Describe a file, or some files of a folder."""
        root, members = (what.root, what.members) if isinstance(what, Folder) else (what, ("",))
        root = root.absolute()
        paths = [root / member for member in members]
        sizes = tuple(path.stat().st_size for path in paths)
        return Files(str(root), tuple(members), sizes, tuple(self.of(path) for path in paths))

    def differs(self, files: Files, root: Path) -> str:
        """Return which file is missing or different below a root; empty if none is."""
        for member, size, digest in zip(files.members, files.sizes, files.digests, strict=True):
            path = root / member
            try:
                if path.stat().st_size == size and self.of(path) == digest:
                    continue
            except FileNotFoundError:
                return f"{path}: no such file"
            except OSError as error:
                return f"{path}: {error.strerror}"
            return f"{path}: differs from that of the machine where the command runs"
        return ""


class Copies:
    """The files of a machine, and the copies that it receives in a shared folder."""

    def __init__(self, shared: Path | None) -> None:
        self.shared = shared
        self._digests = Digests()
        self._places: dict[str, Path] = {}  # root on the first machine -> root here
        self._writing: dict[str, Path] = {}  # key -> temporary folder

    def missing(self, files: Sequence[Files]) -> list[tuple[int, str]]:
        """Return the numbers of the entries that this machine lacks, with the reason."""
        lacking = []
        for number, entry in enumerate(files):
            reason = self._digests.differs(entry, Path(entry.root))
            if not reason:
                self._places[entry.root] = Path(entry.root)
                continue
            copy = None if self.shared is None else entry.copy_in(self.shared)
            if copy is not None and not self._digests.differs(entry, copy):
                self._places[entry.root] = copy
                continue
            lacking.append((number, reason))
        return lacking

    def write(self, entry: Files, number: int, offset: int, block: memoryview | bytes) -> None:
        """Write a block of a member of an entry; blocks come in order."""
        if self.shared is None:
            raise InputError(f"{entry.root}: there is no shared folder to copy it to")
        if entry.key not in self._writing:
            folder = self.shared / f".{entry.key}.{uuid.uuid4().hex}.tmp"
            folder.mkdir(parents=True)
            self._writing[entry.key] = folder
        path = self._writing[entry.key] / Path(entry.root).name / entry.members[number]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if offset == 0 else "ab") as file:
            file.write(block)

    def finish(self, entry: Files) -> str:
        """Move the copy of an entry to its place; return what is wrong with it, if anything."""
        assert self.shared is not None
        written, place = self._writing.pop(entry.key), self.shared / entry.key
        try:
            if wrong := self._digests.differs(entry, written / Path(entry.root).name):
                return wrong
            if self._digests.differs(entry, entry.copy_in(self.shared)):
                shutil.rmtree(place, ignore_errors=True)  # incomplete, or damaged
                written.rename(place)
        except OSError:  # another machine was faster, in a folder that both see
            if wrong := self._digests.differs(entry, entry.copy_in(self.shared)):
                return wrong
        finally:
            shutil.rmtree(written, ignore_errors=True)
        self._places[entry.root] = entry.copy_in(self.shared)
        return ""

    def path(self, path: Path) -> Path:
        """Return where this machine has a file or a folder."""
        known = self._places.get(str(path))
        if known is not None:
            return known
        for root, place in self._places.items():
            if path.is_relative_to(root):
                return place / path.relative_to(root)
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
