"""Chinese words by jieba, the extra `hopefear[zh]`.

jieba's own default: its dictionary and the model for unknown words. Its words are the text cut into
pieces: joined again they are the text, apart from blanks between two Chinese characters.
"""

from __future__ import annotations

import importlib.metadata
import logging
import warnings
from collections.abc import Sequence
from typing import Any

from hopefear.errors import OptionError
from hopefear.registry import register
from hopefear.text.scripts import join_unspaced
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer


@register("tokenizer", "jieba")
class Jieba(Tokenizer):
    """Chinese words by jieba."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._cutter = _load()

    def tokenize(self, line: str) -> list[str]:
        words: list[str] = []
        for word in self._cutter.lcut(line):
            words += word.split()
        return words

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return join_unspaced(tokens)

    def versions(self) -> dict[str, str]:
        return {"jieba": importlib.metadata.version("jieba")}


def _load() -> Any:
    try:
        with warnings.catch_warnings():  # its age shows: invalid escapes, pkg_resources
            warnings.simplefilter("ignore")
            import jieba
    except ImportError:
        raise OptionError(
            "tokenizer 'jieba' needs the package jieba; pip install 'hopefear[zh]', "
            "or choose tokenizer 'char' (every character a word)"
        ) from None
    jieba.setLogLevel(logging.WARNING)  # it announces its dictionary on stderr
    return jieba.Tokenizer()
