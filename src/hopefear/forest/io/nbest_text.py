"""N-best lists in Moses's text format, which `read_nbest` and other tools read.

    0 ||| the house ||| LM0= -3.2 TM0= -1 -2 WordPenalty0= -2 ||| -1.5 ||| 0-1=0-1 ||| 0-0 1-1

Features are grouped as in reading: `TM0_1`, `TM0_2` become one label with two values. Dense
features come first, in the model's order, and are written even if 0; then the sparse features that
are not 0, sorted by name. Optional columns after the score are traces of the derivation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hopefear._engine import Derivation
from hopefear.base.weights import FeatureNames

_NUMBERED = re.compile(r"(.+)_1")


class NbestWriter:
    """Formats derivations of a model, whose dense features it is made with, as n-best entries."""

    def __init__(self, dense: Sequence[str]) -> None:
        self._groups = _groups(dense)
        self._dense = frozenset(dense)

    def line(
        self,
        id: str,
        derivation: Derivation,
        names: FeatureNames,
        columns: Iterable[str] = (),
    ) -> str:
        """Take a sentence id and a derivation; return the entry, without the line end."""
        features = named_features(derivation, names)
        words = " ".join(_escape(word) for word in derivation.words)
        score = f"{derivation.score:.8g}"
        return " ||| ".join([id, words, self.features(features), score, *columns])

    def empty(self, id: str, columns: Iterable[str] = ()) -> str:
        """Return the only entry of an empty sentence: an empty translation with score 0."""
        return " ||| ".join([id, "", self.features({}), "0", *columns])

    def features(self, features: Mapping[str, float]) -> str:
        """Take features by name and return the third field of an entry."""
        parts = []
        for label, members in self._groups:
            parts.append(label + "=")
            parts += (_number(features.get(name, 0.0)) for name in members)
        for name in sorted(features.keys() - self._dense):
            parts += (_escape(name) + "=", _number(features[name]))
        return " ".join(parts)


def named_features(derivation: Derivation, names: FeatureNames) -> dict[str, float]:
    """Return the features of a derivation by name (`id:…` if the name is unknown)."""
    vector = derivation.features
    pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    return {names.name(id) or f"id:{id:016x}": value for id, value in pairs}


def _groups(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return labels with their features: adjacent `A_1 A_2 … A_n` have the label `A`."""
    groups: list[tuple[str, list[str]]] = []
    start = 0
    while start < len(names):
        match = _NUMBERED.fullmatch(names[start])
        size = 1
        if match is not None:
            while start + size < len(names) and names[start + size] == f"{match[1]}_{size + 1}":
                size += 1
        label = match[1] if match is not None and size > 1 else names[start]
        groups.append((label, list(names[start : start + size])))
        start += size
    return groups


def _number(value: float) -> str:
    """Return the shortest text that is read as the same float."""
    if value.is_integer() and abs(value) < 1e6:  # the common case, faster than numpy
        return str(int(value))
    return np.format_float_positional(np.float32(value), unique=True, trim="-")


def _escape(word: str) -> str:
    """Return the word with the field separator `|||` escaped as by Moses's tokenizer."""
    return word.replace("|||", "&#124;&#124;&#124;")
