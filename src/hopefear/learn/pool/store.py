"""The pool of a run: what every decoding adds, kept so that a killed run finds it again.

Two kinds, by what the tuner wants (`Space`). k-best lists are merged into `Candidates` without
repetitions; forests are files, one for each decoding, and mapped into memory. Candidates are mapped
files too where they would be many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import overload

from hopefear._engine import Derivation, Forest
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded
from hopefear.forest import ForestFile, kbest, save_pool, trim, viterbi
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.learn.pool.search_aware import BinRows, Bins, SearchAware, pool_metric, words_of
from hopefear.learn.tuner import Pool, Space
from hopefear.metrics import Metric

#: More candidates than this are kept in files.
IN_MEMORY = 5_000_000


@dataclass
class Added:
    """What a decoding brought."""

    texts: list[str] = field(default_factory=list)  # the best translation of each sentence
    failed: int = 0  # sentences without any
    new: int | None = None  # candidates that the pool did not have; None: not known
    total: int | None = None


@dataclass(kw_only=True)
class Store(ABC):
    """Base of the two kinds. Files of decoding i are named by i; `reload` finds them."""

    directory: Path
    metric: Metric
    references: Sequence[Sequence[str]]
    names: FeatureNames  # the decoder's
    k: int
    distinct: bool = True
    threads: int = 1
    decodings: int = 10  # how many to expect
    # Of k-best lists: features that are columns in any case; the weights of all others, if these
    # never move and are to be collapsed into one score.
    dense: Sequence[str] = ()
    collapse: Weights | None = None

    @abstractmethod
    def add(self, iteration: int, decoded: Iterator[Decoded], weights: Weights) -> Added:
        """Take what was decoded, in the order of the sentences, and keep it."""

    @abstractmethod
    def reload(self, decodings: int) -> None:
        """Take up what the first so many decodings left."""

    @abstractmethod
    def pool(self) -> Pool:
        """Everything so far, for a tuner."""


class KbestStore(Store):
    """k-best lists; one file holds all of them, written anew after each decoding."""

    @cached_property
    def builder(self) -> CandidateBuilder:
        mapped = self.directory / "mapped"
        in_files = self._rows() > IN_MEMORY or mapped.exists()  # a run that goes on stays there
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
        """Candidates to expect, at most."""
        return self.k * len(self.references) * self.decodings

    def add(self, iteration: int, decoded: Iterator[Decoded], weights: Weights) -> Added:
        def best(one: Decoded) -> list[Derivation]:
            return kbest(one.forest, weights, self.k, distinct=self.distinct)

        added, new = Added(), 0
        for sentence, derivations in enumerate(in_order(best, decoded, self.threads)):
            new += self.builder.add(sentence, derivations)
            added.texts.append(derivations[0].text if derivations else "")
            added.failed += not derivations
        return self._added(iteration, added, new)

    def _added(self, iteration: int, added: Added, new: int) -> Added:
        added.new, added.total = new, len(self.builder)
        self.builder.save(self._path(iteration))
        self._save_names(iteration)
        for old in range(iteration - 1):  # the one before may still be the checkpoint's
            self._path(old).unlink(missing_ok=True)
            self._names_path(old).unlink(missing_ok=True)
        return added

    def reload(self, decodings: int) -> None:
        if decodings:
            names = Weights.load(self._names_path(decodings - 1))
            for name, _ in names.items():
                self.names.intern(name)
            self.builder.restore(self._path(decodings - 1))

    def pool(self) -> Pool:
        return Pool(self.metric, candidates=self.builder.candidates(), references=self.references)

    def _save_names(self, iteration: int) -> None:
        """The candidates file has ids only; a resumed decoder may never meet a feature again."""
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
    """k-best lists, and before each the beams of the bins that lead to it, each a group."""

    tuner: SearchAware
    untranslated: frozenset[str]  # names of the features that count copied words
    words: int  # of the whole set

    def __post_init__(self) -> None:
        self.metric = pool_metric(self.metric, self.tuner.search_aware)
        untranslated = frozenset(map(self.names.intern, self.untranslated))
        self.bins = Bins(self.tuner.search_aware, self.tuner.future, self.names, untranslated)

    def _rows(self) -> int:
        return self.k * self.words * self.decodings

    def add(self, iteration: int, decoded: Iterator[Decoded], weights: Weights) -> Added:
        def look(pair: tuple[int, Decoded]) -> tuple[BinRows, int, list[Derivation]]:
            number, (forest, spans) = pair[0], (pair[1].forest, pair[1].spans)
            words = words_of(forest)
            prepared = self.builder.prepared
            assert prepared is not None, "a store has references"
            found = self.bins.counted(forest, weights, spans, prepared, number)
            return found, words, kbest(forest, weights, self.k, distinct=self.distinct)

        added, new = Added(), 0
        everything = in_order(look, enumerate(decoded), self.threads)
        for sentence, (found, words, best) in enumerate(everything):
            assert found.statistics is not None, "they were counted"
            new += self.builder.add_bins(
                sentence, found.covered, found.keys, found.features, found.ids, found.values,
                found.statistics, groups=range(1, words),
            )  # fmt: skip
            new += self.builder.add(sentence, best, bin=words)
            added.texts.append(best[0].text if best else "")
            added.failed += not best
        return self._added(iteration, added, new)


class ForestStore(Store):
    """Forests, without what reaches no goal; a file for each decoding."""

    @cached_property
    def files(self) -> list[ForestFile]:
        return []

    def add(self, iteration: int, decoded: Iterator[Decoded], weights: Weights) -> Added:
        added = Added()

        def kept() -> Iterator[Forest]:
            for one in decoded:
                best = viterbi(one.forest, weights)
                added.texts.append("" if best is None else best.text)
                added.failed += best is None
                yield trim(one.forest)

        save_pool(self._path(iteration), kept())
        self.files.append(ForestFile(self._path(iteration)))
        added.total = sum(map(len, self.files))
        return added

    def reload(self, decodings: int) -> None:
        self.files[:] = [ForestFile(self._path(i)) for i in range(decodings)]

    def pool(self) -> Pool:
        return Pool(self.metric, forests=_BySentence(self.files), references=self.references)

    def _path(self, iteration: int) -> Path:
        return self.directory / f"{iteration:02d}.forests"


class _BySentence(Sequence[Sequence[Forest]]):
    """Of each sentence its forests, oldest first, read from the files when they are asked for."""

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
