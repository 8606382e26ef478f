"""What `hopefear tune --lattices` tunes: forests of files, instead of a decoder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import display_name
from hopefear.cli.tune_systems import System

if TYPE_CHECKING:
    from hopefear.cli.tune import Tune
    from hopefear.decode.precomputed import GivenForests
    from hopefear.learn.loop.batch import TuningSet


@dataclass(kw_only=True)
class LatticeSystem(System):
    """Sentences are numbers of lattices; references are words between blanks."""

    decoder: GivenForests
    format: str | None
    known: dict[tuple[Path, ...], list[Any]]  # what was read already

    def read(self, sources: Sequence[Path], references: Sequence[Path]) -> TuningSet:
        from hopefear.learn.loop.batch import TuningSet
        from hopefear.learn.loop.run import digest_of
        from hopefear.text.lines import read_parallel

        key = tuple(sources)
        sentences = self.known.get(key) or self.decoder.read(sources, self.format)
        expected, hashes = [], [hashlib.sha256() for _ in references]
        for row in read_parallel(references):  # hashed now: standard input comes only once
            for line, digest in zip(row, hashes, strict=True):
                digest.update(f"{line}\n".encode())
            expected.append(list(row))
        if len(expected) != len(sentences):
            where = display_name(sources[0]) + (" …" if len(sources) > 1 else "")
            raise InputError(
                f"{where}: {len(sentences):,} lattices, but {display_name(references[0])} has "
                f"{len(expected):,} lines; give the references of these lattices"
            )
        for path in sources:
            self.digests[path] = digest_of(path)
        for path, digest in zip(references, hashes, strict=True):
            self.digests[path] = digest.hexdigest()[:16]
        return TuningSet(sentences, expected)


def lattice_system(command: Tune) -> LatticeSystem:
    """The lattices of the command line, and weights to start from."""
    from hopefear.base.weights import Weights
    from hopefear.decode.precomputed import GivenForests

    decoder = GivenForests()
    sentences = decoder.read(command.lattices, command.lattice_format)
    weights = decoder.start_weights()
    if command.weights is not None:
        weights = Weights.load(command.weights)
    elif not weights.active:
        raise OptionError(
            "--lattices: no weights to start from; give --weights FILE, such as those of the "
            "system that made them"
        )
    return LatticeSystem(
        decoder=decoder,
        weights=weights,
        config={"lattices": command.lattice_format or "by content"},
        sentence=lambda line, place: line,
        reference=str,
        format=command.lattice_format,
        known={tuple(command.lattices): sentences},
    )
