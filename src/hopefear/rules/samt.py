r"""Extraction of hierarchical rules with syntactic labels.  [zollmann2006]

Takes sentence pairs with word alignments and trees of the target sentences and returns the rules of
`rules.hiero` with labels in place of X: of a target phrase that is a constituent, the
constituent's; else `NP+VP` if it is two adjacent constituents, `NP/NN` if it is an NP that lacks an
NN at its end, `NP\NN` if it lacks one at its beginning. X remains for other phrases, and for
sentences without a tree. Of a chain of constituents over the same words, the topmost gives the
label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hopefear.rules.ghkm import TreeInput
from hopefear.rules.hiero import HieroExtractOptions


@dataclass(kw_only=True)
class SamtExtractOptions(TreeInput, HieroExtractOptions):
    """The extraction options of hierarchical rules with labels: those of `hiero`, and trees."""

    system: ClassVar[str] = "samt"

    def content(self) -> dict[str, Any]:
        return {k: v for k, v in super().content().items() if k != "trees"}

    def engine_arguments(self) -> dict[str, Any]:
        return {"hiero": self.to_engine(), "labels": True, "binarise": self.binarise}


def span_label(tree: str, begin: int, end: int) -> str:
    """Return the label of the words `begin` to `end` (not included) of a tree in brackets."""
    from hopefear import _engine

    return _engine.span_label(tree, begin, end)
