"""Extraction of string-to-tree rules from aligned sentence pairs with target trees.  [galley2004]

Takes sentence pairs with word alignments and trees of the target sentences and returns rules such
as `NP -> [NN,1] de [NN,2], [NN,2] of [NN,1]`, whose target side is a piece of tree. The tree is cut
at its frontier nodes: those whose source words (from the first to the last) are not aligned to
words outside. Of a chain of nodes with the same source words, only the topmost is one, unless unary
rules are extracted. Each piece is a minimal rule; composed rules join pieces, within limits on the
nodes, the expanded phrases and the depth of the result. [galley2006]

A source word without alignment belongs to the rule of the lowest node that covers the next aligned
words on both sides, at the ends of the sentence of the root (`unaligned="peer"`, as in Moses); or
to any frontier node between these words, in all ways (`unaligned="all"`): then the rules with the
same piece of tree share a count of 1.

The scores are those of hierarchical rules and `p(r|root)`, the probability of the rule given the
label of its root, from Good-Turing discounted counts. [chiang2009, gale1995] p(f|e) is relative to
all rules with the same target side and the same labels, p(e|f) to all with the same source side.
Rules that differ in the inner nodes of their piece of tree only are one rule; the table keeps the
most frequent piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from hopefear.base.config import fields_of, option, part_of
from hopefear.base.errors import OptionError
from hopefear.rules.extract import ExtractOptions, SharedOptions
from hopefear.syntax.tree import Binarisation

if TYPE_CHECKING:
    from hopefear import _engine


@dataclass(kw_only=True)
class TreeInput:
    """The options of the trees that rules get labels from; for a class of `ExtractOptions`."""

    system: ClassVar[str]

    trees: Path | None = option(
        None, metavar="FILE", help="trees of the target text in brackets, one or () per line"
    )
    binarise: Binarisation = option(
        "none",
        help="binarisation of the trees: the first (left) or the last children (right) of a node, "
        "or around its head, get a node of their own",
    )

    @property
    def tree_file(self) -> Path:
        """The file of trees; an `OptionError` if there is none."""
        if self.trees is None:
            raise OptionError(
                f"--trees is missing: {self.system} rules are extracted from trees of the target "
                "text; give a file with a tree in brackets, or (), per line"
            )
        return self.trees

    def check_inputs(self) -> None:
        """Raise an `OptionError` if there are no trees."""
        _ = self.tree_file


@dataclass(kw_only=True)
class GhkmExtractOptions(TreeInput, ExtractOptions):
    """The extraction options of string-to-tree rules: limits, counting, and filters."""

    system: ClassVar[str] = "tree"

    composed: bool = option(True, help="extract minimal rules only")
    max_nodes: int = option(
        15, min=1, max=1000, help="largest number of tree nodes in a composed rule"
    )
    max_size: int = option(
        3, min=1, max=1000, help="largest number of expanded phrases in a composed rule"
    )
    max_depth: int = option(
        3, min=1, max=1000, help="largest depth of expanded phrases in a composed rule"
    )
    max_scope: int = option(
        3,
        min=0,
        max=1000,
        help="largest scope of a rule: nonterminals at the ends of its source side and pairs of "
        "adjacent ones",
    )
    max_side: int = option(
        100, min=1, max=100, help="largest number of words and nonterminals on a side of a rule"
    )
    unary: bool = option(False, help="also extract rules whose source side is one nonterminal")
    unaligned: Literal["peer", "all"] = option(
        "peer",
        help="rules that include an unaligned source word: that of the lowest node around it "
        "(peer, as in Moses) or those of all nodes (all)",
    )
    max_attached: int = option(
        4,
        min=0,
        max=100,
        help="largest number of unaligned words that a node takes at either end, with "
        "unaligned=all",
    )
    attachments: Literal["fractional", "whole"] = option(
        "fractional",
        help="count of the rules with the same piece of tree, with unaligned=all: 1 in total "
        "(fractional) or 1 each (whole)",
    )

    def content(self) -> dict[str, Any]:
        common = {field.name for field in fields_of(SharedOptions)}
        own = part_of(type(self), self, without=common | {"trees"})
        return {**own, "system": self.system, "limit": self.limit, "min_count": self.min_count}

    def engine_arguments(self) -> dict[str, Any]:
        return {"ghkm": self.to_engine(), "binarise": self.binarise}

    def to_engine(self) -> _engine.GhkmOptions:
        """Return the options in the engine's form."""
        from hopefear import _engine

        return _engine.GhkmOptions(
            composed=self.composed,
            max_nodes=self.max_nodes,
            max_size=self.max_size,
            max_depth=self.max_depth,
            max_scope=self.max_scope,
            max_symbols=self.max_side,
            unary=self.unary,
            all=self.unaligned == "all",
            max_attached=self.max_attached,
            fractional=self.attachments == "fractional",
        )


class TreeRule(NamedTuple):
    """An occurrence of a rule; nonterminals are written `[NP,1]`, on both sides."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]  # word links, in positions of source and target symbols
    label: str  # of the root
    fragment: str  # the piece of tree, with nonterminals as [1], [2], ...
    weight: float  # its contribution to the rule's count


def rules_of(
    source: Sequence[str],
    tree: str,
    alignment: Iterable[tuple[int, int]],
    options: GhkmExtractOptions | None = None,
) -> list[TreeRule]:
    """Return all occurrences of rules in one sentence pair; `tree` is the target, in brackets."""
    from hopefear import _engine

    options = options or GhkmExtractOptions()
    rules = _engine.ghkm_rules(
        options.to_engine(), options.binarise, list(source), tree, list(alignment)
    )
    found = []
    for source_side, target_side, links, label, fragment, count in rules:
        names = [symbol[0] for symbol in source_side if isinstance(symbol, tuple)]
        numbers = iter(range(1, len(names) + 1))
        found.append(
            TreeRule(
                tuple(
                    symbol if isinstance(symbol, str) else f"[{symbol[0]},{next(numbers)}]"
                    for symbol in source_side
                ),
                tuple(
                    symbol if isinstance(symbol, str) else f"[{names[symbol]},{symbol + 1}]"
                    for symbol in target_side
                ),
                links,
                label,
                fragment,
                count,
            )
        )
    return found
