"""Pool files: the forests of many sentences in one memory-mapped file.

`save_pool` writes a pool file. `ForestFile` opens it as a sequence of forests whose arrays are
views of the file, so that a pool can be larger than memory. The container is checked when the file
is opened; the checksum and the bounds of a forest are checked at its first access. A pool that
grows over iterations consists of one file per iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import overload

from hopefear._engine import FeatureNames, Forest, PoolFile, PoolWriter, Vocabulary
from hopefear.base.files import PathLike, atomic_path


def save_pool(path: PathLike, forests: Iterable[Forest]) -> int:
    """Take a path and an iterable of forests, writes them one by one, and return their number."""
    with atomic_path(path) as temporary:
        writer = PoolWriter(str(temporary))
        for forest in forests:
            writer.add(forest)
        writer.finish()
        return len(writer)


def forest_to_bytes(forest: Forest) -> bytes:
    """Return a forest in the format of a pool file, for another process."""
    with TemporaryDirectory(prefix="hopefear-forest-") as folder:
        path = Path(folder) / "forest.bin"
        save_pool(path, [forest])
        return path.read_bytes()


def forest_from_bytes(content: bytes, names: FeatureNames) -> Forest:
    """Return the forest of `forest_to_bytes`; add the names of its features to `names`."""
    with TemporaryDirectory(prefix="hopefear-forest-") as folder:
        path = Path(folder) / "forest.bin"
        path.write_bytes(content)
        file = ForestFile(path)  # stays mapped after the file is removed
    names.add(file.names)
    return file[0]


class ForestFile(Sequence[Forest]):
    """The forests of a pool file: a sequence; `by_id` returns those of a sentence."""

    def __init__(self, path: PathLike, *, verify: bool = False) -> None:
        """Take the path of a pool file; `verify` reads and checks all its forests at once."""
        self._file = PoolFile(str(path))
        self._positions: dict[str, list[int]] | None = None
        if verify:
            for _ in self:
                pass

    def __len__(self) -> int:
        return len(self._file)

    @overload
    def __getitem__(self, index: int) -> Forest: ...
    @overload
    def __getitem__(self, index: slice) -> list[Forest]: ...
    def __getitem__(self, index: int | slice) -> Forest | list[Forest]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"forest {index} of {len(self)}")
        return self._file.get(index % len(self))

    def by_id(self, id: str) -> list[Forest]:
        """Take a sentence id and return all its forests, in the order of the file."""
        if self._positions is None:
            self._positions = {}
            for position, forest in enumerate(self):
                self._positions.setdefault(forest.id, []).append(position)
        return [self[position] for position in self._positions.get(id, [])]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that all forests of the file share."""
        return self._file.vocabulary

    @property
    def names(self) -> FeatureNames:
        """The known names of features."""
        return self._file.names

    @property
    def bytes(self) -> int:
        """Size of the file in bytes."""
        return self._file.bytes
