"""The identity of a rule.  [eidelman2013]

Fires `rule-id:[1]_la_position_de_[2]|[1]_the_position_of_[2]` (thesis, equation 3.15): one weight
for each rule of the table, a learned counterpart of its translation probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "rule-id")
@dataclass(frozen=True, kw_only=True)
class RuleId(EngineFeature):
    """The identity of a rule."""

    label: ClassVar[str] = "rule-id"
