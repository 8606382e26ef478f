"""Two rules in a row.  A non-local feature.  [yu2013]

Fires `rule-bigrams:le|the+chat|cat` where the rule `le|the` is used and then `chat|cat`, with `<s>`
and `</s>` at the ends (section 4.3). In hierarchical search the two are a rule and the one that
fills a gap of it, the inner one first. The template itself is cpp/features/rule_bigrams.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, rule_bigrams
from hopefear.base.registry import register
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists


@register("feature", "rule-bigrams")
@dataclass(frozen=True, kw_only=True)
class RuleBigrams(Feature):
    label: ClassVar[str] = "rule-bigrams"

    def make(self, lists: WordLists) -> FeatureTemplate:
        return rule_bigrams(self.label)
