"""Words and nonterminals of a rule, in their order.  [eidelman2013]

Fires `rule-shape:01110|11010` with 1 for a word and 0 for a nonterminal (thesis, equation 3.17).
The template itself is cpp/features/rule_shape.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, rule_shape
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists


@register("feature", "rule-shape")
@dataclass(frozen=True, kw_only=True)
class RuleShape(Feature):
    label: ClassVar[str] = "rule-shape"

    runs: bool = option(False, help="words in a row count as one")

    def make(self, lists: WordLists) -> FeatureTemplate:
        return rule_shape(self.label, self.runs)
