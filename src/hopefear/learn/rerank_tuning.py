"""Tuning of a reranker on n-best lists with a batch tuner, with cross-validation.

Takes `Lists` and a batch tuner; returns weights tuned on all lists and, for every list, the
candidate that weights tuned on the other folds choose. The difference between the two is how much
the score on the tuning lists overstates the gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.pool.search_aware import check_search_aware
from hopefear.learn.rerank_lists import Lists
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task, optimized
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.metric import Metric
from hopefear.metrics.mix import Mix
from hopefear.metrics.oracle import oracle

MakeTuner = Callable[[], BatchTuner]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Tuned:
    """Weights of all lists, and the candidates that they and those of the folds choose."""

    optimized: Optimized
    on_all: NDArray[np.int64]  # a row for each list
    held_out: NDArray[np.int64]  # with folds: chosen by weights of the other folds


def check_folds(folds: int | None, lists: int, default: int = 5) -> int:
    """Return the number of folds: as given, or by default 5, fewer for fewer lists."""
    if folds is None:
        return min(default, lists)
    if folds > lists:
        raise OptionError(f"--folds {folds}: there are {lists} lists; give at most as many folds")
    return folds


def tune_reranker(
    metric: Metric,
    candidates: Candidates,
    make_tuner: MakeTuner,
    start: Weights,
    *,
    folds: int = 1,
    seed: int = 1,
    threads: int = 1,
    fixed: frozenset[int] = frozenset(),
    advance: Advance = lambda count: None,
) -> Tuned:
    """Tune on all lists; with folds, also on the lists outside of each fold.

    The tunings run side by side, so that neither their number of threads nor their order changes
    the result.
    """
    check_search_aware(make_tuner(), None, metric)  # lists have no bins
    parts = list(split(candidates, folds, seed)) if folds > 1 else []
    jobs: list[NDArray[np.int64] | None] = [None, *(learned for learned, _ in parts)]
    side_by_side = max(1, min(threads, len(jobs)))

    def tuned_on(job: tuple[int, NDArray[np.int64] | None]) -> Optimized:
        number, groups = job
        task = Task(
            random=np.random.default_rng([seed, number]),
            threads=max(1, threads // side_by_side),
            fixed=fixed,
        )
        # Copied here, so that only those in work take memory.
        part = candidates if groups is None else candidates.part(groups)
        pool = Pool(metric=metric, candidates=part)
        return optimized(make_tuner(), pool, start, task)

    results = []
    pool = ThreadPoolExecutor(side_by_side)
    try:
        for result in pool.map(tuned_on, enumerate(jobs)):
            results.append(result)
            advance(1)
    finally:  # after an interrupt the jobs that have not begun are cancelled
        pool.shutdown(wait=True, cancel_futures=True)
    chosen = best_rows(candidates, results[0].weights)
    held_out = chosen.copy()
    for (_, tested), result in zip(parts, results[1:], strict=True):
        held_out[tested] = best_rows(candidates, result.weights, tested)
    return Tuned(results[0], chosen, held_out)


def best_rows(
    candidates: Candidates, weights: Weights, groups: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the row that weights choose in each of the groups (default: all)."""
    if groups is None:
        return candidates.best(candidates.scores(candidates.vector(weights)))
    part = candidates.part(groups)
    rows = part.best(part.scores(part.vector(weights)))
    return np.asarray(rows - part.begin[:-1] + candidates.begin[:-1][groups], np.int64)


def split(
    candidates: Candidates, folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and test groups of each fold; a sentence's groups stay together."""
    sentences = np.unique(candidates.sentences)
    order = np.random.default_rng([seed, folds]).permutation(sentences)
    for part in np.array_split(order, folds):
        tested = np.isin(candidates.sentences, part)
        yield np.flatnonzero(~tested), np.flatnonzero(tested)


def oracle_of(metric: Metric, candidates: Candidates) -> float:
    """Return the displayed score of the best candidates."""
    groups = np.repeat(np.arange(candidates.groups), np.diff(candidates.begin))
    best = oracle(
        candidates.statistics, groups, metric=metric, by_sentence=_sentence_metric(metric)
    )
    return float(metric.shown(candidates.total(best.rows)))


def _sentence_metric(metric: Metric) -> Metric | None:
    """Return the metric of the first choice: BLEU of single sentences is 0 too often."""
    if type(metric) is Bleu:
        return BleuPlusOne(order=metric.order, reference_length=metric.reference_length)
    if isinstance(metric, Mix):
        parts = [_sentence_metric(part) or part for part in metric.parts]
        return Mix(names=metric.names, weights=metric.weights, parts=parts)
    return None


def ablations(
    lists: Lists,
    features: Sequence[int],
    make_tuner: MakeTuner,
    start: Weights,
    *,
    folds: int,
    seed: int,
    threads: int,
    fixed: frozenset[int],
    advance: Advance,
) -> list[NDArray[np.int64]]:
    """Return what is chosen without each of the features: its weight is 0, the others are tuned."""
    chosen = []
    for id in features:
        without = start.copy()
        without[id] = 0.0
        tuned = tune_reranker(
            lists.metric,
            lists.candidates,
            make_tuner,
            without,
            folds=folds,
            seed=seed,
            threads=threads,
            fixed=fixed | {id},
            advance=advance,
        )
        chosen.append(tuned.held_out)
    return chosen
