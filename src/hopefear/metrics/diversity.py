"""Diversity of a k-best list: the mean distance d' of its pairs.  [liu2014, gimpel2013]

d'(y, y') = 1 - 2 m(y, y') / (m(y, y) + m(y', y')), where m counts the pairs of equal n-grams of the
two strings. It is 0 for strings with the same n-grams and 1 for strings without a common n-gram;
repeated n-grams do not increase it. The paper does not specify n; the default here is 2.
Differs: errata Liu & Huang 2014: where neither string has n words (0/0) the distance is 0 if they
are equal and 1 if not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopefear.metrics.metric import FloatArray, Tokens


def distances(texts: Sequence[Tokens], n: int = 2) -> FloatArray:
    """Take the texts of a list and return d' of all pairs as a symmetric matrix.

    Memory grows with the number of texts times that of distinct n-grams.
    """
    words = [tuple(text.split()) if isinstance(text, str) else tuple(text) for text in texts]
    numbers: dict[tuple[str, ...], int] = {}
    grams = [
        [numbers.setdefault(text[i : i + n], len(numbers)) for i in range(len(text) - n + 1)]
        for text in words
    ]
    counts = np.zeros((len(words), max(len(numbers), 1)))
    for row, indices in zip(counts, grams, strict=True):
        np.add.at(row, indices, 1.0)
    matches = counts @ counts.T
    own = np.diag(matches)
    both = own[:, None] + own[None, :]
    equal = np.array([[float(a == b) for b in words] for a in words]).reshape(matches.shape)
    return np.where(both > 0, 1.0 - 2.0 * matches / np.where(both > 0, both, 1.0), 1.0 - equal)


def diversity(texts: Sequence[Tokens], n: int = 2) -> float:
    """Return the mean of d' over all pairs of a list; 0 for fewer than two texts."""
    if len(texts) < 2:
        return 0.0
    table = distances(texts, n)
    return float(table[np.triu_indices(len(texts), 1)].mean())


def mean_diversity(lists: Sequence[Sequence[Tokens]], n: int = 2) -> float:
    """Return the mean diversity of the k-best lists of a test set."""
    return float(np.mean([diversity(texts, n) for texts in lists])) if lists else 0.0
