"""The order of words and nonterminals on the two sides of a rule.  [eidelman2013]

Fires `rule-shape:01110|11010` with 1 for a word and 0 for a nonterminal (thesis, equation 3.17).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "rule-shape")
@dataclass(frozen=True, kw_only=True)
class RuleShape(EngineFeature):
    """The order of words and nonterminals on the two sides of a rule."""

    label: ClassVar[str] = "rule-shape"

    runs: bool = option(False, help="count a sequence of words as one word")
