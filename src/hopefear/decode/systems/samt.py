"""Hierarchical rules with syntactic labels, from trees of the target text.  [zollmann2006]"""

from __future__ import annotations

from hopefear.base.registry import register
from hopefear.decode.systems.hiero import Hiero
from hopefear.rules.samt import SamtExtractOptions


@register("system", "samt")
class Samt(Hiero):
    """The hierarchical system with syntactic labels; search and features are those of `hiero`."""

    description = "hierarchical rules with syntactic labels"
    extract_options = SamtExtractOptions
    parallel_inputs = ("trees",)
