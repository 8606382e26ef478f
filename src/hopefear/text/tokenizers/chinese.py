"""Chinese word segmentation with jieba (the extra `hopefear[zh]`).

Uses jieba's default mode: its dictionary and its model for unknown words. The joined words equal
the text, apart from blanks between two Chinese characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear.base.registry import register
from hopefear.text.jieba_package import jieba_version, load_jieba
from hopefear.text.scripts import join_unspaced
from hopefear.text.spacing import Spacing
from hopefear.text.tokenizers.base import Tokenizer


@register("tokenizer", "jieba")
class Jieba(Tokenizer):
    """Chinese word segmentation with jieba."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        alternative = ", or choose tokenizer 'char' (every character a word)"
        self._cutter = load_jieba("jieba", "tokenizer", alternative).Tokenizer()

    def tokenize(self, line: str) -> list[str]:
        words: list[str] = []
        for word in self._cutter.lcut(line):
            words += word.split()
        return words

    def detokenize(self, tokens: Sequence[str], spacing: Spacing | None = None) -> str:
        return join_unspaced(tokens)

    def versions(self) -> dict[str, str]:
        return jieba_version()
