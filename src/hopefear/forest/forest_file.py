"""Many sentences' forests in one memory-mapped file: a tuning pool on disk.

`save_pool` writes it, `ForestFile` opens it: a sequence of forests whose arrays are views of the
file, so that a pool may be larger than memory. The file's container is checked when it is opened, a
forest's checksum and every bound when it is first asked for. What several iterations add is several
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from hopefear._engine import FeatureNames, Forest, PoolFile, PoolWriter, Vocabulary
from hopefear.base.files import PathLike, atomic_path


def save_pool(path: PathLike, forests: Iterable[Forest]) -> int:
    """Write forests, one after the other as they come; returns how many."""
    with atomic_path(path) as temporary:
        writer = PoolWriter(str(temporary))
        for forest in forests:
            writer.add(forest)
        writer.finish()
        return len(writer)


class ForestFile(Sequence[Forest]):
    """The forests of a pool file, by position; `by_id` finds a sentence's."""

    def __init__(self, path: PathLike, *, verify: bool = False) -> None:
        """`verify` reads and checks everything now, not only what is asked for."""
        self._file = PoolFile(str(path), verify)
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
        """All forests of a sentence, in the order of the file."""
        if self._positions is None:
            self._positions = {}
            for position, forest in enumerate(self):
                self._positions.setdefault(forest.id, []).append(position)
        return [self[position] for position in self._positions.get(id, [])]

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all its forests."""
        return self._file.vocabulary

    @property
    def names(self) -> FeatureNames:
        """Names of the features, as far as they were known."""
        return self._file.names

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return self._file.bytes
