"""A decoder that does not decode: forests that are there already, from whatever system.

Goes in: files of forests or lattices (`forest.io.forests`). A sentence is the number of a forest,
and decoding it with any weights gives that forest, so every tuner learns from lattices of others as
it does from a decoder's.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear._engine import Forest, Vocabulary
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Request, Sentence
from hopefear.forest import trim
from hopefear.forest.io.forests import read_forests


class GivenForests(Decoder):
    """Forests read from files, kept in memory or mapped."""

    title = "a file of lattices"

    def __init__(self) -> None:
        self.names = FeatureNames()
        self._vocabulary = Vocabulary()
        self._forests: list[Forest] = []
        self._dense: dict[int, str] = {}

    def read(self, paths: Sequence[PathLike], format: str | None = None) -> list[Sentence]:
        """The sentences that stand for the forests of these files; empty where there is none."""
        found: list[Sentence] = []
        for path in paths:
            number = len(found)
            for forest in read_forests(path, format, vocabulary=self._vocabulary, names=self.names):
                found.append(self._add(forest))
            if len(found) == number:
                raise InputError(f"{display_name(path)}: no lattice in it; expected one or more")
        return found

    def _add(self, forest: Forest) -> Sentence:
        id = str(len(self._forests))
        self._forests.append(forest)
        for column in (*forest.edge_columns.tolist(), *forest.row_columns.tolist()):
            feature = int(forest.feature_ids[column])
            if feature not in self._dense:
                name = None if forest.names is None else forest.names.name(feature)
                self._dense[feature] = name or f"id:{feature:016x}"
        self._remember(forest)
        there = trim(forest).edges > 0
        return Sentence(("lattice", id) if there else (), id)

    def _remember(self, forest: Forest) -> None:
        if forest.names is None or forest.names is self.names:
            return
        for feature in forest.feature_ids.tolist():
            name = forest.names.name(feature)
            if name is not None and self.names.name(feature) is None:
                self.names.intern(name)

    @property
    def dense(self) -> list[str]:
        return sorted(self._dense.values())

    def answer(self, request: Request) -> Decoded:
        return Decoded(self._forests[int(Sentence.of(request.sentence).id)])

    def start_weights(self) -> Weights:
        """1 for what a lattice calls its own weight; nothing where there are features."""
        return Weights({name: 1.0 for name in ("lattice", "transition") if name in self.dense})
