"""Bigrams of the target.  An example of a template with a state, made to be copied.

Fires `target-bigrams:the|house` for each pair of neighbours in the output, with `<s>` and `</s>` at
its ends: a small language model whose weights are learned with all others.  The template itself is
cpp/features/target_bigrams.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear._engine import FeatureTemplate, target_bigrams
from hopefear.features.feature import Feature
from hopefear.registry import register


@register("feature", "target-bigrams")
@dataclass(frozen=True, kw_only=True)
class TargetBigrams(Feature):
    label: ClassVar[str] = "target-bigrams"

    def make(self) -> FeatureTemplate:
        return target_bigrams(self.label)
