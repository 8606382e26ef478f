"""Significance tests: paired bootstrap and stratified approximate randomisation.

Takes the runs of each system (tuned with different seeds), each a matrix of statistics with a row
per sentence; returns p-values, and standard deviations over runs and over resampled test sets.
[koehn2004, clark2011, riezler2005]

Differences are those of `Metric.shown`, first minus second. Definitions: docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear.base.errors import InputError
from hopefear.metrics.metric import FloatArray, Metric

BootstrapForm = Literal["two-sided", "one-sided", "sacrebleu"]
Coin = Literal["sentence", "run"]
Runs = Sequence[ArrayLike]  # of one system: a matrix (sentences, columns) per run

SEED = 12345  # as in sacreBLEU
_TIE = 1e-12  # tolerance for rounding


class Outcome(NamedTuple):
    """Outcome of a paired test."""

    difference: float  # of the mean scores, as shown; first minus second
    p_value: float
    signature: str


class Summary(NamedTuple):
    """A system's score as in MultEval's tables, in the form shown to users."""

    mean: float  # over runs
    run_deviation: float | None  # standard deviation over runs; None for a single run
    resampling_deviation: float  # standard deviation over resampled test sets, mean over runs
    low: float  # bounds of the 95 % interval of the resampled means
    high: float


def paired_bootstrap(
    metric: Metric,
    first: Runs,
    second: Runs,
    *,
    samples: int = 1000,
    seed: int = SEED,
    form: BootstrapForm = "two-sided",
) -> Outcome:
    """Compare two systems by resampling sentences, the same for both systems and all runs.

    d is the observed difference, d* that of a sample. The p-value is the share of samples with
    |d* - mean d*| >= |d| (`two-sided`), with d* on the other side of 0 (`one-sided`), or with
    |d*| - mean |d*| > |d| (`sacrebleu`, as in that program); 1 is added to both counts.
    """
    difference = _difference(metric, *_check(first, second))
    drawn = bootstrap_differences(metric, first, second, samples=samples, seed=seed)
    if form == "two-sided":
        count = np.sum(np.abs(drawn - drawn.mean()) >= abs(difference) - _TIE)
    elif form == "one-sided":
        count = np.sum(np.sign(difference) * drawn <= _TIE)
    else:
        sizes = np.abs(drawn)
        count = np.sum(sizes - sizes.mean() > abs(difference))
    p_value = (1 + int(count)) / (1 + samples)
    return Outcome(difference, p_value, f"bootstrap|form:{form}|samples:{samples}|seed:{seed}")


def bootstrap_differences(
    metric: Metric, first: Runs, second: Runs, *, samples: int = 1000, seed: int = SEED
) -> FloatArray:
    """Return the differences d* of two systems on resampled sentences: (samples,)."""
    systems = _check(first, second)
    return np.concatenate(
        [
            _mean_shown(metric, systems[0], weights) - _mean_shown(metric, systems[1], weights)
            for weights in _resamples(systems[0].shape[1], samples, seed)
        ]
    )


def paired_interval(
    metric: Metric, first: Runs, second: Runs, *, samples: int = 1000, seed: int = SEED
) -> tuple[float, float]:
    """Return the bounds of the 95 % bootstrap interval of the difference of two systems."""
    drawn = bootstrap_differences(metric, first, second, samples=samples, seed=seed)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def approximate_randomization(
    metric: Metric,
    first: Runs,
    second: Runs,
    *,
    trials: int = 10_000,
    seed: int = SEED,
    coin: Coin = "sentence",
) -> Outcome:
    """Compare two systems by randomly swapping their outputs of a sentence, within pairs of runs.

    p = (1 + number of |d*| >= |d|) / (1 + trials), two-sided, with differences of statistics summed
    over runs. `coin="sentence"` decides once for all runs of a sentence; the test keeps its level.
    `coin="run"` decides for every sentence of every run, as MultEval does. It treats the outputs of
    a sentence in several runs as independent evidence, so its p-values are too small.
    """
    systems = _check(first, second)
    left, right = (runs.astype(np.float64) for runs in systems)
    if coin == "sentence":
        left, right = left.sum(axis=0), right.sum(axis=0)
    else:
        left, right = (runs.reshape(-1, runs.shape[-1]) for runs in (left, right))
    both = left.sum(axis=0) + right.sum(axis=0)
    observed = abs(float(metric.shown(left.sum(axis=0)) - metric.shown(right.sum(axis=0))))
    count = 0
    for tosses in _tosses(len(left), trials, seed):
        swapped = tosses @ (left - right) + right.sum(axis=0)
        drawn = np.abs(metric.shown(swapped) - metric.shown(both - swapped))
        count += int(np.sum(drawn >= observed - _TIE))
    p_value = (1 + count) / (1 + trials)
    signature = f"randomization|coin:{coin}|runs:{len(first)}|trials:{trials}|seed:{seed}"
    return Outcome(_difference(metric, *systems), p_value, signature)


def summarize(metric: Metric, runs: Runs, *, samples: int = 1000, seed: int = SEED) -> Summary:
    """Return the mean and the deviations over runs and over resampled test sets of a system."""
    table = _stack(runs)
    scores = metric.shown(table.sum(axis=1))
    drawn = np.concatenate(
        [_shown(metric, table, weights) for weights in _resamples(table.shape[1], samples, seed)],
        axis=1,
    )
    low, high = np.quantile(drawn.mean(axis=0), [0.025, 0.975])
    return Summary(
        mean=float(scores.mean()),
        run_deviation=float(scores.std(ddof=1)) if len(scores) > 1 else None,
        resampling_deviation=float(drawn.std(axis=1).mean()),
        low=float(low),
        high=float(high),
    )


def _stack(runs: Runs) -> NDArray[np.int64]:
    tables = [np.asarray(rows, dtype=np.int64) for rows in runs]
    if not tables or not len(tables[0]) or any(t.shape != tables[0].shape for t in tables):
        raise InputError(
            "a system needs at least one run, and all runs the same sentences; found "
            + (", ".join(str(len(t)) for t in tables) or "none")
        )
    return np.stack(tables)


def _check(first: Runs, second: Runs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    systems = _stack(first), _stack(second)
    if systems[0].shape != systems[1].shape:
        (runs_1, lines_1, _), (runs_2, lines_2, _) = systems[0].shape, systems[1].shape
        raise InputError(
            f"{runs_1} runs of {lines_1} sentences against {runs_2} of {lines_2}; "
            "a paired test needs the same numbers for both systems"
        )
    return systems


def _difference(metric: Metric, first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    return float(metric.shown(first.sum(axis=1)).mean() - metric.shown(second.sum(axis=1)).mean())


def _shown(metric: Metric, runs: NDArray[np.int64], weights: FloatArray) -> FloatArray:
    """Return the scores of the runs under each row of sentence weights: (runs, samples)."""
    return metric.shown(weights @ runs.astype(np.float64))


def _mean_shown(metric: Metric, runs: NDArray[np.int64], weights: FloatArray) -> FloatArray:
    mean: FloatArray = _shown(metric, runs, weights).mean(axis=0)
    return mean


_BLOCK = 2_000_000  # numbers drawn at once: limits memory, does not change the result


def _resamples(sentences: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """Yield, in blocks of samples, how often each sentence is drawn: (samples, sentences)."""
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // sentences)
    for begin in range(0, samples, block):
        size = min(block, samples - begin)
        drawn = random.choice(sentences, size=(size, sentences), replace=True)
        flat = drawn + np.arange(size)[:, None] * sentences
        counts = np.bincount(flat.ravel(), minlength=size * sentences)
        yield counts.reshape(size, sentences).astype(np.float64)


def _tosses(coins: int, trials: int, seed: int) -> Iterator[FloatArray]:
    """Yield, in blocks of trials, 0 or 1 for each coin: (trials, coins)."""
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // coins)
    for begin in range(0, trials, block):
        size = min(block, trials - begin)
        yield random.integers(2, size=(size, coins), dtype=np.uint8).astype(np.float64)
