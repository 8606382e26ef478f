"""Extraction of hierarchical rules from aligned sentence pairs. [chiang2007]

Takes sentence pairs with their word alignments and returns `X -> source, target` rules whose
nonterminals replace phrases inside a phrase. The defaults are Chiang's limits: initial phrases of
at most 10 words, two nonterminals that are not adjacent on the source side, 5 symbols on the source
side, at least one aligned pair of words. The rules of an initial phrase share a count of 1.

Differs: Chiang keeps only the smallest of the initial phrases with the same alignment points
(`boundaries="tight"`); the default allows unaligned words at their boundaries, as Moses does, so
that these words have translations. With it, rules and counts equal those of Moses's extract-rules.

The scores are: p and lex in both directions, as for phrase pairs, from fractional counts; for the
source side and for the rule, ln(1 + occurrences) and an indicator of a single occurrence. For the
last two, all occurrences in a sentence pair with the same links count as one, whatever the
nonterminals cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from hopefear.base.config import fields_of, option, part_of
from hopefear.rules.extract import ExtractOptions, SharedOptions

if TYPE_CHECKING:
    from hopefear import _engine

LABEL = "X"  # label of all nonterminals, as in cpp/rules/extract.hpp


@dataclass(kw_only=True)
class HieroExtractOptions(ExtractOptions):
    """The extraction options of hierarchical rules: limits, counting, and filters."""

    system: ClassVar[str] = "hiero"
    blocks_per_run: ClassVar[int] = 4

    max_span: int = option(
        10, min=1, max=100, help="largest number of words on either side of an initial phrase"
    )
    max_symbols: int = option(
        5,
        min=1,
        max=100,
        help="largest number of words and nonterminals on the source side of a rule",
    )
    max_nonterminals: int = option(2, min=0, max=2, help="largest number of nonterminals in a rule")
    min_hole: int = option(
        1, min=1, max=100, help="smallest number of source words that a nonterminal covers"
    )
    adjacent: bool = option(False, help="allow adjacent nonterminals on the source side of a rule")
    aligned_words: bool = option(
        True,
        help="accept rules without an aligned pair of words; one word on each side is enough",
    )
    boundaries: Literal["loose", "tight"] = option(
        "loose",
        help="whether initial phrases may (loose) or may not begin or end with unaligned "
        "words (tight)",
    )
    counting: Literal["fractional", "whole"] = option(
        "fractional",
        help="count of the rules of an initial phrase: 1 in total (fractional) or 1 each (whole)",
    )
    min_hiero_count: float = option(
        1.0,
        min=0,
        help="smallest number of sentence pairs with an occurrence of a rule with nonterminals",
    )

    def content(self) -> dict[str, Any]:
        common = {field.name for field in fields_of(SharedOptions)}
        own = part_of(type(self), self, without=common)
        return {**own, "system": self.system, "limit": self.limit, "min_count": self.min_count}

    def engine_arguments(self) -> dict[str, Any]:
        return {"hiero": self.to_engine()}

    def to_engine(self) -> _engine.HieroOptions:
        """Return the options in the engine's form."""
        from hopefear import _engine

        return _engine.HieroOptions(
            max_span=self.max_span,
            max_symbols=self.max_symbols,
            max_nonterminals=self.max_nonterminals,
            min_hole=self.min_hole,
            adjacent=self.adjacent,
            aligned=self.aligned_words,
            tight=self.boundaries == "tight",
            fractional=self.counting == "fractional",
            min_count=self.min_hiero_count,
        )


class Occurrence(NamedTuple):
    """An occurrence of a rule; nonterminals are written `[X,1]`, on both sides."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]  # word links, in positions of source and target symbols
    weight: float  # its contribution to the rule's count


def rules_of(
    source: Sequence[str],
    target: Sequence[str],
    alignment: Iterable[tuple[int, int]],
    options: HieroExtractOptions | None = None,
) -> list[Occurrence]:
    """Return all occurrences of rules in one sentence pair, grouped by initial phrase."""
    from hopefear import _engine

    rules = _engine.hiero_rules(
        (options or HieroExtractOptions()).to_engine(), list(source), list(target), list(alignment)
    )
    occurrences = []
    for source_side, target_side, links, count in rules:
        numbers = iter(range(1, len(source_side) + 1))
        occurrences.append(
            Occurrence(
                tuple(_nonterminal(next(numbers)) if s is None else s for s in source_side),
                tuple(_nonterminal(s + 1) if isinstance(s, int) else s for s in target_side),
                links,
                count,
            )
        )
    return occurrences


def _nonterminal(number: int) -> str:
    return f"[{LABEL},{number}]"
