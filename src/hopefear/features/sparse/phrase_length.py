"""The numbers of words on the two sides of a rule.  An example to copy.

Fires `phrase-length:2x3` with value 1 for each use of a rule. With a weight for each pair of
lengths, a learner can prefer long phrases, or penalise those whose sides differ in length.
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
    """The numbers of words on the two sides of a rule."""

    label: ClassVar[str] = "phrase-length"

    longest: int = option(7, min=1, help="largest number of words; longer sides count as this long")

    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        source = sum(isinstance(symbol, str) for symbol in use.source_side)
        target = sum(isinstance(symbol, str) for symbol in use.target_side)
        shape = f"{min(source, self.longest)}x{min(target, self.longest)}"
        yield f"{self.label}:{shape}", 1.0
