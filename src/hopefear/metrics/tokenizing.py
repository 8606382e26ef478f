"""Tokenization of lines for metrics: `none`, sacreBLEU's `13a` and `zh`, or `char`.  [post2018]

`13a` and `zh` use sacreBLEU (loaded only then), so that scores are comparable with other work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Tokenization = Literal["none", "13a", "zh", "char"]


def tokenizer(name: Tokenization) -> Callable[[str], str]:
    """Return the function that turns a line into tokens separated by blanks."""
    if name == "13a":
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        thirteen: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call, unused-ignore]
        return thirteen
    if name == "zh":
        from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

        chinese: Callable[[str], str] = TokenizerZh()  # type: ignore[no-untyped-call, unused-ignore]
        return chinese
    return " ".join if name == "char" else str


def tokenized(lines: Sequence[str], name: Tokenization) -> list[str]:
    """Take lines and return them tokenised."""
    apply = tokenizer(name)
    return [apply(line.rstrip()) for line in lines]
