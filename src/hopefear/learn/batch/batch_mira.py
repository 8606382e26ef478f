"""Batch MIRA: hope and fear of k-best lists, a passive-aggressive step.  [cherry2012]

Takes a pool and the last weights and returns new weights. In each of many passes over the
candidates the groups are visited in random order, and for each group

    hope = argmax w.f + B        fear = argmax w.f - B
    loss = B(hope) - B(fear) - w.(f(hope) - f(fear))
    w   += min(C, loss / |f(hope) - f(fear)|^2) (f(hope) - f(fear))        if loss > 0

where B is BLEU in the context of a decaying background, the summed statistics of earlier hopes
(whole translations only), times the summed reference length. After each pass the average of the
weights over all steps so far is scored on the candidates; the result is the average of the best
pass. Dense and sparse features are treated alike.

For metrics other than BLEU, B is the sentence score times `scale`.

Differs: the initial weights of a run are lengthened before the first step (`initial_scale.py`).
K-best MIRA in Moses takes most rows of a list for duplicates and trains on the rest; here all rows
count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.forest import Search
from hopefear.learn.batch.forest_mira import ForestMira
from hopefear.learn.batch.initial_scale import stretched
from hopefear.learn.pool.candidates import Candidates, FloatArray
from hopefear.learn.pool.search_aware import SearchAware
from hopefear.learn.tuner import (
    BatchTuner,
    Optimized,
    Pool,
    Space,
    Task,
    bleu_in_forests,
    check_space,
)
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import Metric


@register("tuner", "batch-mira")
@dataclass(kw_only=True)
class BatchMira(SearchAware, BatchTuner):
    """Batch MIRA on k-best lists, for dense and sparse features."""

    name: ClassVar[str] = "batch-mira"
    spaces: ClassVar[tuple[Space, ...]] = ("kbest", "forest")

    space: Space = option("kbest", help="take hope and fear from k-best lists, or whole forests")
    forest_passes: int = option(10, min=1, help="passes over the sentences on forests")
    forest_beam: int = option(
        20, min=0, help="derivations considered per node in the search for hope and fear on forests"
    )
    C: float = option(0.01, min=0, help="maximum step size")
    passes: int = option(60, min=1, help="passes over the candidates on k-best lists")
    decay: float = option(
        0.999, min=0, max=1, help="factor that the background is multiplied by at each sentence"
    )
    background: Literal["hope", "model"] = option(
        "hope", help="translation that is added to the background: the hope or the model's best"
    )
    safe_hope: bool = option(
        False, help="limit the model's influence on the choice of the hope to 5 times that of B"
    )
    stretch: float = option(
        4.0,
        min=0,
        help="rescale the initial weights of a run so that the model scores of a list vary this "
        "many times as much as B (0: do not rescale)",
    )
    scale: float = option(
        10.0, min=0, help="factor of the sentence scores of metrics other than BLEU"
    )

    def __post_init__(self) -> None:
        check_space(
            self,
            forest=("forest_passes", "forest_beam"),
            kbest=("passes", "safe_hope", "stretch", "scale"),
        )

    def check(self, metric: Metric) -> None:
        if self.space == "forest":
            bleu_in_forests(metric)

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if self.space == "forest":  # forests are diverse: initial weights need no rescaling
            return self._learn_forests(pool, weights, task)
        if task.searching and task.iteration == 0 and self.stretch > 0:
            longer, factor = stretched(pool, weights, task, self.stretch, self.C, self.scale)
            if factor != 1:
                optimized = self._learn_lists(pool, longer, task)
                if optimized.objective > optimized.notes["before"]:
                    return replace(optimized, notes={**optimized.notes, "stretched": factor})
                # Under bad weights of this length hope and fear may always be the same.
        return self._learn_lists(pool, weights, task)

    def _learn_lists(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        candidates = pool.candidates
        assert candidates is not None, "batch-mira works on k-best lists"
        start = candidates.vector(weights)
        mira = self._engine(pool.metric, candidates, start, candidates.fixed(task.fixed))
        best, best_pass, steps = start, 0, 0
        before, reached, loss = candidates.corpus_score(pool.metric, start), -np.inf, 0.0
        for number in range(1, self.passes + 1):
            order = task.random.permutation(candidates.groups).astype(np.int32)
            taken, loss = mira.run(order)
            steps += taken
            # Weights are stored in single precision, so the rounded vector is scored.
            average = mira.average.astype(np.float32).astype(np.float64)
            score = candidates.corpus_score(pool.metric, average, task.threads)
            if score > reached:
                best, reached, best_pass = average, score, number
            if task.progress is not None:
                task.progress(number)
        notes = {"before": before, "best_pass": best_pass, "steps": steps, "last_loss": loss}
        return Optimized(candidates.weights(best, weights), reached, notes)

    def _learn_forests(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        if pool.forests is None:
            raise ValueError("space=forest learns from forests, but the pool has none")
        mira = ForestMira(
            pool.metric, pool.forests, pool.references, weights.copy(), self.C, self.decay,
            Search(beam=self.forest_beam), task.fixed, self.background,
        )  # fmt: skip
        before = mira.corpus_score(weights, task.threads)
        best, reached, best_pass, loss = weights, -np.inf, 0, 0.0
        for number in range(1, self.forest_passes + 1):
            loss = mira.run(task.random.permutation(len(pool.forests)).tolist())
            average = mira.average()
            score = mira.corpus_score(average, task.threads)
            if score > reached:
                best, reached, best_pass = average, score, number
            if task.progress is not None:
                task.progress(number)
        notes = {"before": before, "best_pass": best_pass, "steps": mira.steps, "last_loss": loss}
        return Optimized(best, reached, notes)

    def _engine(
        self, metric: Metric, candidates: Candidates, start: FloatArray, fixed: NDArray[np.bool_]
    ) -> _engine.BatchMira:
        statistics = np.zeros((0, 1), np.int32)
        gains = np.zeros(0)
        order, unit = 0, 1.0
        if isinstance(metric, Bleu):
            statistics = np.ascontiguousarray(candidates.statistics, dtype=np.int32)
            order, unit = metric.order, float(metric.length_unit)
        else:
            gains = self.scale * metric.sentence_scores(candidates.statistics)
        return _engine.BatchMira(
            *candidates.features.arrays(),
            candidates.begin,
            statistics,
            np.ascontiguousarray(gains, dtype=np.float64),
            start,
            np.ascontiguousarray(~fixed, dtype=np.uint8),
            np.ascontiguousarray(candidates.complete, dtype=np.uint8),
            self.C,
            self.decay,
            self.safe_hope,
            self.background == "model",
            order,
            unit,
        )
