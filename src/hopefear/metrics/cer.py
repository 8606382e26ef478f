"""CER (character error rate): edits of characters per character of the reference.

The blanks between words are characters. Equal to the CER of jiwer with its default transformation
on lines without repeated blanks. The gain is -CER.

Differs: repeated white space is one blank, as everywhere in the package; jiwer counts each blank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hopefear.base.registry import register
from hopefear.metrics.error_rate import ErrorRate


@register("metric", "cer")
@dataclass(kw_only=True)
class Cer(ErrorRate):
    """Character error rate, blanks between words included."""

    name: ClassVar[str] = "cer"
    title: ClassVar[str] = "CER"
    unit: ClassVar[Literal["word", "spaced-char"]] = "spaced-char"
