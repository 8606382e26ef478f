"""Derivations of phrase search, in the order of the output.

An edge's source words are those that its head covers and its tail does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopefear._engine import Derivation, Forest
from hopefear.decode.trace.use import Covered, Use, edge_uses


def phrase_uses(derivation: Derivation) -> list[Use]:
    """Return the uses of all edges of a derivation, from left to right."""
    return edge_uses(derivation, _covered)[::-1]


def _covered(forest: Forest, head: int, tails: Sequence[int]) -> Covered:
    tail_positions = {p for tail in tails for p in _positions(forest, tail)}
    source = tuple(p for p in _positions(forest, head) if p not in tail_positions)
    return ((source[0], source[-1] + 1) if source else None), source, ()


def _positions(forest: Forest, node: int) -> list[int]:
    begin, end = int(forest.coverage_begin[node]), int(forest.coverage_begin[node + 1])
    bits = np.unpackbits(forest.coverage[begin:end].view(np.uint8), bitorder="little")
    return [int(position) for position in np.flatnonzero(bits)]


def segmentation(uses: Sequence[Use]) -> str:
    """Format phrases as Moses does: `source=target` positions in the order of the output, with
    inclusive ends.
    """
    return " ".join(
        f"{_ends(use.source)}={_ends(use.places)}" for use in uses if use.source and use.places
    )


def _ends(positions: Sequence[int]) -> str:
    first, last = min(positions), max(positions)
    return str(first) if first == last else f"{first}-{last}"
