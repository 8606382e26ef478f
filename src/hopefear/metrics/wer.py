"""WER (word error rate): insertions, deletions and substitutions of words per reference word.

Equal to the WER of jiwer with its default transformation. The gain is -WER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hopefear.base.registry import register
from hopefear.metrics.error_rate import ErrorRate


@register("metric", "wer")
@dataclass(kw_only=True)
class Wer(ErrorRate):
    """Word error rate."""

    name: ClassVar[str] = "wer"
    title: ClassVar[str] = "WER"
    unit: ClassVar[Literal["word", "spaced-char"]] = "word"
