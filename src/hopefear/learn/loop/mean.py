"""The mean of the last iterations' weights, as the result of a run.  [cettolo2011]

Takes the weights of several iterations and the fixed features and returns the mean. The objective
of MERT is a step function with narrow optima: the weights vary a lot between iterations, and those
with the best score on the tuning set need not be the best on new text. The mean of several such
vectors varies less.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear.base.weights import Weights

FEWEST_AVERAGED = 5  # iterations of a run whose mean is the result by default


def last_iterations(last: int, count: int) -> list[int]:
    """Return the last `count` of the iterations 1 to `last`, but at most half of them.

    The first half is excluded because its weights have not converged.
    """
    return list(range(max(last - count, last // 2) + 1, last + 1))


def mean_weights(
    vectors: Sequence[Weights], fixed: frozenset[int], held: frozenset[int]
) -> Weights:
    """Take weight vectors and return their mean, each scaled to the L1 norm of the last one.

    `fixed` features, and `held` ones that the tuner could not learn, keep their weights and do not
    count in the norm. If a fixed weight is not 0, it determines the scale, and no vector is scaled.
    """
    last, kept = vectors[-1], fixed | held
    parts = list(vectors)
    if not any(last[id] for id in fixed):
        lengths = [_length(weights, kept) for weights in vectors]
        parts = [
            _scaled(weights, lengths[-1] / length)
            for weights, length in zip(vectors, lengths, strict=True)
            if length > 0
        ]
    mean = Weights.average(parts)
    for id in kept:
        if id in last:
            mean[id] = last[id]
    return mean


def _length(weights: Weights, without: frozenset[int]) -> float:
    return weights.norm(1) - sum(abs(weights[id]) for id in without if id in weights)


def _scaled(weights: Weights, factor: float) -> Weights:
    copy = weights.copy()
    copy.scale(factor)
    return copy
