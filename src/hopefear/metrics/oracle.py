"""The best that a k-best list holds: oracle translations.

Goes in: statistics of hypotheses, several for each sentence. Comes out: one row per sentence,
chosen first by sentence score (BLEU+1), then, since BLEU is a score of the whole, by hill climbing:
sentence after sentence the row that makes the corpus score best, until nothing changes. It is a
lower bound of the true oracle, which is hard to find.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.metric import Metric


class Oracle(NamedTuple):
    """Chosen rows and the corpus gains of the two steps."""

    rows: NDArray[np.int64]  # one per sentence, in ascending order of sentence numbers
    greedy: float  # chosen by sentence score
    score: float  # after hill climbing
    passes: int


def oracle(
    statistics: ArrayLike,
    sentences: ArrayLike,
    *,
    metric: Metric | None = None,
    by_sentence: Metric | None = None,
    max_passes: int = 50,
) -> Oracle:
    """The oracle of k-best lists; rows of a sentence need not be neighbours.

    `metric` is what is climbed (BLEU), `by_sentence` what the start is chosen by (BLEU+1; another
    metric's own sentence score). The first of equals wins.
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
    chosen = np.array([each[np.argmax(by_row[each])] for each in lists], dtype=np.int64)
    total = rows[chosen].sum(axis=0, dtype=np.int64)
    greedy = float(metric.score(total))
    passes, changed = 0, True
    while changed and passes < max_passes:
        passes, changed = passes + 1, False
        for i, each in enumerate(lists):
            scores = metric.score(total - rows[chosen[i]] + rows[each])
            best = each[np.argmax(scores)]
            # Only what gains counts: among equals there is no reason to move, and no end to it.
            if scores.max() > metric.score(total) + 1e-12:
                total = total - rows[chosen[i]] + rows[best]
                chosen[i], changed = best, True
    return Oracle(chosen, greedy, float(metric.score(total)), passes)
