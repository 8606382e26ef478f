"""Tokenizers: one class each, found by name in the registry; `base.py` is the contract."""

from hopefear.text.tokenizers.base import Tokenizer, default_tokenizer, make_tokenizer

__all__ = ["Tokenizer", "default_tokenizer", "make_tokenizer"]
