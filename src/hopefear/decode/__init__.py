"""Decoders: a sentence and weights become a forest.

The names are imported when they are asked for: `hopefear --help` needs the systems, but no engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopefear.decode.chart import ChartOptions, HieroDecoder
    from hopefear.decode.contract import Decoder, ForcedOption, Sentence, TrainingPair
    from hopefear.decode.forced import Gold, force, leaving_out
    from hopefear.decode.phrase import PhraseDecoder, PhraseOptions, PhraseUse

__all__ = [
    "ChartOptions",
    "Decoder",
    "ForcedOption",
    "Gold",
    "HieroDecoder",
    "PhraseDecoder",
    "PhraseOptions",
    "PhraseUse",
    "Sentence",
    "TrainingPair",
    "force",
    "leaving_out",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("contract", "forced", "phrase", "chart"):
            found = importlib.import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
