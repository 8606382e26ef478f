"""Start weights at the length at which they have a say beside gains.

A decoder sees the direction of weights only, but a learner that compares model scores with gains
sees their length too. Beside short start weights the first k-best lists alone decide, and these are
much alike: where all of their translations are too short, everything that goes with length is
learned for it, a negative weight of the language model too: `experiments/tune_stretch.py` shows it.

Goes in: a pool, the weights a run starts from. Comes out: the same direction, at the length at
which the model scores of a list differ a given number of times as much as the gains.
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
    """The weights with those that may move multiplied by a factor, and this factor.

    `times`: what the deviation of model scores becomes, in deviations of the gain. `C`: of the
    largest step; half a pass of such steps must lead as far as the weights become long, for they
    may be bad. `scale`: of the gains of metrics other than BLEU. The factor is 1 where there is
    nothing to stretch: fixed weights give the length, or scores or gains do not differ.
    """
    candidates = pool.candidates
    assert candidates is not None, "only lists are narrow"
    vector, fixed = candidates.vector(weights), candidates.fixed(task.fixed)
    scores = candidates.scores(vector)
    held = candidates.scores(np.where(fixed, vector, 0.0))
    spread = candidates.spread(scores)
    wanted = times * candidates.spread(_gains(pool.metric, candidates, scores, scale))
    if spread == 0 or wanted == 0 or candidates.spread(held) > 1e-6 * spread:
        return weights, 1.0
    limit = C * _distance(candidates, fixed) * candidates.groups / 2
    factor = min(wanted / spread, max(1.0, limit / float(np.linalg.norm(vector[~fixed]))))
    longer = weights.copy()
    longer.scale(factor)
    for id in task.fixed:
        if id in weights:
            longer[id] = weights[id]
    return longer, factor


def _distance(candidates: Candidates, fixed: NDArray[np.bool_]) -> float:
    """How far apart two candidates of a group are, by the dense features that may move."""
    table = candidates.features
    free = np.flatnonzero(~fixed[: table.columns])
    spreads = [candidates.spread(table.dense[:, column]) for column in free]
    return float(np.sqrt(2) * np.linalg.norm(spreads))


def _gains(metric: Metric, candidates: Candidates, scores: FloatArray, scale: float) -> FloatArray:
    """Of each row; of BLEU beside what the scores choose, times the summed reference length."""
    if not isinstance(metric, Bleu):
        return scale * metric.sentence_scores(candidates.statistics)
    rows = candidates.statistics + candidates.total(candidates.best(scores))
    document: FloatArray = metric.parts(rows)[2]
    return metric.score(rows) * document
