"""How a derivation uses the source: which words each of its edges covers, and what they became.

What all systems share. `phrases` and `trees` take a derivation and return its `Use`s, one per edge,
in the order in which a person reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hopefear._engine import Derivation, Forest, SparseVector

LinksOf = Callable[[int], Iterable[tuple[int, int]]]  # of a rule, by its number


@dataclass(frozen=True)
class Use:
    """An edge of a derivation: where it is, and its own words."""

    edge: int
    rule: int  # the decoder's number, -1 for none
    symbol: str | None  # of the head
    span: tuple[int, int] | None  # source words below it, half-open; None for none at all
    source: tuple[int, ...]  # positions of the source words that it translates itself
    gaps: tuple[tuple[int, int], ...]  # source spans of the tails, in their order
    target: tuple[str | int, ...]  # words, and numbers of tails
    begin: int  # of its whole yield in the output, half-open
    end: int
    places: tuple[int, ...]  # in the output, of its own words
    depth: int
    features: SparseVector


# The span of a node's edge, the positions of its own source words, the spans of its tails.
Covered = tuple[tuple[int, int] | None, tuple[int, ...], tuple[tuple[int, int], ...]]


def edge_uses(
    derivation: Derivation, covered: Callable[[Forest, int, Sequence[int]], Covered]
) -> list[Use]:
    """All edges in pre-order; `covered` finds the source side from the head and the tails."""
    forest = derivation.forest
    edges = [int(edge) for edge in derivation.edges]
    children = derivation.children()
    targets = [_target(forest, edge) for edge in edges]
    # Sizes bottom up: children come after their parent in pre-order.
    sizes = [0] * len(edges)
    for i in reversed(range(len(edges))):
        sizes[i] = sum(
            1 if isinstance(symbol, str) else sizes[children[i][symbol]] for symbol in targets[i]
        )
    begins, depths = [0] * len(edges), [0] * len(edges)
    places: list[tuple[int, ...]] = [()] * len(edges)
    for i in range(len(edges)):
        at, own = begins[i], []
        for symbol in targets[i]:
            if isinstance(symbol, str):
                own.append(at)
                at += 1
            else:
                child = children[i][symbol]
                begins[child], depths[child] = at, depths[i] + 1
                at += sizes[child]
        places[i] = tuple(own)
        for child in children[i]:
            depths[child] = depths[i] + 1
    found = []
    for i, edge in enumerate(edges):
        tails = [int(forest.heads[edges[child]]) for child in children[i]]
        head = int(forest.heads[edge])
        span, source, gaps = covered(forest, head, tails)
        number = int(forest.symbols[head])
        found.append(
            Use(
                edge=edge,
                rule=int(forest.rules[edge]),
                symbol=None if number < 0 else forest.vocabulary.word(number),
                span=span,
                source=source,
                gaps=gaps,
                target=targets[i],
                begin=begins[i],
                end=begins[i] + sizes[i],
                places=places[i],
                depth=depths[i],
                features=forest.edge_features(edge),
            )
        )
    return found


def _target(forest: Forest, edge: int) -> tuple[str | int, ...]:
    begin, end = forest.target_begin[edge], forest.target_begin[edge + 1]
    word = forest.vocabulary.word
    return tuple(word(s) if s >= 0 else -1 - s for s in forest.target[begin:end].tolist())


def source_side(use: Use, words: Sequence[str]) -> str:
    """The words of an edge, and [1], [2] for what its tails cover."""
    at, end = use.span if use.span is not None else (0, 0)
    starts = {gap[0]: (number, gap[1]) for number, gap in enumerate(use.gaps, 1)}
    parts = []
    while at < end:
        number, after = starts.get(at, (0, at + 1))
        parts.append(f"[{number}]" if number else words[at])
        at = max(after, at + 1)
    return " ".join(parts)


def word_alignment(found: Sequence[Use], links: LinksOf) -> list[tuple[int, int]]:
    """Pairs (source position, place in the output), by source position.

    `links` gives those of a rule, in places of its two sides where a nonterminal counts as one; a
    word that was passed through is aligned to itself.
    """
    pairs = []
    for use in found:
        if use.rule < 0:
            if len(use.source) == len(use.places) == 1:
                pairs.append((use.source[0], use.places[0]))
            continue
        # A side's symbols in order: words, and None for a gap.
        starts = {gap[0]: gap[1] for gap in use.gaps}
        source: list[int | None] = []
        at, end = use.span if use.span is not None else (0, 0)
        while at < end:
            source.append(None if at in starts else at)
            at = starts.get(at, at + 1)
        own = iter(use.places)
        target = [next(own) if isinstance(symbol, str) else None for symbol in use.target]
        if use.target and not isinstance(use.target[0], str) and not use.gaps:
            target = target[1:]  # phrase search: what was translated before is no part of the rule
        for i, j in links(use.rule):
            if i < len(source) and j < len(target):
                here, there = source[i], target[j]
                if here is not None and there is not None:
                    pairs.append((here, there))
    return sorted(pairs)
