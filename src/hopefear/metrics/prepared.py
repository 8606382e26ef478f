"""Prepared references in the engine: what `Metric.prepare` returns for the built-in metrics.

Takes a `ReferenceSet` of the engine; returns rows of statistics of hypotheses given as lines, as
tokens, or as word numbers (derivations of a forest).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import ReferenceSet
from hopefear.base.errors import InputError
from hopefear.metrics.metric import FloatArray, IntArray, Prepared, References, Tokens


class PreparedReferences(Prepared):
    """References that the engine counts against, without the GIL.

    The number of threads does not change the result.
    """

    def __init__(self, references: ReferenceSet, *, lowercase: bool = False) -> None:
        self.references, self.lowercase = references, lowercase

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.references)

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        numbers = sentence_numbers(len(self), sentences, len(hypotheses))
        if self.lowercase:
            hypotheses = [lowercased(text) for text in hypotheses]
        return self.references.statistics(hypotheses, numbers, threads)

    def word_statistics(
        self, words: ArrayLike, offsets: ArrayLike, sentences: ArrayLike, threads: int = 1
    ) -> IntArray:
        """Take hypotheses as word numbers; return a row per hypothesis.

        Hypothesis i is words[offsets[i]:offsets[i + 1]], numbered by `references.word_ids`.
        """
        return self.references.word_statistics(
            np.ascontiguousarray(words, dtype=np.uint32),
            np.ascontiguousarray(offsets, dtype=np.int64),
            np.ascontiguousarray(sentences, dtype=np.int32),
            threads,
        )

    def mean_reference_lengths(self) -> FloatArray:
        """Return, per sentence, the mean length of its references."""
        return np.array([np.mean(self.references.lengths(i)) for i in range(len(self))])


def sentence_numbers(count: int, sentences: ArrayLike | None, hypotheses: int) -> IntArray:
    """Return the sentence number of each hypothesis: `sentences`, or by default 0, 1, …"""
    if sentences is not None:
        return np.ascontiguousarray(sentences, dtype=np.int32)
    if hypotheses != count:
        raise InputError(
            f"{hypotheses} hypotheses, but references for {count} sentences; "
            "give one hypothesis per sentence, or a sentence number per hypothesis"
        )
    return np.arange(count, dtype=np.int32)


def lowercased(text: Tokens) -> Tokens:
    """Take a line or tokens and return them in lower case."""
    return text.lower() if isinstance(text, str) else [token.lower() for token in text]


def lowercased_references(references: References, lowercase: bool) -> References:
    """Return the references, in lower case if `lowercase` is set."""
    if not lowercase:
        return references
    return [[lowercased(text) for text in texts] for texts in references]
