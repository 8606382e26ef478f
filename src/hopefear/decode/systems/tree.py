"""String-to-tree rules, parsed on the source side like hierarchical ones.  [galley2004]

Glue joins constituents of all labels, so every sentence has a translation.
"""

from __future__ import annotations

from hopefear.base.registry import register
from hopefear.decode.systems.hiero import Hiero
from hopefear.rules.ghkm import GhkmExtractOptions


@register("system", "tree")
class TreeSystem(Hiero):
    """The string-to-tree system; search and features are those of `hiero`."""

    description = "string-to-tree rules"
    extract_options = GhkmExtractOptions
    parallel_inputs = ("trees",)
