"""Decoders: a sentence and weights become a forest."""

from __future__ import annotations

from hopefear.decode.chart import HieroDecoder, HieroOptions
from hopefear.decode.contract import Decoder, ForcedOption, Sentence, TrainingPair
from hopefear.decode.forced import Gold, force, leaving_out
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions, PhraseUse

__all__ = [
    "Decoder",
    "ForcedOption",
    "Gold",
    "HieroDecoder",
    "HieroOptions",
    "PhraseDecoder",
    "PhraseOptions",
    "PhraseUse",
    "Sentence",
    "TrainingPair",
    "force",
    "leaving_out",
]
