"""Pairs of successive rules.  A non-local feature.  [yu2013]

Fires `rule-bigrams:le|the+chat|cat` if the rule `chat|cat` follows `le|the`, with `<s>` and `</s>`
at the ends (section 4.3). In hierarchical search the pair is a rule that fills a gap and the rule
that has the gap, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "rule-bigrams")
@dataclass(frozen=True, kw_only=True)
class RuleBigrams(EngineFeature):
    """Pairs of successive rules."""

    label: ClassVar[str] = "rule-bigrams"
