"""The contract of a tokenizer, which splits a line into words and joins words to a line.

    @register("tokenizer", "mine")
    class Mine(Tokenizer):
        def tokenize(self, line): …
        def detokenize(self, tokens): …

tests/contract/test_tokenizers.py checks every tokenizer: the same line gives the same words; words
are not empty and contain no blanks; a line of blanks has no words; and if `idempotent` is set,
tokenising the words joined by blanks gives the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from hopefear.base import registry
from hopefear.text.spacing import Spacing

# Languages written without blanks between words. Chinese has a good segmenter; the others are
# split into characters (with their marks), which needs no dictionary.
_UNSPACED = {"zh": "jieba", "yue": "jieba", "ja": "char", "th": "char", "lo": "char"}
_UNSPACED |= {"km": "char", "my": "char", "bo": "char", "dz": "char"}


class Tokenizer:
    """Base class of tokenizers; `language` is a code such as `fr`, `pt-BR`, `zh`."""

    idempotent: ClassVar[bool] = False

    def __init__(self, language: str) -> None:
        self.language = language

    def tokenize(self, line: str) -> list[str]:
        """Take a line and return its words."""
        raise NotImplementedError

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        """Take words and return running text; `spacing` is that of the training text."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """Return the versions of packages that affect the result."""
        return {}

    def notes(self) -> list[str]:
        """Return remarks for the user about this tokenizer for this language."""
        return []


def default_tokenizer(language: str) -> str:
    """Take a language code and return the name of the tokenizer that `auto` chooses."""
    return _UNSPACED.get(primary(language), "moses")


def make_tokenizer(name: str, language: str) -> Tokenizer:
    """Take a registered name (`auto`: by language) and a language code; return the tokenizer."""
    if name == "auto":
        name = default_tokenizer(language)
    return cast(type[Tokenizer], registry.get("tokenizer", name))(language)


def primary(language: str) -> str:
    """Return the primary part of a language code: `pt` for `pt-BR` and `pt_BR`."""
    return language.replace("_", "-").split("-")[0].lower()
