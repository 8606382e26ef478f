"""Weights: feature -> weight, for a dozen dense features or for tens of millions of sparse ones.

A feature is known by the 64-bit hash of its name (its id); names are kept once, in a `FeatureNames`
that may be shared by many weights and vectors, and may be dropped. `SparseVector` (the engine's) is
the feature vector of a derivation: sorted ids and float values.

Files: `name<TAB>value` text (`weights.tsv`, also .gz), or the binary form (any name ending in
`.bin`), which loads 20 million weights in under two seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from hopefear._engine import (
    FeatureNames,
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

__all__ = ["SPARSE_SCORE", "FeatureNames", "SparseVector", "Weights", "difference", "sparse_vector"]

#: The score of all sparse features, as one feature in their place. Its weight is 1.
SPARSE_SCORE = "(rest)"


def sparse_vector(values: Mapping[str, float], names: FeatureNames | None = None) -> SparseVector:
    """The vector of a few named features; with `names` the names are remembered there."""
    names = names if names is not None else FeatureNames()
    ids = np.array([names.intern(name) for name in values], dtype=np.uint64)
    return SparseVector(ids, np.array(list(values.values()), dtype=np.float32))


class Weights:
    """A mapping from feature names to weights over the engine's table.

    An absent feature has weight 0; a weight set to 0 stays an entry until `drop_zeros`.
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

    # -- one weight --

    def _id(self, feature: str | int, *, remember: bool = False) -> int:
        if isinstance(feature, int):
            return feature
        names = self.names if remember and self.names is not None else FeatureNames()
        return names.intern(feature)

    def __getitem__(self, feature: str | int) -> float:
        """The weight of a feature (by name or id), 0 if it has none."""
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
        for name, value in values.items():
            self[name] = value

    def name(self, id: int) -> str:
        """The feature's name, or `id:…` in hexadecimal where names were dropped."""
        known = self.names.name(id) if self.names is not None else None
        return known if known is not None else f"id:{id:016x}"

    def items(self) -> Iterator[tuple[str, float]]:
        """Names and weights, by name."""
        vector = self.table.to_vector()
        pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
        yield from sorted((self.name(id), value) for id, value in pairs)

    # -- all of them --

    @property
    def active(self) -> int:
        """How many weights are not 0."""
        return self.table.active

    def dot(self, vector: SparseVector) -> float:
        return self.table.dot(vector)

    def add(self, vector: SparseVector, factor: float = 1.0) -> None:
        """Add `factor * vector` in place: the step of every online learner."""
        self.table.add_scaled(vector, factor)

    def scale(self, factor: float) -> None:
        self.table.scale(factor)

    def copy(self) -> Weights:
        """Independent weights that share the names."""
        result = Weights(names=self.names)
        result.names = self.names
        result.table = self.table.copy()
        return result

    def vector(self) -> SparseVector:
        """All entries, sorted by id."""
        return self.table.to_vector()

    def top(self, k: int) -> list[tuple[str, float]]:
        """The `k` weights of largest absolute value, largest first."""
        return [(self.name(id), value) for id, value in self.table.top(k)]

    def norm(self, p: Literal[1, 2] = 2) -> float:
        return self.table.norm1 if p == 1 else self.table.norm2

    def drop_zeros(self) -> None:
        self.table.drop_zeros()

    def drop_names(self) -> None:
        """Forget the names: 20 million of them take more memory than their weights."""
        self.names = None

    @classmethod
    def average(cls, many: Sequence[Weights], factors: Sequence[float] | None = None) -> Weights:
        """The mean of several weights, or with `factors` their weighted mean."""
        if not many:
            raise ValueError("average of no weights")
        shares = [1.0] * len(many) if factors is None else list(factors)
        total = sum(shares)
        if len(shares) != len(many) or total <= 0 or min(shares) < 0:
            raise ValueError(f"factors {shares}: expected {len(many)} with a positive sum")
        vectors = [weights.vector() for weights in many]
        mean = weighted_sum(vectors, [share / total for share in shares])
        return cls._with_names_of(mean, many)

    @classmethod
    def _with_names_of(cls, vector: SparseVector, sources: Iterable[Weights]) -> Weights:
        result = cls(vector)
        known = {id(source.names): source.names for source in sources}
        if len(known) == 1 or None in known.values():
            result.names = None if None in known.values() else next(iter(known.values()))
            return result
        assert result.names is not None
        for feature in vector.ids.tolist():
            name = next((n for names in known.values() if names and (n := names.name(feature))), "")
            if name:
                result.names.intern(name)
        return result

    # -- files --

    def save(self, path: PathLike) -> None:
        """Write text, or the binary form if the name ends in `.bin`."""
        if str(path).endswith(".bin"):
            with atomic_path(path) as temporary:
                save_weights(str(temporary), self.table, self.names)
        else:
            with open_output(path) as file:
                write_weights_text(file, self.table, self.names)

    @classmethod
    def load(
        cls, path: PathLike, *, names: bool | FeatureNames = True, verify: bool = False
    ) -> Weights:
        """Read either form; `verify` checks all of a .bin.

        `names`: where they are remembered; False leaves them out.
        """
        weights = cls(names=None if isinstance(names, bool) else names)
        if names is False:
            weights.names = None
        if _is_binary(path):
            load_weights(str(path), weights.table, weights.names, verify)
        else:
            with open_input(path) as file:
                read_weights_text(file, display_name(path), weights.table, weights.names)
        return weights


def difference(a: Weights, b: Weights) -> Weights:
    """`a - b`, without the features on which they agree."""
    return Weights._with_names_of(a.vector() - b.vector(), (a, b))


def _is_binary(path: PathLike) -> bool:
    if str(path) == "-" or is_device(path):  # what is read from a pipe is gone
        return False
    with Path(path).open("rb") as file:
        return file.read(len(COMPILED)) == COMPILED
