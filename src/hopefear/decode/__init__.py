"""Decoders: take a sentence and weights and return a forest.

The names are imported on first use, because `hopefear --help` loads this package without the
engine.
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
        for submodule in ("contract", "forced", "phrase", "chart"):
            module = importlib.import_module(f"{__name__}.{submodule}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
