"""How often a rule was seen in training.  [chiang2009]

Fires `count-discount:1`, `count-discount:[4,5]`, beyond the last bin `count-discount:[101,)`: rules
that were seen once are rewarded or punished as tuning likes, and so on (Chiang's count_i and
count_[i,j]). Counts that are fractions are rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "count-discount")
@dataclass(frozen=True, kw_only=True)
class CountDiscount(EngineFeature):
    label: ClassVar[str] = "count-discount"

    bins: list[int] = option(
        [1, 2, 3, 5, 10, 100], min=1, help="the largest count of each bin, ascending"
    )

    def __post_init__(self) -> None:
        if any(low >= high for low, high in pairwise(self.bins)):
            raise OptionError(f"bins: {self.bins} does not ascend; give such as 1 2 3 5 10")
