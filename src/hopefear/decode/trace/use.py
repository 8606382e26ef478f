"""The source and target words of each edge of a derivation, and the word alignment.

The parts that all systems share. `phrases` and `trees` take a derivation and return its `Use`s, one
per edge, in reading order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hopefear._engine import Derivation, Forest, SparseVector

LinksOf = Callable[[int], Iterable[tuple[int, int]]]  # takes a rule's number, returns its links


@dataclass(frozen=True)
class Use:
    """The use of a rule: an edge of a derivation with its source and target words."""

    edge: int
    rule: int  # the decoder's number of the rule, -1 for none
    symbol: str | None  # of the head
    span: tuple[int, int] | None  # half-open span of the source words below it; None: no words
    source: tuple[int, ...]  # positions of the rule's source words
    gaps: tuple[tuple[int, int], ...]  # source spans of the tails, in their order
    target: tuple[str | int, ...]  # words, and numbers of tails
    begin: int  # its yield in the output is the span [begin, end)
    end: int
    places: tuple[int, ...]  # positions of the rule's target words in the output
    depth: int
    features: SparseVector


# The source side of an edge: its span, the positions of the rule's words, the spans of the tails.
Covered = tuple[tuple[int, int] | None, tuple[int, ...], tuple[tuple[int, int], ...]]


def edge_uses(
    derivation: Derivation, covered: Callable[[Forest, int, Sequence[int]], Covered]
) -> list[Use]:
    """Return the uses of all edges of a derivation in pre-order.

    `covered` takes the forest, the head and the tails of an edge and returns its source side.
    """
    forest = derivation.forest
    edges = [int(edge) for edge in derivation.edges]
    children = derivation.children()
    targets = [_target(forest, edge) for edge in edges]
    # Lengths of the yields, bottom up: children come after their parent in pre-order.
    sizes = [0] * len(edges)
    for i in reversed(range(len(edges))):
        sizes[i] = sum(
            1 if isinstance(symbol, str) else sizes[children[i][symbol]] for symbol in targets[i]
        )
    begins, depths = [0] * len(edges), [0] * len(edges)
    places: list[tuple[int, ...]] = [()] * len(edges)
    for i in range(len(edges)):
        position, positions = begins[i], []
        for symbol in targets[i]:
            if isinstance(symbol, str):
                positions.append(position)
                position += 1
            else:
                child = children[i][symbol]
                begins[child], depths[child] = position, depths[i] + 1
                position += sizes[child]
        places[i] = tuple(positions)
        for child in children[i]:
            depths[child] = depths[i] + 1
    uses = []
    for i, edge in enumerate(edges):
        tails = [int(forest.heads[edges[child]]) for child in children[i]]
        head = int(forest.heads[edge])
        span, source, gaps = covered(forest, head, tails)
        number = int(forest.symbols[head])
        uses.append(
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
    return uses


def _target(forest: Forest, edge: int) -> tuple[str | int, ...]:
    begin, end = forest.target_begin[edge], forest.target_begin[edge + 1]
    word = forest.vocabulary.word
    return tuple(word(s) if s >= 0 else -1 - s for s in forest.target[begin:end].tolist())


def source_side(use: Use, words: Sequence[str]) -> str:
    """Format the source side of an edge: its words, and [1], [2] for the gaps."""
    position, end = use.span if use.span is not None else (0, 0)
    gaps = {gap[0]: (number, gap[1]) for number, gap in enumerate(use.gaps, 1)}
    parts = []
    while position < end:
        number, gap_end = gaps.get(position, (0, position + 1))
        parts.append(f"[{number}]" if number else words[position])
        position = max(gap_end, position + 1)
    return " ".join(parts)


def word_alignment(uses: Sequence[Use], links: LinksOf) -> list[tuple[int, int]]:
    """Return pairs (source position, output position), sorted by source position.

    `links` takes the number of a rule and returns its links, in positions of its two sides where a
    nonterminal counts as one. A copied word is aligned to its copy.
    """
    pairs = []
    for use in uses:
        if use.rule < 0:
            if len(use.source) == len(use.places) == 1:
                pairs.append((use.source[0], use.places[0]))
            continue
        # The positions of each side's symbols in order; None for a gap.
        gap_ends = dict(use.gaps)
        source: list[int | None] = []
        position, end = use.span if use.span is not None else (0, 0)
        while position < end:
            source.append(None if position in gap_ends else position)
            position = gap_ends.get(position, position + 1)
        places = iter(use.places)
        target = [next(places) if isinstance(symbol, str) else None for symbol in use.target]
        if use.target and not isinstance(use.target[0], str) and not use.gaps:
            target = target[1:]  # phrase search: the tail, the output so far, is not in the rule
        for i, j in links(use.rule):
            if i < len(source) and j < len(target):
                source_position, target_position = source[i], target[j]
                if source_position is not None and target_position is not None:
                    pairs.append((source_position, target_position))
    return sorted(pairs)
