"""Good-Turing discounts equal those of nltk's SimpleGoodTuringProbDist."""

from __future__ import annotations

import random
import warnings
from collections import Counter

import pytest

from hopefear import _engine

pytestmark = pytest.mark.engine


def sample(seed: int, power: float) -> Counter[int]:
    """Numbers of types by count, of words drawn by a power law."""
    rng = random.Random(seed)
    words: Counter[int] = Counter(int(rng.paretovariate(power)) for _ in range(3000))
    return Counter(words.values())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("power", [0.4, 0.7, 1.0])
def test_counts_equal_those_of_nltk(seed: int, power: float) -> None:
    probability = pytest.importorskip("nltk.probability")
    types = sample(seed, power)
    frequencies = probability.FreqDist()
    number = 0
    for count, n in types.items():
        for _ in range(n):
            frequencies[f"type{number}"] = count
            number += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = probability.SimpleGoodTuringProbDist(frequencies, bins=number + 1000)
    total = frequencies.N()
    examples = {count: word for word, count in frequencies.items()}
    for count, found in _engine.good_turing(dict(types)).items():
        wanted = min(count, expected.prob(examples[count]) * total)
        assert found == pytest.approx(wanted, rel=1e-9), count


def test_mass_is_left_for_the_unseen() -> None:
    types = sample(1, 0.5)
    discounts = _engine.good_turing(dict(types))
    total = sum(count * n for count, n in types.items())
    seen = sum(discounts[count] * n for count, n in types.items())
    assert seen < total
    assert seen == pytest.approx(total - types[1], rel=0.02)


def test_too_few_counts_are_not_discounted() -> None:
    assert _engine.good_turing({}) == {}
    assert _engine.good_turing({1: 10}) == {1: 1.0}
