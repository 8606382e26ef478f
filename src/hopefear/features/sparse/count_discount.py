"""The count of a rule in training, in bins.  [chiang2009]

Fires `count-discount:1`, `count-discount:[4,5]`, or beyond the last bin `count-discount:[101,)`:
tuning learns a reward or penalty for each bin (Chiang's count_i and count_[i,j]). Fractional counts
are rounded up.
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
    """The count of a rule in training, in bins."""

    label: ClassVar[str] = "count-discount"

    bins: list[int] = option(
        [1, 2, 3, 5, 10, 100], min=1, help="largest count of each bin, in ascending order"
    )

    def __post_init__(self) -> None:
        if any(low >= high for low, high in pairwise(self.bins)):
            raise OptionError(f"bins: {self.bins} is not ascending; give for example 1 2 3 5 10")
