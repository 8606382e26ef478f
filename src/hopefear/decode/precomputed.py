"""A decoder over precomputed forests, which any other system may have written.

Takes files of forests or lattices (`forest.io.forests`). The id of a sentence is the number of a
forest, and decoding it with any weights returns that forest. So every tuner can learn from the
lattices of other systems.
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
    """A decoder that returns forests read from files, held in memory or memory-mapped."""

    title = "a file of lattices"

    def __init__(self) -> None:
        self.names = FeatureNames()
        self._vocabulary = Vocabulary()
        self._forests: list[Forest] = []
        self._dense: dict[int, str] = {}

    def read(
        self,
        paths: Sequence[PathLike],
        format: str | None = None,
        core_names: Sequence[str] | None = None,
    ) -> list[Sentence]:
        """Return a sentence for each forest in the files; without words if it has no derivation.

        `format` and `core_names` are those of `read_forests`.
        """
        sentences: list[Sentence] = []
        for path in paths:
            count = len(sentences)
            for forest in read_forests(
                path,
                format,
                core_names=core_names,
                vocabulary=self._vocabulary,
                names=self.names,
            ):
                sentences.append(self._add(forest))
            if len(sentences) == count:
                raise InputError(f"{display_name(path)}: no lattice in it; expected one or more")
        return sentences

    def _add(self, forest: Forest) -> Sentence:
        """Store a forest; return the sentence that stands for it."""
        id = str(len(self._forests))
        self._forests.append(forest)
        for column in (*forest.edge_columns.tolist(), *forest.row_columns.tolist()):
            feature = int(forest.feature_ids[column])
            if feature not in self._dense:
                name = None if forest.names is None else forest.names.name(feature)
                self._dense[feature] = name or f"id:{feature:016x}"
        self._add_names(forest)
        has_derivation = trim(forest).edges > 0
        return Sentence(("lattice", id) if has_derivation else (), id)

    def _add_names(self, forest: Forest) -> None:
        """Add a forest's feature names to those of the decoder."""
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
        """Return weight 1 for each lattice's own score, if it has one, and 0 for all others."""
        return Weights({name: 1.0 for name in ("lattice", "transition") if name in self.dense})
