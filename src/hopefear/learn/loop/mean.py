"""The mean of the last iterations' weights, as the result of a run.  [cettolo2011]

MERT's score is a step function and its best step a narrow one: what it finds from iteration to
iteration differs much in the weights, and the best of it on the set that is tuned on need not be so
on new text. The mean of such vectors is in the middle of where they all are.

Goes in: the weights of several iterations, and which must stay. Comes out: one vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from hopefear.base.weights import Weights


def last_iterations(last: int, count: int) -> list[int]:
    """The last `count` of the iterations 1 to `last`, but no more than half of them.

    In the first ones the weights are still on their way.
    """
    return list(range(max(last - count, last // 2) + 1, last + 1))


def mean_weights(many: Sequence[Weights], fixed: frozenset[int], held: frozenset[int]) -> Weights:
    """Their mean, each brought to the length (L1) of the last one first.

    `fixed` features keep their weight, and so do `held` ones, about which nothing was learned; they
    do not count in the length. A fixed weight other than 0 gives the others a scale: then all are
    taken as they are.
    """
    last, kept = many[-1], fixed | held
    parts = list(many)
    if not any(last[id] for id in fixed):
        lengths = [_length(weights, kept) for weights in many]
        parts = [
            _scaled(weights, lengths[-1] / length)
            for weights, length in zip(many, lengths, strict=True)
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
