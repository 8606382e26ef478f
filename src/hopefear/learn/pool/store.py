"""Stores of the pool of a run, on disk so that a killed run can resume.

There are two kinds, by the tuner's `Space`. K-best lists are merged into `Candidates` without
duplicates; forests are files, one for each decoding, mapped into memory. Large numbers of
candidates are mapped files too.

A store says what it keeps of a decoder's answer (`look`) and takes the results in the order of the
sentences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from hopefear._engine import Forest
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import ForestFile, save_pool
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.learn.pool.look import BestBins, BestForest, BestList, BinLists, ListRows, Look
from hopefear.learn.pool.search_aware import SearchAware, pool_metric
from hopefear.learn.tuner import Pool, Space
from hopefear.metrics import Metric

#: More candidates than this are stored in mapped files.
IN_MEMORY = 5_000_000


@dataclass
class Added:
    """The best translations of a decoding, and numbers of candidates."""

    texts: list[str] = field(default_factory=list)  # the best translation of each sentence
    failed: int = 0  # number of sentences without translation
    new: int | None = None  # number of candidates new to the pool; None: unknown
    total: int | None = None  # number of candidates in the pool


@dataclass(kw_only=True)
class Store(ABC):
    """The base class of stores. The names of files begin with the number of the decoding."""

    directory: Path
    metric: Metric
    references: Sequence[Sequence[str]]
    names: FeatureNames  # the decoder's
    k: int
    distinct: bool = True
    threads: int = 1
    decodings: int = 10  # expected number
    # For k-best lists: features that are always columns, and the weights of all others if these are
    # fixed and to be collapsed into one score.
    dense: Sequence[str] = ()
    collapse: Weights | None = None

    @abstractmethod
    def look(self, weights: Weights) -> Look[Any]:
        """Return what is kept of the answers of a decoding with these weights."""

    @abstractmethod
    def add(self, iteration: int, results: Iterator[Any]) -> Added:
        """Take the results of `look` in the order of the sentences and store them."""

    @abstractmethod
    def reload(self, decodings: int) -> None:
        """Load the files of this number of decodings."""

    @abstractmethod
    def files_of(self, decodings: int) -> list[Path]:
        """Return the files that `reload` reads."""

    @abstractmethod
    def pool(self) -> Pool:
        """Return everything stored so far."""


class KbestStore(Store):
    """K-best lists in one file, which is rewritten after each decoding."""

    @cached_property
    def builder(self) -> CandidateBuilder:
        """The builder that holds all candidates."""
        mapped = self.directory / "mapped"
        in_files = self._rows() > IN_MEMORY or mapped.exists()  # resumed runs keep their files
        return CandidateBuilder(
            self.metric,
            self.references,
            names=self.names,
            dense=map(self.names.intern, self.dense),
            collapse=self.collapse,
            directory=mapped if in_files else None,
            threads=self.threads,
        )

    def _rows(self) -> int:
        """Return the maximum number of candidates to expect."""
        return self.k * len(self.references) * self.decodings

    def look(self, weights: Weights) -> Look[Any]:
        return BestList(weights, self.k, self.distinct)

    def add(self, iteration: int, results: Iterator[Any]) -> Added:
        added, new = Added(), 0
        for sentence, rows in enumerate(results):
            new += self._add_list(added, sentence, rows)
        return self._added(iteration, added, new)

    def _add_list(self, added: Added, sentence: int, rows: ListRows, bin: int = 0) -> int:
        added.texts.append(rows.texts[0] if rows.texts else "")
        added.failed += not rows.texts
        return self.builder.add_list_rows(sentence, rows, bin=bin)

    def _added(self, iteration: int, added: Added, new: int) -> Added:
        added.new, added.total = new, len(self.builder)
        self.builder.save(self._path(iteration))
        self._save_names(iteration)
        for old in range(iteration - 1):  # the previous file may still belong to the checkpoint
            self._path(old).unlink(missing_ok=True)
            self._names_path(old).unlink(missing_ok=True)
        return added

    def reload(self, decodings: int) -> None:
        if decodings:
            names = Weights.load(self._names_path(decodings - 1))
            for name, _ in names.items():
                self.names.intern(name)
            self.builder.restore(self._path(decodings - 1))

    def files_of(self, decodings: int) -> list[Path]:
        if not decodings:
            return []
        own = [self._path(decodings - 1), self._names_path(decodings - 1)]
        return [*own, *self.builder.files()]

    def pool(self) -> Pool:
        return Pool(self.metric, candidates=self.builder.candidates(), references=self.references)

    def _save_names(self, iteration: int) -> None:
        """Write the names of features; a resumed decoder may not see a feature again."""
        known = Weights()
        for id in self.builder.feature_ids:
            name = self.names.name(id)
            if name is not None:
                known[name] = 0.0
        known.save(self._names_path(iteration))

    def _path(self, iteration: int) -> Path:
        return self.directory / f"{iteration:02d}.npz"

    def _names_path(self, iteration: int) -> Path:
        return self.directory / f"{iteration:02d}.names.bin"


@dataclass(kw_only=True)
class BinStore(KbestStore):
    """K-best lists, and the beams of all other bins of each sentence, each as a group."""

    tuner: SearchAware
    untranslated: frozenset[str]  # names of the features that count copied words
    words: int  # of the complete set

    def __post_init__(self) -> None:
        self.metric = pool_metric(self.metric, self.tuner.search_aware)

    def _rows(self) -> int:
        return self.k * self.words * self.decodings

    def look(self, weights: Weights) -> Look[Any]:
        return BestBins(
            weights,
            self.k,
            self.distinct,
            self.tuner.search_aware,
            self.tuner.future,
            frozenset(map(self.names.intern, self.untranslated)),
            self.metric,
            self.references,
        )

    def add(self, iteration: int, results: Iterator[BinLists]) -> Added:
        added, new = Added(), 0
        for sentence, (rows, words, best) in enumerate(results):
            assert rows.statistics is not None, "`counted` returns statistics"
            new += self.builder.add_bins(
                sentence, rows.covered, rows.keys, rows.features, rows.ids, rows.values,
                rows.statistics, groups=range(1, words),
            )  # fmt: skip
            new += self._add_list(added, sentence, best, bin=words)
        return self._added(iteration, added, new)


class ForestStore(Store):
    """Forests without the parts that do not reach the goal, in a file for each decoding."""

    @cached_property
    def files(self) -> list[ForestFile]:
        """The files of forests, one for each decoding."""
        return []

    def look(self, weights: Weights) -> Look[Any]:
        return BestForest(weights)

    def add(self, iteration: int, results: Iterator[tuple[str | None, Forest]]) -> Added:
        added = Added()

        def kept() -> Iterator[Forest]:
            for text, forest in results:
                added.texts.append(text or "")
                added.failed += text is None
                yield forest

        save_pool(self._path(iteration), kept())
        self.files.append(ForestFile(self._path(iteration)))
        added.total = sum(map(len, self.files))
        return added

    def reload(self, decodings: int) -> None:
        self.files[:] = map(ForestFile, self.files_of(decodings))

    def files_of(self, decodings: int) -> list[Path]:
        return [self._path(number) for number in range(decodings)]

    def pool(self) -> Pool:
        return Pool(self.metric, forests=_BySentence(self.files), references=self.references)

    def _path(self, iteration: int) -> Path:
        return self.directory / f"{iteration:02d}.forests"


class _BySentence(Sequence[Sequence[Forest]]):
    """The forests of each sentence, oldest first, read from the files on demand."""

    def __init__(self, files: Sequence[ForestFile]) -> None:
        self.files = list(files)

    def __len__(self) -> int:
        return len(self.files[0]) if self.files else 0

    @overload
    def __getitem__(self, index: int) -> Sequence[Forest]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Forest]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[Forest] | Sequence[Sequence[Forest]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return [file[index] for file in self.files]


STORES: dict[Space, type[Store]] = {"kbest": KbestStore, "forest": ForestStore}
