"""Your own feature templates: a plugin for --plugin (docs/guides/extending.md).

A template looks at a rule where it is used (`RuleUse`: the sentence, the span, the two sides, the
inner alignment, scores and counts) and returns names and values. It is called once for each rule at
each span, never in the inner loop of search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.features.feature import PythonFeature, RuleUse, feature


@feature("punctuation")
def punctuation(use: RuleUse) -> Iterator[tuple[str, float]]:
    """A template as a function: whether the rule keeps the punctuation. Fires `punctuation:lost` or
    `punctuation:added`, with the number of marks.
    """
    before = sum(symbol in {".", ",", "?", "!"} for symbol in use.source_side)
    after = sum(symbol in {".", ",", "?", "!"} for symbol in use.target_side)
    if after < before:
        yield "lost", before - after
    elif after > before:
        yield "added", after - before


@register("feature", "sentence-place")
@dataclass(frozen=True, kw_only=True)
class SentencePlace(PythonFeature):
    """A template as a class with options: the part of the sentence where a rule is used. Fires
    `sentence-place:0|short`, `sentence-place:1|long` …
    """

    label: ClassVar[str] = "sentence-place"

    parts: int = option(3, min=1, help="number of parts of equal length")

    def fire(self, use: RuleUse) -> Iterator[tuple[str, float]]:
        part = use.span[0] * self.parts // len(use.source)
        length = "short" if use.span[1] - use.span[0] <= 2 else "long"
        yield f"{self.label}:{part}|{length}", 1.0
