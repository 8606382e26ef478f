"""The widths of a rule's nonterminals, and whether it reorders them.  [chiang2009, eidelman2013]

Fires `structural-distortion:reordered|4` for a nonterminal over 4 source words that swaps order
with another nonterminal or with a linked word of the rule, otherwise
`structural-distortion:monotone|4` (thesis, equation 3.16). Phrase pairs have no nonterminals and
fire no feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "structural-distortion")
@dataclass(frozen=True, kw_only=True)
class StructuralDistortion(EngineFeature):
    """The widths of a rule's nonterminals, and whether it reorders them."""

    label: ClassVar[str] = "structural-distortion"

    longest: int = option(
        9, min=1, max=1000, help="largest width in source words; wider spans count as this wide"
    )
