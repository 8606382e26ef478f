"""Sanity checks of weights and features.

Takes new weights and the pool they were learned from, and returns warnings. NaN is an error, and
weights that are all (nearly) 0 end a run. A feature that never fires, or has the same value in all
translations of each sentence, cannot be learned, and its weight has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest
from hopefear.base.errors import InputError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import sample, viterbi
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.tuner import Pool

#: Weights that are all smaller than this have no effect in single precision.
NEARLY_ZERO = 1e-9


def check_finite(weights: Weights, objective: float, what: str) -> None:
    """Raise an error if weights or objective are NaN or infinite; `what` computed them."""
    vector = weights.vector()
    bad = np.flatnonzero(~np.isfinite(vector.values))
    if len(bad):
        name, value = weights.name(int(vector.ids[bad[0]])), vector.values[bad[0]]
        raise InputError(
            f"{what} gave {len(bad):,} weights that are not finite ({name} = {value}); earlier "
            "iterations are kept; start from other weights or use smaller steps"
        )
    if math.isnan(objective):
        raise InputError(
            f"{what} reached an objective that is not a number; earlier iterations are kept; "
            "start from other weights or use smaller steps"
        )


def nearly_zero(weights: Weights) -> bool:
    """Whether all weights are 0 or too small to have an effect."""
    top = weights.top(1)
    return not top or abs(top[0][1]) < NEARLY_ZERO


def useless_features(
    pool: Pool, dense: Sequence[str], skip: Iterable[int] = ()
) -> dict[str, list[str]]:
    """Return the dense features that never fire, and those constant within every sentence.

    `skip` are ids of features to leave out (fixed ones).
    """
    ids = {name: FeatureNames().intern(name) for name in dense}
    skipped = set(skip)
    checked = {name: id for name, id in ids.items() if id not in skipped}
    fired: set[int] = set()
    varying: set[int] = set()
    if pool.candidates is not None:
        fired, varying = _in_candidates(pool.candidates, set(checked.values()))
    elif pool.forests is not None:
        forests = (forest for group in pool.forests for forest in group)
        fired, varying = _in_forests(forests, set(checked.values()))
    return {
        "never_fired": [name for name, id in checked.items() if id not in fired],
        "constant": [name for name, id in checked.items() if id in fired and id not in varying],
    }


def describe(useless: dict[str, list[str]]) -> Iterator[str]:
    """Take the result of `useless_features` and yield warnings."""
    if useless["never_fired"]:
        names = ", ".join(useless["never_fired"])
        yield f"never fired in any candidate, so nothing was learned about them: {names}"
    if useless["constant"]:
        names = ", ".join(useless["constant"])
        yield f"constant within every sentence, so their weights have no effect: {names}"


def _in_candidates(candidates: Candidates, checked: set[int]) -> tuple[set[int], set[int]]:
    """Return the checked features that are not always 0, and those that vary in a group."""
    fired: set[int] = set()
    varying: set[int] = set()
    filled = np.flatnonzero(np.diff(candidates.begin) > 0)
    starts = candidates.begin[:-1][filled]
    table = candidates.features
    width = table.dense.shape[1]
    for number, id in enumerate(table.ids.tolist()):
        if id not in checked or len(starts) == 0:
            continue
        if number < width:
            column = table.dense[:, number]
        else:
            column = table.sparse[:, [number - width]].toarray()[:, 0]
        low = np.minimum.reduceat(column, starts)
        high = np.maximum.reduceat(column, starts)
        if (low != 0).any() or (high != 0).any():
            fired.add(id)
        if _differ(low, high).any():
            varying.add(id)
    return fired, varying


def _differ(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether values differ by more than the rounding error of sums in another order."""
    return high - low > 1e-5 * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1)


def _in_forests(forests: Iterable[Forest], checked: set[int]) -> tuple[set[int], set[int]]:
    """Return the same for forests; a feature varies if its largest and smallest value differ.

    Most features vary in a few random derivations; for the others both extremes are searched.
    """
    fired: set[int] = set()
    varying: set[int] = set()
    flat = Weights()
    for forest in forests:
        samples = [d.features for d in sample(forest, flat, 4, seed=1)]
        if not samples:
            continue
        for id in checked - varying:
            values = {vector.get(id) for vector in samples}
            if len(values) == 1 and id in forest.feature_ids:
                values |= {_extreme(forest, id, sign) for sign in (1.0, -1.0)}
            low, high = np.float32(min(values)), np.float32(max(values))
            if low or high:
                fired.add(id)
            if _differ(np.array([low]), np.array([high])).any():
                varying.add(id)
    return fired, varying


def _extreme(forest: Forest, id: int, sign: float) -> float:
    weights = Weights()
    weights[id] = sign
    best = viterbi(forest, weights)
    return 0.0 if best is None else float(best.features.get(id))
