"""Hierarchical rules: which parts of an aligned sentence pair become rules. [chiang2007]

Takes sentence pairs with their word alignments and returns `X -> source, target` rules whose
nonterminals stand for phrases inside a phrase. The defaults are Chiang's limits: initial phrases of
10 words, two nonterminals that are no neighbours on the source side, 5 symbols there, an aligned
pair of words; all rules of an initial phrase share its count of 1.

Differs: Chiang keeps only the smallest of the initial phrases with the same alignment points
(`boundaries="tight"`); the default lets unaligned words at their edges in, as Moses does, so that
such words have translations. With it, rules and counts are those of Moses's extract-rules.

The scores are p and lex as of phrase pairs, from fractional counts, ln(1 + occurrences) of the
source side and of the rule, and whether each was seen once; occurrences within one sentence are one
here, whatever fills the nonterminals (but those whose words are linked differently are several).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from hopefear.base.config import fields_of, option, part_of
from hopefear.rules.extract import ExtractOptions, SharedOptions

if TYPE_CHECKING:
    from hopefear import _engine

LABEL = "X"  # of all nonterminals; cpp/rules/extract.hpp


@dataclass(kw_only=True)
class HieroExtractOptions(ExtractOptions):
    """Which hierarchical rules are extracted, how they count, and which are kept."""

    system: ClassVar[str] = "hiero"

    max_span: int = option(10, min=1, max=100, help="words of an initial phrase, on either side")
    max_symbols: int = option(
        5, min=1, max=100, help="words and nonterminals on the source side of a rule"
    )
    max_nonterminals: int = option(2, min=0, max=2, help="nonterminals of a rule")
    min_hole: int = option(
        1, min=1, max=100, help="source words that a nonterminal stands for, at least"
    )
    adjacent: bool = option(
        False, help="nonterminals may be neighbours on the source side of a rule"
    )
    aligned_words: bool = option(
        True,
        help="let rules be without an aligned pair of words; a word on each side will do",
    )
    boundaries: Literal["loose", "tight"] = option(
        "loose", help="whether phrases may begin and end with unaligned words (loose) or not"
    )
    counting: Literal["fractional", "whole"] = option(
        "fractional",
        help="the rules of an initial phrase share a count of 1 (fractional) or have 1 each",
    )
    min_hiero_count: float = option(
        1.0, min=0, help="least number of sentences with a rule that has nonterminals"
    )

    def content(self) -> dict[str, Any]:
        common = {field.name for field in fields_of(SharedOptions)}
        own = part_of(type(self), self, without=common)
        return {**own, "system": self.system, "limit": self.limit, "min_count": self.min_count}

    def engine_arguments(self) -> dict[str, Any]:
        return {"hiero": self.to_engine()}

    def to_engine(self) -> _engine.HieroOptions:
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
    """A rule where it was found; nonterminals are written `[X,1]`, on both sides."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]  # of words; places of source and target symbols
    weight: float  # what it counts


def rules_of(
    source: Sequence[str],
    target: Sequence[str],
    alignment: Iterable[tuple[int, int]],
    options: HieroExtractOptions | None = None,
) -> list[Occurrence]:
    """Every occurrence of a rule in one sentence pair, initial phrase by initial phrase."""
    from hopefear import _engine

    found = _engine.hiero_rules(
        (options or HieroExtractOptions()).to_engine(), list(source), list(target), list(alignment)
    )
    result = []
    for left, right, links, count in found:
        numbers = iter(range(1, len(left) + 1))
        result.append(
            Occurrence(
                tuple(_nonterminal(next(numbers)) if s is None else s for s in left),
                tuple(_nonterminal(s + 1) if isinstance(s, int) else s for s in right),
                links,
                count,
            )
        )
    return result


def _nonterminal(number: int) -> str:
    return f"[{LABEL},{number}]"
