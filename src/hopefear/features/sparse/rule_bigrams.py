"""Two rules in a row.  A non-local feature.  [yu2013]

Fires `rule-bigrams:le|the+chat|cat` where the rule `le|the` is used and then `chat|cat`, with `<s>`
and `</s>` at the ends (section 4.3). In hierarchical search the two are a rule and the one that
fills a gap of it, the inner one first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "rule-bigrams")
@dataclass(frozen=True, kw_only=True)
class RuleBigrams(EngineFeature):
    label: ClassVar[str] = "rule-bigrams"
