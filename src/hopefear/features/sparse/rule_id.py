"""Which rule it is.  [eidelman2013]

Fires `rule-id:[1]_la_position_de_[2]|[1]_the_position_of_[2]` (thesis, equation 3.15): a learned
counterpart of translation probabilities, one weight for each rule of the table. The template itself
is cpp/features/rule_id.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, rule_id
from hopefear.base.registry import register
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists


@register("feature", "rule-id")
@dataclass(frozen=True, kw_only=True)
class RuleId(Feature):
    label: ClassVar[str] = "rule-id"

    def make(self, lists: WordLists) -> FeatureTemplate:
        return rule_id(self.label)
