"""Derivations of a chart, top down.

An edge's source side is the span of its head without those of its tails.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear._engine import Derivation, Forest
from hopefear.decode.trace.use import Covered, Use, edge_uses


def tree_uses(derivation: Derivation) -> list[Use]:
    """All edges in pre-order."""
    return edge_uses(derivation, _covered)


def _covered(forest: Forest, head: int, tails: Sequence[int]) -> Covered:
    span = _span(forest, head)
    gaps = tuple(gap for gap in (_span(forest, tail) for tail in tails) if gap is not None)
    if span is None:
        return None, (), gaps
    inside = {p for gap in gaps for p in range(*gap)}
    return span, tuple(p for p in range(*span) if p not in inside), gaps


def _span(forest: Forest, node: int) -> tuple[int, int] | None:
    begin, end = int(forest.spans[2 * node]), int(forest.spans[2 * node + 1])
    return None if begin < 0 else (begin, end)


def bracketed(found: Sequence[Use]) -> str:
    """A tree of the target side as cdec writes it, `(S (X a) (X (X green) house))`.

    Edges without a symbol are left out, and so is a goal above its only tail.
    """
    # Pre-order, so what is below use i follows it; a stack of what is still to be written.
    below = _children(found)
    parts: list[str] = []
    stack: list[int | str] = [0] if found else []
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        use, symbols = found[item], []
        for symbol in use.target:
            symbols.append(_plain(symbol) if isinstance(symbol, str) else below[item][symbol])
        shown = use.symbol is not None and use.symbol != "Goal"
        if shown:
            symbols = [f"({use.symbol}", *symbols, ")"]
        stack.extend(reversed(symbols))
    return " ".join(parts).replace(" )", ")")


def _plain(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _children(found: Sequence[Use]) -> list[list[int]]:
    """Per use of a pre-order list the numbers of those directly below it."""
    below: list[list[int]] = [[] for _ in found]
    path: list[int] = []
    for i, use in enumerate(found):
        del path[use.depth :]
        if path:
            below[path[-1]].append(i)
        path.append(i)
    return below
