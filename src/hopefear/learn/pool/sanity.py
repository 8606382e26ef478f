"""What is wrong with weights or with features, said before anybody believes in them.

Goes in: new weights, the pool they were learned from. Comes out: sentences. NaN is an error;
weights that are all (nearly) 0 end a run; a feature that never fired, or that has one value in all
translations of each sentence, cannot be learned, and its weight means nothing.
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

#: Weights whose largest is smaller than this decide nothing in single precision.
NEARLY_ZERO = 1e-9


def check_finite(weights: Weights, objective: float, what: str) -> None:
    """NaN and infinite weights are an error that names one."""
    vector = weights.vector()
    bad = np.flatnonzero(~np.isfinite(vector.values))
    if len(bad):
        name, value = weights.name(int(vector.ids[bad[0]])), vector.values[bad[0]]
        raise InputError(
            f"{what} gave {len(bad):,} weights that are no numbers ({name} = {value}); the "
            "iterations before are kept; start from other weights or take smaller steps"
        )
    if math.isnan(objective):
        raise InputError(
            f"{what} reached an objective that is no number; the iterations before are kept; "
            "start from other weights or take smaller steps"
        )


def nearly_zero(weights: Weights) -> bool:
    """Whether no weight is large enough to decide anything."""
    top = weights.top(1)
    return not top or abs(top[0][1]) < NEARLY_ZERO


def useless_features(
    pool: Pool, dense: Sequence[str], skip: Iterable[int] = ()
) -> dict[str, list[str]]:
    """The dense features that never fired, and those that are constant within every sentence.

    `skip` are ids that need no mention (fixed ones).
    """
    ids = {name: FeatureNames().intern(name) for name in dense}
    left_out = set(skip)
    wanted = {name: id for name, id in ids.items() if id not in left_out}
    fired: set[int] = set()
    varying: set[int] = set()
    if pool.candidates is not None:
        fired, varying = _in_candidates(pool.candidates, set(wanted.values()))
    elif pool.forests is not None:
        forests = (forest for group in pool.forests for forest in group)
        fired, varying = _in_forests(forests, set(wanted.values()))
    return {
        "never_fired": [name for name, id in wanted.items() if id not in fired],
        "constant": [name for name, id in wanted.items() if id in fired and id not in varying],
    }


def in_words(useless: dict[str, list[str]]) -> Iterator[str]:
    """The same as sentences."""
    if useless["never_fired"]:
        names = ", ".join(useless["never_fired"])
        yield f"never fired in any candidate, so nothing was learned about them: {names}"
    if useless["constant"]:
        names = ", ".join(useless["constant"])
        yield f"constant within every sentence, so their weights decide nothing: {names}"


def _in_candidates(candidates: Candidates, wanted: set[int]) -> tuple[set[int], set[int]]:
    """Of the wanted features those that are not 0 somewhere, and those that vary in a group."""
    fired: set[int] = set()
    varying: set[int] = set()
    filled = np.flatnonzero(np.diff(candidates.begin) > 0)
    starts = candidates.begin[:-1][filled]
    table = candidates.features
    width = table.dense.shape[1]
    for number, id in enumerate(table.ids.tolist()):
        if id not in wanted or len(starts) == 0:
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
    """More than sums of the same numbers in another order do."""
    return high - low > 1e-5 * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1)


def _in_forests(forests: Iterable[Forest], wanted: set[int]) -> tuple[set[int], set[int]]:
    """The same over forests; a feature is constant if its largest value is its smallest.

    Most features show that they vary in a few random derivations; the others are asked exactly.
    """
    fired: set[int] = set()
    varying: set[int] = set()
    flat = Weights()
    for forest in forests:
        some = [d.features for d in sample(forest, flat, 4, seed=1)]
        if not some:
            continue
        for id in wanted - varying:
            values = {vector.get(id) for vector in some}
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
