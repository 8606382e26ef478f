"""Lengths: `words`, `characters`, and with a source text `length-ratio`.

Without a feature of length a reranker cannot correct lists that are too short or too long. The
ratio is |ln((words + 1) / (source words + 1))|.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base.registry import register
from hopefear.learn.list_features.base import CandidateList, ListFeature


@register("list-feature", "length")
@dataclass(kw_only=True)
class Length(ListFeature):
    """Lengths of the candidate."""

    def columns(self, list_: CandidateList) -> Mapping[str, ArrayLike]:
        words = np.array([len(text.split()) for text in list_.texts], np.float64)
        characters = np.array([len(text) for text in list_.texts], np.float64)
        columns: dict[str, ArrayLike] = {"words": words, "characters": characters}
        if list_.source is not None:
            columns["length-ratio"] = np.abs(np.log((words + 1) / (len(list_.source.split()) + 1)))
        return columns
