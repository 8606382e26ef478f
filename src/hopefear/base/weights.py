"""Weights of features, for a dozen dense features or for tens of millions of sparse ones.

A feature is identified by the 64-bit hash of its name (its id). Names are stored in a
`FeatureNames`, which several weights and vectors can share, and which can be dropped.
`SparseVector`, a class of the engine, is the feature vector of a derivation: sorted ids and float
values.

File formats: text lines `name<TAB>value` (`weights.tsv`, also .gz), or binary (any name ending in
`.bin`), which loads 20 million weights in under two seconds. Text may also have the form of cdec
and Moses: `name value`, and comment lines that begin with `#`; without a tab on the line, the last
blank separates name and value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import (
    FeatureNames,
    KeySet,
    SparseVector,
    WeightTable,
    load_weights,
    read_weights_text,
    save_weights,
    weighted_sum,
    write_weights_text,
)
from hopefear.base.console import html_table
from hopefear.base.files import (
    COMPILED,
    PathLike,
    atomic_path,
    display_name,
    is_device,
    open_input,
    open_output,
)

__all__ = [
    "SPARSE_SCORE",
    "FeatureNames",
    "NamesToSend",
    "SparseVector",
    "Weights",
    "difference",
    "sparse_vector",
]

#: The feature that replaces all sparse features: its value is their score, its weight is 1.
SPARSE_SCORE = "(rest)"


def sparse_vector(values: Mapping[str, float], names: FeatureNames | None = None) -> SparseVector:
    """Make a vector from feature names and values; the names are added to `names`."""
    names = names if names is not None else FeatureNames()
    ids = np.array([names.intern(name) for name in values], dtype=np.uint64)
    return SparseVector(ids, np.array(list(values.values()), dtype=np.float32))


class NamesToSend:
    """The names of a process that another one has not got yet."""

    def __init__(self, names: FeatureNames) -> None:
        self._names, self._sent = names, KeySet()

    def lines(self, ids: NDArray[np.uint64]) -> bytes:
        """Return the names of those ids that were not among earlier ones.

        They are in the form of `FeatureNames.lines`.
        """
        none = np.zeros(len(ids), np.int32)
        is_new = self._sent.add(ids, none, none).astype(np.bool_)
        return self._names.lines(ids[is_new])


class Weights:
    """A mapping from features to weights, stored in a table of the engine.

    An absent feature has weight 0. A weight that is set to 0 remains an entry until `drop_zeros`.
    Pickled weights have no names.
    """

    def __init__(
        self,
        values: Mapping[str, float] | SparseVector | None = None,
        *,
        names: FeatureNames | None = None,
    ) -> None:
        self.names: FeatureNames | None = names if names is not None else FeatureNames()
        if isinstance(values, SparseVector):
            self.table = WeightTable(values)
        else:
            self.table = WeightTable()
            self.update(values or {})

    def __reduce__(self) -> tuple[Any, ...]:
        vector = self.vector()
        return Weights._unpickled, (vector.ids, vector.values)

    @classmethod
    def _unpickled(cls, ids: NDArray[np.uint64], values: NDArray[np.float32]) -> Weights:
        return cls(SparseVector(ids, values))

    # -- one weight --

    def _id(self, feature: str | int, *, remember: bool = False) -> int:
        if isinstance(feature, int):
            return feature
        names = self.names if remember and self.names is not None else FeatureNames()
        return names.intern(feature)

    def __getitem__(self, feature: str | int) -> float:
        """The weight of a feature, given by its name or id; 0 if it is absent."""
        return self.table.get(self._id(feature))

    def __setitem__(self, feature: str | int, value: float) -> None:
        self.table.set(self._id(feature, remember=True), value)

    def __contains__(self, feature: str | int) -> bool:
        return self.table.has(self._id(feature))

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Weights({len(self):,} features: {', '.join(self._largest(5))})"

    def _repr_html_(self) -> str:
        rows = [[name, f"{value:.6g}"] for name, value in self.top(20)]
        return html_table(rows, ["feature", "weight"], f"{len(self):,} features")

    def _largest(self, count: int) -> list[str]:
        more = ["…"] * (len(self) > count)
        return [f"{name} {value:.4g}" for name, value in self.top(count)] + more

    def update(self, values: Mapping[str, float]) -> None:
        """Set the weights of the named features."""
        for name, value in values.items():
            self[name] = value

    def name(self, id: int) -> str:
        """The name of a feature id, or `id:…` in hexadecimal if the name is unknown."""
        name = self.names.name(id) if self.names is not None else None
        return name if name is not None else f"id:{id:016x}"

    def items(self) -> Iterator[tuple[str, float]]:
        """Pairs of name and weight, sorted by name."""
        vector = self.table.to_vector()
        pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
        yield from sorted((self.name(id), value) for id, value in pairs)

    # -- all weights --

    @property
    def active(self) -> int:
        """The number of nonzero weights."""
        return self.table.active

    def dot(self, vector: SparseVector) -> float:
        """The score of a feature vector: its inner product with the weights."""
        return self.table.dot(vector)

    def add(self, vector: SparseVector, factor: float = 1.0) -> None:
        """Add `factor * vector` in place: the update of every online learner."""
        self.table.add_scaled(vector, factor)

    def scale(self, factor: float) -> None:
        """Multiply all weights by `factor` in place."""
        self.table.scale(factor)

    def copy(self, names: FeatureNames | None = None) -> Weights:
        """A copy of the weights that shares the names, or uses another table of names."""
        result = Weights(names=self.names)
        result.names = self.names if names is None else names
        result.table = self.table.copy()
        return result

    def vector(self) -> SparseVector:
        """All entries as a sparse vector, sorted by id."""
        return self.table.to_vector()

    def top(self, k: int) -> list[tuple[str, float]]:
        """The `k` weights of largest absolute value, largest first."""
        return [(self.name(id), value) for id, value in self.table.top(k)]

    def norm(self, p: Literal[1, 2] = 2) -> float:
        """The L1 or L2 norm of the weights."""
        return self.table.norm1 if p == 1 else self.table.norm2

    def drop_zeros(self) -> None:
        """Remove the entries whose weight is 0."""
        self.table.drop_zeros()

    def drop_names(self) -> None:
        """Drop the feature names, which take more memory than the weights."""
        self.names = None

    @classmethod
    def average(cls, members: Sequence[Weights], factors: Sequence[float] | None = None) -> Weights:
        """The mean of several weights, or their weighted mean if `factors` are given."""
        if not members:
            raise ValueError("average of no weights")
        shares = [1.0] * len(members) if factors is None else list(factors)
        total = sum(shares)
        if len(shares) != len(members) or total <= 0 or min(shares) < 0:
            raise ValueError(
                f"factors {shares}: expected {len(members)} of at least 0 with a positive sum"
            )
        vectors = [weights.vector() for weights in members]
        mean = weighted_sum(vectors, [share / total for share in shares])
        return cls._with_names_of(mean, members)

    @classmethod
    def _with_names_of(cls, vector: SparseVector, sources: Iterable[Weights]) -> Weights:
        """Weights of a vector, with the feature names of `sources`, or without names if any is."""
        result = cls(vector)
        tables = {id(source.names): source.names for source in sources}
        if len(tables) == 1 or None in tables.values():
            result.names = None if None in tables.values() else next(iter(tables.values()))
            return result
        assert result.names is not None
        for feature in vector.ids.tolist():
            name = next(
                (n for table in tables.values() if table and (n := table.name(feature))), ""
            )
            if name:
                result.names.intern(name)
        return result

    # -- files --

    def save(self, path: PathLike) -> None:
        """Write a text file, or a binary file if the name ends in `.bin`."""
        if str(path).endswith(".bin"):
            with atomic_path(path) as temporary:
                save_weights(str(temporary), self.table, self.names)
        else:
            with open_output(path) as file:
                write_weights_text(file, self.table, self.names)

    @classmethod
    def load(cls, path: PathLike, *, names: bool | FeatureNames = True) -> Weights:
        """Read a text or binary file.

        `names` is a table to add the feature names to; False drops the names.
        """
        weights = cls(names=None if isinstance(names, bool) else names)
        if names is False:
            weights.names = None
        if _is_binary(path):
            load_weights(str(path), weights.table, weights.names)
        else:
            with open_input(path) as file:
                read_weights_text(file, display_name(path), weights.table, weights.names)
        return weights


def difference(a: Weights, b: Weights) -> Weights:
    """The weights `a - b`, without features of equal weight."""
    return Weights._with_names_of(a.vector() - b.vector(), (a, b))


def _is_binary(path: PathLike) -> bool:
    if str(path) == "-" or is_device(path):  # input of a pipe cannot be read twice
        return False
    with Path(path).open("rb") as file:
        return file.read(len(COMPILED)) == COMPILED
