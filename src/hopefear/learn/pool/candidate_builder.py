"""A builder of candidates: merges the k-best lists of all iterations without duplicates.

Takes derivations of sentences (from forests or n-best lists), or rows with statistics, and returns
`Candidates`. A derivation with the same string and features as an earlier one of its group is left
out; the others keep their order, so that the result depends only on what was added.

    builder = CandidateBuilder(metric, references, names=decoder_names)
    builder.add(sentence, kbest(forest, weights, 100))     # returns the number of new ones
    candidates = builder.candidates()

With a `directory` all large arrays are files in it, mapped into memory; only a hash per candidate
(16 to 32 bytes), the offsets of rows, and pieces of the arrays are kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear._engine import Derivation, Forest, KeySet, collect_rows, gather_weights
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, atomic_path
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
from hopefear.learn.pool.arrays import damaged, load_arrays
from hopefear.learn.pool.candidates import Candidates, FeatureTable, grouped
from hopefear.learn.pool.look import ListRows
from hopefear.metrics.metric import Metric, References

S = TypeVar("S", bound=np.generic)

#: Up to this number of features all of them are dense columns.
DENSE_LIMIT = 64
_PIECE = 1 << 16  # rows that are reordered at once


class CandidateBuilder:
    """Collects candidates (see the module's docstring).

    Features become dense columns if they occur in at least a share `dense_share` of the rows, if
    there are at most `dense_limit` features, or if they are in `dense`; the others are sparse.

    With `collapse`, all features but `dense` are collapsed into one, `SPARSE_SCORE`: their score
    under these weights. This makes the pool of a tuner of dense features many times smaller.
    """

    def __init__(
        self,
        metric: Metric,
        references: References = (),
        *,
        names: FeatureNames | None = None,
        dense: Iterable[int] = (),
        dense_share: float = 0.25,
        dense_limit: int = DENSE_LIMIT,
        collapse: Weights | None = None,
        directory: PathLike | None = None,
        threads: int = 1,
    ) -> None:
        self.metric, self.threads = metric, threads
        self.names = names if names is not None else FeatureNames()
        self.prepared = metric.prepare(references) if len(references) else None
        self._dense = frozenset(dense)
        self._share, self._limit = dense_share, dense_limit
        self._collapse = collapse
        self._score_id = self.names.intern(SPARSE_SCORE) if collapse is not None else 0
        self._directory = None if directory is None else Path(directory)
        self._seen = KeySet()
        self._groups: dict[tuple[int, int], None] = {}  # sentence and bin, also of empty groups
        self._features: dict[int, int] = {}  # id -> number, in order of appearance
        self._count = 0
        columns = len(metric.columns)
        self._keys = self._column("keys", np.uint64)
        self._sentences = self._column("sentences", np.int32)
        self._bins = self._column("bins", np.int32)
        self._sizes = self._column("sizes", np.int32)  # entries of each row's vector
        self._numbers = self._column("numbers", np.int32)  # features, row after row
        self._values = self._column("values", np.float32)
        self._statistics = self._column("statistics", np.int32, columns)

    def __len__(self) -> int:
        """Number of candidates."""
        return self._count

    @property
    def feature_ids(self) -> list[int]:
        """The features of the candidates, in order of appearance."""
        return list(self._features)

    def add(self, sentence: int, derivations: Sequence[Derivation], *, bin: int = 0) -> int:
        """Add a sentence's k-best list and return the number of new candidates."""
        return self.add_list_rows(sentence, ListRows.of(derivations), bin=bin)

    def add_list_rows(self, sentence: int, rows: ListRows, *, bin: int = 0) -> int:
        """Add a sentence's k-best list as arrays; return the number of new candidates."""
        if self.prepared is None:
            raise ValueError("no references were given: use add_rows")
        keys, begin, ids, values, strings = rows
        bins = np.full(len(keys), bin, np.int32)
        new = self._new(sentence, bins, keys, (bin,))
        texts = [strings[i] for i in new]
        statistics = self.prepared.statistics(
            texts, np.full(len(texts), sentence, np.int32), self.threads
        )
        self._append(sentence, bins, new, keys, begin, ids, values, statistics)
        return len(new)

    def add_list(self, sentence: int, forest: Forest, *, bin: int = 0) -> int:
        """Add an n-best list: a forest of one node whose edges are the entries."""
        return self.add(sentence, entries(forest), bin=bin)

    def add_rows(
        self,
        sentence: int,
        derivations: Sequence[Derivation],
        statistics: ArrayLike,
        *,
        bin: int = 0,
    ) -> int:
        """Add derivations, complete or partial, with their statistics."""
        rows = np.asarray(statistics)
        if rows.shape != (len(derivations), len(self.metric.columns)):
            raise ValueError(f"statistics of shape {rows.shape} for {len(derivations)} derivations")
        collected = collect_rows(derivations)
        return self.add_bins(sentence, np.full(len(rows), bin), *collected, rows, groups=(bin,))

    def add_entries(
        self, sentence: int, derivations: Sequence[Derivation], statistics: ArrayLike
    ) -> NDArray[np.int64]:
        """Add complete derivations with their statistics; return the indices of the new ones."""
        collected = collect_rows(derivations)
        bins = np.zeros(len(collected[0]), np.int32)
        new = self._new(sentence, bins, collected[0], (0,))
        self._append(sentence, bins, new, *collected, np.asarray(statistics)[new])
        return new

    def add_bins(
        self,
        sentence: int,
        bins: ArrayLike,
        keys: NDArray[np.uint64],
        begin: NDArray[np.int64],
        ids: NDArray[np.uint64],
        values: NDArray[np.float32],
        statistics: NDArray[Any],
        *,
        groups: Iterable[int],
    ) -> int:
        """Add rows of several bins, in the form of `collect_rows`; `groups` has all bins."""
        kinds = np.asarray(bins, dtype=np.int32)
        new = self._new(sentence, kinds, keys, groups)
        self._append(sentence, kinds, new, keys, begin, ids, values, statistics[new])
        return len(new)

    def candidates(self) -> Candidates:
        """Return everything added so far; later additions do not change the result."""
        sentences, bins = self._sentences.array(), self._bins.array()
        order, begin, which = grouped(sentences, bins)
        has_bins = any(bin for _, bin in self._groups)
        # Empty lists are groups too.
        pairs = np.array(sorted(self._groups), dtype=np.int32).reshape(-1, 2)
        if len(pairs) != len(which):
            filled = dict(
                zip(
                    zip(sentences[which].tolist(), bins[which].tolist(), strict=True),
                    np.diff(begin).tolist(),
                    strict=True,
                )
            )
            sizes = [filled.get((int(s), int(b)), 0) for s, b in pairs]
            begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        features, statistics = self._in_order(order)
        return Candidates(
            begin,
            np.ascontiguousarray(pairs[:, 0]),
            features,
            statistics,
            self.names,
            np.ascontiguousarray(pairs[:, 1]) if has_bins else None,
        )

    # -- checkpoints --

    def save(self, path: PathLike) -> None:
        """Write a file for `restore`.

        For arrays that are files themselves it has only their length, since they grow at the end.
        """
        arrays: dict[str, Any] = {column.name: column.saved() for column in self._columns()}
        arrays["features"] = np.array(list(self._features), dtype=np.uint64)
        arrays["groups"] = np.array(list(self._groups), dtype=np.int32).reshape(-1, 2)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)

    def restore(self, path: PathLike) -> None:
        """Replace the contents by those of a saved file, except for the names of features."""
        arrays = load_arrays(path, "a file of candidates")
        try:
            for column in self._columns():
                column.restore(arrays[column.name])
            groups, features = arrays["groups"], arrays["features"]
        except (ValueError, KeyError) as error:
            raise damaged(path, "a file of candidates", error) from None
        self._features = {id: number for number, id in enumerate(features.tolist())}
        self._groups = dict.fromkeys((sentence, bin) for sentence, bin in groups.tolist())
        keys, self._seen = np.ascontiguousarray(self._keys.array()), KeySet()
        sentences, bins = self._sentences.array(), self._bins.array()
        self._seen.add(keys, np.ascontiguousarray(sentences), np.ascontiguousarray(bins))
        self._count = len(keys)

    def files(self) -> list[Path]:
        """Return the files of the arrays that grow, if these are files."""
        paths = (column.path for column in self._columns() if column.path is not None)
        return [path for path in paths if path.is_file()]

    # -- inside --

    def _column(self, name: str, kind: type[S], width: int = 0) -> _Column[S]:
        path = None if self._directory is None else self._directory / f"added.{name}"
        return _Column(name, np.dtype(kind), width, path)

    def _columns(self) -> list[_Column[Any]]:
        return [
            self._keys,
            self._sentences,
            self._bins,
            self._sizes,
            self._numbers,
            self._values,
            self._statistics,
        ]

    def _new(
        self,
        sentence: int,
        bins: NDArray[np.int32],
        keys: NDArray[np.uint64],
        groups: Iterable[int],
    ) -> NDArray[np.int64]:
        """Return the indices of the keys that are new to their groups, without duplicates."""
        self._groups.update(((sentence, bin), None) for bin in groups)
        return np.flatnonzero(self._seen.add(keys, np.full(len(keys), sentence, np.int32), bins))

    def _append(
        self,
        sentence: int,
        bins: NDArray[np.int32],
        rows: NDArray[np.int64],
        keys: NDArray[np.uint64],
        begin: NDArray[np.int64],
        ids: NDArray[np.uint64],
        values: NDArray[np.float32],
        statistics: NDArray[Any],
    ) -> None:
        sizes = np.diff(begin)[rows]
        entries = gathered(begin[:-1][rows], sizes)
        chosen = values[entries]
        if not np.isfinite(chosen).all():
            wrong = int(np.flatnonzero(~np.isfinite(chosen))[0])
            name = self.names.name(int(ids[entries[wrong]]))
            raise InputError(
                f"sentence {sentence}: feature {name!r} of a candidate is {chosen[wrong]}, "
                "expected a finite number; mend the feature or the list"
            )
        features = ids[entries]
        if self._collapse is not None:
            sizes, features, chosen = self._collapsed(self._collapse, sizes, features, chosen)
        unique, inverse = np.unique(features, return_inverse=True)
        known = self._features
        local = np.array([known.setdefault(id, len(known)) for id in unique.tolist()], np.int32)
        self._keys.append(keys[rows])
        self._sentences.append(np.full(len(rows), sentence, np.int32))
        self._bins.append(bins[rows])
        self._sizes.append(sizes.astype(np.int32))
        self._numbers.append(local[inverse] if len(unique) else local)
        self._values.append(chosen)
        self._statistics.append(np.asarray(statistics).astype(np.int32))
        self._count += len(rows)

    def _collapsed(
        self,
        score_weights: Weights,
        sizes: NDArray[Any],
        ids: NDArray[np.uint64],
        values: NDArray[np.float32],
    ) -> tuple[NDArray[Any], NDArray[np.uint64], NDArray[np.float32]]:
        """Return rows with their dense features and the score of all others as one feature."""
        count = len(sizes)
        rows = np.repeat(np.arange(count), sizes)
        kept = np.isin(ids, np.array(list(self._dense), np.uint64))
        weights = gather_weights(score_weights.table, np.ascontiguousarray(ids[~kept]))
        scores = np.bincount(rows[~kept], weights * values[~kept], minlength=count)
        rows = np.concatenate([rows[kept], np.arange(count)])
        order = np.argsort(rows, kind="stable")
        features = np.concatenate([ids[kept], np.full(count, self._score_id, np.uint64)])
        both = np.concatenate([values[kept], scores.astype(np.float32)])
        return np.bincount(rows, minlength=count), features[order], both[order]

    def _in_order(self, order: NDArray[np.int64]) -> tuple[FeatureTable, Any]:
        """Return features and statistics of the rows in the given order."""
        sizes, numbers, values = self._sizes.array(), self._numbers.array(), self._values.array()
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])[:-1]
        ids = np.array(list(self._features), dtype=np.uint64)
        counts = np.bincount(numbers, minlength=len(ids))
        is_dense = counts >= self._share * max(1, len(order))
        if len(ids) <= self._limit:
            is_dense[:] = True
        is_dense |= np.array([id in self._dense for id in ids.tolist()], dtype=bool)
        place = np.where(is_dense, np.cumsum(is_dense) - 1, np.cumsum(~is_dense) - 1)
        columns, rest = int(is_dense.sum()), int((~is_dense).sum())
        entries = int(counts[~is_dense].sum())

        dense = self._make("dense", (len(order), columns), np.float32)
        table = self._statistics.array()
        kind = np.int16 if table.size == 0 or table.max() < 2**14 else np.int32
        statistics = self._make("counted", (len(order), table.shape[1]), kind)
        sparse_columns = self._make("sparse.columns", (entries,), np.int32)
        sparse_values = self._make("sparse.values", (entries,), np.float32)
        sparse_begin = np.zeros(len(order) + 1, np.int64)
        filled = 0
        for first in range(0, len(order), _PIECE):
            rows = order[first : first + _PIECE]
            positions = gathered(starts[rows], sizes[rows])
            row, number, value = (
                np.repeat(np.arange(len(rows)), sizes[rows]),
                numbers[positions],
                values[positions],
            )
            in_columns = is_dense[number]
            block = np.zeros((len(rows), columns), np.float32)
            block[row[in_columns], place[number[in_columns]]] = value[in_columns]
            dense[first : first + len(rows)] = block
            statistics[first : first + len(rows)] = table[rows]
            end = filled + int((~in_columns).sum())
            sparse_columns[filled:end] = place[number[~in_columns]]
            sparse_values[filled:end] = value[~in_columns]
            sparse_begin[first + 1 : first + len(rows) + 1] = np.bincount(
                row[~in_columns], minlength=len(rows)
            )
            filled = end
        sparse = None
        if rest:
            from scipy.sparse import csr_array

            parts = (sparse_values, sparse_columns, np.cumsum(sparse_begin))
            sparse = csr_array(parts, shape=(len(order), rest), copy=False)
        ordered = np.concatenate([ids[is_dense], ids[~is_dense]])
        return FeatureTable(ordered, dense, sparse), statistics

    def _make(self, name: str, shape: tuple[int, ...], kind: Any) -> Any:
        """Return a new array, in a file if there is a directory and the array is not empty."""
        if self._directory is None or 0 in shape:
            return np.zeros(shape, kind)
        path = self._directory / f"candidates.{name}"
        path.unlink(missing_ok=True)  # existing mappings of the old file stay valid
        return np.memmap(path, dtype=kind, mode="w+", shape=shape)


