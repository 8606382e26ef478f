"""Derivations of chart search, top down.

An edge's source words are those in the span of its head but in no span of its tails.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear._engine import Derivation, Forest
from hopefear.decode.trace.use import Covered, Use, edge_uses


def tree_uses(derivation: Derivation) -> list[Use]:
    """Return the uses of all edges of a derivation in pre-order."""
    return edge_uses(derivation, _covered)


def _covered(forest: Forest, head: int, tails: Sequence[int]) -> Covered:
    span = _span(forest, head)
    gaps = tuple(gap for gap in (_span(forest, tail) for tail in tails) if gap is not None)
    if span is None:
        return None, (), gaps
    gap_positions = {p for gap in gaps for p in range(*gap)}
    return span, tuple(p for p in range(*span) if p not in gap_positions), gaps


def _span(forest: Forest, node: int) -> tuple[int, int] | None:
    begin, end = int(forest.spans[2 * node]), int(forest.spans[2 * node + 1])
    return None if begin < 0 else (begin, end)


def bracketed(uses: Sequence[Use]) -> str:
    """Format the tree of the target side as cdec does: `(S (X a) (X (X green) house))`.

    Brackets of edges without a symbol and of the goal are left out.
    """
    children = _children(uses)
    parts: list[str] = []
    stack: list[int | str] = [0] if uses else []  # uses and text still to be written
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        use, symbols = uses[item], []
        for symbol in use.target:
            symbols.append(_escape(symbol) if isinstance(symbol, str) else children[item][symbol])
        if use.symbol is not None and use.symbol != "Goal":
            symbols = [f"({use.symbol}", *symbols, ")"]
        stack.extend(reversed(symbols))
    return " ".join(parts).replace(" )", ")")


def _escape(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def _children(uses: Sequence[Use]) -> list[list[int]]:
    """Return for each use of a pre-order list the numbers of its children."""
    children: list[list[int]] = [[] for _ in uses]
    path: list[int] = []
    for i, use in enumerate(uses):
        del path[use.depth :]
        if path:
            children[path[-1]].append(i)
        path.append(i)
    return children
