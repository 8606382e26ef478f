"""The mean of weights: independent of lengths unless a fixed weight determines the scale."""

from __future__ import annotations

import pytest

from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.loop.mean import last_iterations, mean_weights

NONE: frozenset[int] = frozenset()


def ids(*names: str) -> frozenset[int]:
    return frozenset(FeatureNames().intern(name) for name in names)


@pytest.mark.parametrize(
    ("last", "count", "expected"),
    [
        (15, 5, [11, 12, 13, 14, 15]),
        (8, 5, [5, 6, 7, 8]),  # no more than half of them
        (3, 5, [2, 3]),
        (1, 5, [1]),
        (0, 5, []),
        (15, 0, []),
    ],
)
def test_the_last_iterations(last: int, count: int, expected: list[int]) -> None:
    assert last_iterations(last, count) == expected


def test_directions_are_averaged() -> None:
    """The first is ten times as long as the second and counts no more."""
    mean = mean_weights(
        [Weights({"a": 30.0, "b": 10.0}), Weights({"a": 1.0, "b": -3.0})], NONE, NONE
    )
    assert dict(mean.items()) == pytest.approx({"a": 2.0, "b": -1.0})


def test_unlearned_features_do_not_count_in_the_norm() -> None:
    many = [Weights({"a": 1.0, "b": 3.0, "u": 100.0}), Weights({"a": 3.0, "b": 1.0, "u": 100.0})]
    mean = mean_weights(many, NONE, ids("u"))
    assert dict(mean.items()) == pytest.approx({"a": 2.0, "b": 2.0, "u": 100.0})
    longer = mean_weights([Weights({"a": 4.0, "b": 12.0, "u": 100.0}), many[1]], NONE, ids("u"))
    assert dict(longer.items()) == pytest.approx(dict(mean.items()))


def test_a_fixed_weight_gives_a_scale() -> None:
    many = [Weights({"lm": 1.0, "a": 4.0}), Weights({"lm": 1.0, "a": 2.0})]
    mean = mean_weights(many, ids("lm"), NONE)
    assert dict(mean.items()) == {"lm": 1.0, "a": 3.0}
    without = mean_weights([Weights({"a": 4.0}), Weights({"a": 2.0})], ids("lm"), NONE)
    assert dict(without.items()) == {"a": 2.0}
