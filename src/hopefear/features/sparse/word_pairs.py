"""Aligned word pairs.  [eidelman2013]

Fires `word-pairs:rappelle|remind` for each link of a rule's word alignment (thesis, equation 3.11):
a lexicon with learned weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature


@register("feature", "word-pairs")
@dataclass(frozen=True, kw_only=True)
class WordPairs(EngineFeature):
    """Aligned word pairs of a rule."""

    label: ClassVar[str] = "word-pairs"
