"""The entries of n-best lists as mappings with the keys of JSON lines.

Features are sorted by name, and those that are 0 are left out, as everywhere in forests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import Derivation
from hopefear.forest.io.nbest import NbestList, id_number


def entries_of_list(list_: NbestList) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list with the keys of JSON lines."""
    names = list_.forest.names
    for place in range(list_.forest.edges):
        derivation = Derivation(list_.forest, np.array([place], np.uint32), 0.0)
        vector = derivation.features
        pairs = zip(vector.ids.tolist(), short(vector.values), strict=True)
        named_values = {
            (names.name(id) if names is not None else None) or f"id:{id:016x}": value
            for id, value in pairs
        }
        features = dict(sorted(named_values.items()))  # without those that are 0
        entry: dict[str, Any] = {
            "id": list_.id if id_number(list_.id) is None else int(list_.id),
            "text": derivation.text,
            "features": features,
        }
        if np.isfinite(list_.scores[place]):
            entry["score"] = float(list_.scores[place])
        named = {
            name: float(column[place])
            for name, column in list_.named.items()
            if np.isfinite(column[place])
        }
        if named:
            entry["scores"] = named
        if len(list_.utilities) and len(list_.utilities[place]):
            entry["utilities"] = list_.utilities[place].tolist()
        yield entry


def short(values: ArrayLike) -> list[float]:
    """Return numbers with as few digits as give the same numbers in single precision."""
    exact = np.asarray(values, np.float32)
    rounded = [float(f"{value:.7g}") for value in exact.tolist()]
    wrong = np.flatnonzero(np.array(rounded, np.float32) != exact)
    for place in wrong.tolist():
        rounded[place] = float(f"{exact[place]:.9g}")
    return rounded
