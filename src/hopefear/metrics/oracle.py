"""Oracle translations: the best hypotheses of k-best lists.

Takes statistics of hypotheses, several per sentence, and returns one row per sentence. Rows are
first chosen by sentence score (BLEU+1), then improved by hill climbing on the corpus score:
sentence by sentence, take the row that gives the best corpus score, until nothing changes. The
result is a lower bound of the true oracle, which is hard to find.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.metric import Metric


class Oracle(NamedTuple):
    """The chosen rows and the corpus gains of the two steps."""

    rows: NDArray[np.int64]  # a row index per sentence, in ascending order of sentence numbers
    greedy: float  # corpus gain of the rows with the best sentence scores
    score: float  # corpus gain after hill climbing
    passes: int  # of hill climbing


def oracle(
    statistics: ArrayLike,
    sentences: ArrayLike,
    *,
    metric: Metric | None = None,
    by_sentence: Metric | None = None,
    max_passes: int = 50,
) -> Oracle:
    """Take rows of statistics with their sentence numbers, in any order; return the oracle.

    `metric` is the metric of hill climbing (default BLEU). `by_sentence` is the metric of the
    first choice (default `metric`, or BLEU+1 for BLEU). Ties go to the first row.
    """
    if metric is None:
        metric = Bleu()
        by_sentence = by_sentence or BleuPlusOne()
    by_sentence = by_sentence or metric
    rows = np.asarray(statistics)
    numbers = np.asarray(sentences)
    order = np.argsort(numbers, kind="stable")
    lists = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []
    by_row = by_sentence.sentence_scores(rows)
    chosen = np.array([nbest[np.argmax(by_row[nbest])] for nbest in lists], dtype=np.int64)
    total = rows[chosen].sum(axis=0, dtype=np.int64)
    greedy = float(metric.score(total))
    passes, changed = 0, True
    while changed and passes < max_passes:
        passes, changed = passes + 1, False
        for i, nbest in enumerate(lists):
            scores = metric.score(total - rows[chosen[i]] + rows[nbest])
            best = nbest[np.argmax(scores)]
            # Only a strict improvement counts: moving between ties might never end.
            if scores.max() > metric.score(total) + 1e-12:
                total = total - rows[chosen[i]] + rows[best]
                chosen[i], changed = best, True
    return Oracle(chosen, greedy, float(metric.score(total)), passes)
