"""References in the engine, ready for counting: what `Metric.prepare` returns for our own metrics.

Goes in: a `ReferenceSet` of the engine. Comes out: rows of statistics of hypotheses given as lines,
as tokens, or as word numbers (derivations of a forest).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hopefear._engine import ReferenceSet
from hopefear.base.errors import InputError
from hopefear.metrics.metric import FloatArray, IntArray, Prepared, References, Tokens


class PreparedReferences(Prepared):
    """Counts in the engine, without the GIL, on any number of threads with the same result."""

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
        """Rows of words[offsets[i]:offsets[i + 1]], numbered by `references.word_ids`."""
        return self.references.word_statistics(
            np.ascontiguousarray(words, dtype=np.uint32),
            np.ascontiguousarray(offsets, dtype=np.int64),
            np.ascontiguousarray(sentences, dtype=np.int32),
            threads,
        )

    def mean_reference_lengths(self) -> FloatArray:
        """Per sentence the mean length of its references."""
        return np.array([np.mean(self.references.lengths(i)) for i in range(len(self))])


def sentence_numbers(count: int, sentences: ArrayLike | None, hypotheses: int) -> IntArray:
    """The sentence of every hypothesis; checks that without numbers there is one for each."""
    if sentences is not None:
        return np.ascontiguousarray(sentences, dtype=np.int32)
    if hypotheses != count:
        raise InputError(
            f"{hypotheses} hypotheses, but references for {count} sentences; "
            "give one hypothesis for each, or the number of each one's sentence"
        )
    return np.arange(count, dtype=np.int32)


def lowercased(text: Tokens) -> Tokens:
    """Lower case, of a line or of tokens."""
    return text.lower() if isinstance(text, str) else [token.lower() for token in text]


def lowercased_references(references: References, lowercase: bool) -> References:
    """The references, in lower case if asked for."""
    if not lowercase:
        return references
    return [[lowercased(text) for text in texts] for texts in references]
