"""The contract of a tokenizer: a line into words, and words into a line again.

    @register("tokenizer", "mine")
    class Mine(Tokenizer):
        def tokenize(self, line): …
        def detokenize(self, tokens): …

Promises that tests/contract/test_tokenizers.py holds every one to: the same line gives the same
words; no word is empty or holds a blank; a line of blanks has no words; and where `idempotent` is
set, tokenising the words joined by blanks gives these words again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from hopefear.base import registry
from hopefear.text.spacing import Spacing

# Languages that write no blanks between words. Chinese has a good segmenter; for the others
# characters (with their marks) are what needs no dictionary.
_UNSPACED = {"zh": "jieba", "yue": "jieba", "ja": "char", "th": "char", "lo": "char"}
_UNSPACED |= {"km": "char", "my": "char", "bo": "char", "dz": "char"}


class Tokenizer:
    """Base of all tokenizers. `language` is a code such as `fr`, `pt-BR`, `zh`."""

    idempotent: ClassVar[bool] = False

    def __init__(self, language: str) -> None:
        self.language = language

    def tokenize(self, line: str) -> list[str]:
        """The words of a line."""
        raise NotImplementedError

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        """Running text; `spacing` is where the training text had blanks beside punctuation."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """The packages whose version may change the result."""
        return {}

    def notes(self) -> list[str]:
        """What a person should know about this tokenizer for this language."""
        return []


def default_tokenizer(language: str) -> str:
    """The name that `auto` stands for."""
    return _UNSPACED.get(primary(language), "moses")


def make_tokenizer(name: str, language: str) -> Tokenizer:
    """The tokenizer of that name (`auto`: by language), ready to use."""
    if name == "auto":
        name = default_tokenizer(language)
    return cast(type[Tokenizer], registry.get("tokenizer", name))(language)


def primary(language: str) -> str:
    """`pt` of `pt-BR` and of `pt_BR`."""
    return language.replace("_", "-").split("-")[0].lower()
