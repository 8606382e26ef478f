"""Part-of-speech taggers: registered classes; `base.py` defines the contract."""

from hopefear.text.taggers.base import UNKNOWN, SentenceTags, Tagger, make_tagger

__all__ = ["UNKNOWN", "SentenceTags", "Tagger", "make_tagger"]