class _Column(Generic[S]):
    """An array that grows at its end, in memory or in a file."""

    def __init__(self, name: str, kind: np.dtype[S], width: int, path: Path | None) -> None:
        self.name, self._kind, self._width, self.path = name, kind, width, path
        self._pieces: list[NDArray[S]] = []
        self._size = 0  # valid bytes of the file
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def append(self, values: NDArray[S]) -> None:
        """Add rows at the end."""
        if self.path is None:
            self._pieces.append(np.ascontiguousarray(values))
            return
        data = np.ascontiguousarray(values, dtype=self._kind).tobytes()
        with self.path.open("ab") as file:
            file.truncate(self._size)  # a killed run may have written more
            file.write(data)
        self._size += len(data)

    def array(self) -> NDArray[S]:
        """Return all rows."""
        shape = (-1, self._width) if self._width else (-1,)
        if self.path is not None and self._size:
            count = self._size // self._kind.itemsize
            return np.memmap(self.path, self._kind, "r", shape=(count,)).reshape(shape)
        empty = np.zeros((0, *shape[1:]), self._kind)
        rows: NDArray[S] = np.concatenate([empty, *self._pieces]).astype(self._kind, copy=False)
        if self.path is None:
            self._pieces = [rows]
        return rows

    def saved(self) -> NDArray[Any]:
        """Return the rows, or the length of the file, for `restore`."""
        return self.array() if self.path is None else np.array(self._size, np.int64)

    def restore(self, saved: NDArray[Any]) -> None:
        if self.path is None:
            if saved.ndim == 0:
                raise ValueError("its candidates are in files of another directory")
            self._pieces = [saved.astype(self._kind, copy=False)]
        elif saved.ndim:  # saved from memory
            self._size = 0
            self.append(saved.astype(self._kind, copy=False))
        else:
            self._size = int(saved)
            if self._size > (self.path.stat().st_size if self.path.exists() else 0):
                raise ValueError(f"{self.path} is shorter than it was")


def gathered(begin: NDArray[np.int64], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the concatenated ranges begin[i] .. begin[i] + sizes[i]."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return np.repeat(begin - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


def entry(forest: Forest, number: int) -> Derivation:
    """Return an entry of an n-best list that is a forest of one node."""
    return Derivation(forest, np.array([number], np.uint32), 0.0)


def entries(forest: Forest) -> list[Derivation]:
    """Return the entries of an n-best list that is a forest of one node, in file order."""
    if forest.nodes > 1:
        raise ValueError(f"a forest of {forest.nodes} nodes is not an n-best list")
    return [entry(forest, number) for number in range(forest.edges)]
