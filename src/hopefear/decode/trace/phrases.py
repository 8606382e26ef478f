"""Derivations of phrase search, in the order of the output.

An edge's source side is what its head covers and its tail does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopefear._engine import Derivation, Forest
from hopefear.decode.trace.use import Covered, Use, edge_uses


def phrase_uses(derivation: Derivation) -> list[Use]:
    """All edges from left to right."""
    return edge_uses(derivation, _covered)[::-1]


def _covered(forest: Forest, head: int, tails: Sequence[int]) -> Covered:
    after = _positions(forest, head)
    before = {p for tail in tails for p in _positions(forest, tail)}
    own = tuple(p for p in after if p not in before)
    return ((own[0], own[-1] + 1) if own else None), own, ()


def _positions(forest: Forest, node: int) -> list[int]:
    begin, end = int(forest.coverage_begin[node]), int(forest.coverage_begin[node + 1])
    bits = np.unpackbits(forest.coverage[begin:end].view(np.uint8), bitorder="little")
    return [int(position) for position in np.flatnonzero(bits)]


def segmentation(found: Sequence[Use]) -> str:
    """Moses's column: `source=target` per phrase in the order of the output, ends inclusive."""
    return " ".join(
        f"{_ends(use.source)}={_ends(use.places)}" for use in found if use.source and use.places
    )


def _ends(positions: Sequence[int]) -> str:
    first, last = min(positions), max(positions)
    return str(first) if first == last else f"{first}-{last}"
