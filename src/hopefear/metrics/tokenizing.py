"""Lines as metrics are given them: `none`, sacreBLEU's `13a` and `zh`, or `char`.  [post2018]

`13a` and `zh` call sacreBLEU, loaded only then, so that scores equal those of other people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Tokenization = Literal["none", "13a", "zh", "char"]


def tokenizer(name: Tokenization) -> Callable[[str], str]:
    """A function from a line to a line with blanks between tokens."""
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
    """The lines, tokenised."""
    apply = tokenizer(name)
    return [apply(line.rstrip()) for line in lines]
