"""The shape of a rule: how many words its two sides have.  An example made to be copied.

Fires `phrase-length:2x3`, once for each use of a rule: with a weight for each shape a learner can
prefer long phrases, or distrust those that grow or shrink.  The values are 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import PythonFeature, RuleUse


@register("feature", "phrase-length")
@dataclass(frozen=True, kw_only=True)
class PhraseLength(PythonFeature):
    label: ClassVar[str] = "phrase-length"

    longest: int = option(7, min=1, help="sides with more words count as so many")

    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        source = sum(isinstance(symbol, str) for symbol in use.source_side)
        target = sum(isinstance(symbol, str) for symbol in use.target_side)
        shape = f"{min(source, self.longest)}x{min(target, self.longest)}"
        yield f"{self.label}:{shape}", 1.0
