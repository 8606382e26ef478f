"""The scale of initial weights, so that model scores count beside gains.

A decoder depends only on the direction of the weights, but a learner that compares model scores
with gains depends on their length too. If the initial weights are short, the first k-best lists
determine everything, and their candidates are very similar: if all of them are too short, the
learner rewards every feature that grows with length, and may give the language model a negative
weight (`experiments/tune_stretch.py`).

Takes a pool and the initial weights of a run and returns weights of the same direction, at the
length at which model scores vary a given number of times as much as gains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopefear.base.weights import Weights
from hopefear.learn.pool.candidates import Candidates, FloatArray
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric


def stretched(
    pool: Pool, weights: Weights, task: Task, times: float, C: float, scale: float
) -> tuple[Weights, float]:
    """Return the weights with their free part multiplied by a factor, and this factor.

    `times` is the new standard deviation of model scores in units of the gains' deviation. `C` is
    the maximum step size: the new weights are no longer than half a pass of such steps, so that
    learning can leave bad initial weights. `scale` is the factor of the gains of metrics other than
    BLEU. The factor is 1 if fixed weights determine the length, or scores or gains do not vary.
    """
    candidates = pool.candidates
    assert candidates is not None, "the scale is computed on k-best lists"
    vector, fixed = candidates.vector(weights), candidates.fixed(task.fixed)
    scores = candidates.scores(vector)
    held = candidates.scores(np.where(fixed, vector, 0.0))
    spread = candidates.spread(scores)
    target = times * candidates.spread(_gains(pool.metric, candidates, scores, scale))
    if spread == 0 or target == 0 or candidates.spread(held) > 1e-6 * spread:
        return weights, 1.0
    limit = C * _distance(candidates, fixed) * candidates.groups / 2
    factor = min(target / spread, max(1.0, limit / float(np.linalg.norm(vector[~fixed]))))
    longer = weights.copy()
    longer.scale(factor)
    for id in task.fixed:
        if id in weights:
            longer[id] = weights[id]
    return longer, factor


def _distance(candidates: Candidates, fixed: NDArray[np.bool_]) -> float:
    """Return the typical distance of two candidates of a group in the free dense features."""
    table = candidates.features
    free = np.flatnonzero(~fixed[: table.columns])
    spreads = [candidates.spread(table.dense[:, column]) for column in free]
    return float(np.sqrt(2) * np.linalg.norm(spreads))


def _gains(metric: Metric, candidates: Candidates, scores: FloatArray, scale: float) -> FloatArray:
    """Return the gain of each row.

    For BLEU, in the context of the best candidates, times the summed reference length.
    """
    if not isinstance(metric, Bleu):
        return scale * metric.sentence_scores(candidates.statistics)
    rows = candidates.statistics + candidates.total(candidates.best(scores))
    document: FloatArray = metric.parts(rows)[2]
    return metric.score(rows) * document
