"""Taggers: one class each, found by name in the registry; `base.py` is the contract."""

from hopefear.text.taggers.base import UNKNOWN, SentenceTags, Tagger, make_tagger

__all__ = ["UNKNOWN", "SentenceTags", "Tagger", "make_tagger"]
