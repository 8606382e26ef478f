"""The place of a candidate in its list: `rank` (0 for the first) and `rank-log`, ln(1 + rank).

They keep what the system's own order knows when its scores are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.registry import register
from hopefear.learn.list_features.base import CandidateList, ListFeature


@register("list-feature", "rank")
@dataclass(kw_only=True)
class Rank(ListFeature):
    """The place of the candidate in its list."""

    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        rank = np.arange(list_.nbest.forest.edges, dtype=np.float64)
        return {"rank": rank, "rank-log": np.log1p(rank)}
