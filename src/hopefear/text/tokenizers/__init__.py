"""Tokenizers: registered classes; `base.py` defines the contract."""

from hopefear.text.tokenizers.base import Tokenizer, default_tokenizer, make_tokenizer

__all__ = ["Tokenizer", "default_tokenizer", "make_tokenizer"]
