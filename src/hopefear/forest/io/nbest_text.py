"""N-best lists out: Moses's text, which other tools read, and `read_nbest`.

    0 ||| the house ||| LM0= -3.2 TM0= -1 -2 WordPenalty0= -2 ||| -1.5 ||| 0-1=0-1 ||| 0-0 1-1

Features are grouped as they are read: `TM0_1`, `TM0_2` become one label with two values. Those
that a model always has come first, in its order and also where they are 0; then the others
that fired, by name. Columns after the score are traces of the derivation, if they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hopefear._engine import Derivation
from hopefear.base.weights import FeatureNames

_NUMBERED = re.compile(r"(.+)_1")


class NbestWriter:
    """Lines for the derivations of one model."""

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
        """One entry, without the end of the line."""
        features = named_features(derivation, names)
        words = " ".join(_escape(word) for word in derivation.words)
        score = f"{derivation.score:.8g}"
        return " ||| ".join([id, words, self.features(features), score, *columns])

    def empty(self, id: str, columns: Iterable[str] = ()) -> str:
        """The only entry of a sentence without words: nothing translates it, at no cost."""
        return " ||| ".join([id, "", self.features({}), "0", *columns])

    def features(self, features: Mapping[str, float]) -> str:
        """The third field."""
        parts = []
        for label, members in self._groups:
            parts.append(label + "=")
            parts += (_number(features.get(name, 0.0)) for name in members)
        for name in sorted(features.keys() - self._dense):
            parts += (_escape(name) + "=", _number(features[name]))
        return " ".join(parts)


def named_features(derivation: Derivation, names: FeatureNames) -> dict[str, float]:
    """The features of a derivation by name; one whose name nobody knows by its id."""
    vector = derivation.features
    pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    return {names.name(id) or f"id:{id:016x}": value for id, value in pairs}


def _groups(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Labels and their features: `A_1 A_2 … A_n` that follow each other are the label `A`."""
    found: list[tuple[str, list[str]]] = []
    at = 0
    while at < len(names):
        match = _NUMBERED.fullmatch(names[at])
        size = 1
        if match is not None:
            while at + size < len(names) and names[at + size] == f"{match[1]}_{size + 1}":
                size += 1
        label = match[1] if match is not None and size > 1 else names[at]
        found.append((label, list(names[at : at + size])))
        at += size
    return found


def _number(value: float) -> str:
    """The shortest text that is read as the same float."""
    if value.is_integer() and abs(value) < 1e6:  # most are, and numpy takes its time
        return str(int(value))
    return np.format_float_positional(np.float32(value), unique=True, trim="-")


def _escape(word: str) -> str:
    """What would be taken for the end of the field, as Moses's tokenizer writes it."""
    return word.replace("|||", "&#124;&#124;&#124;")
