"""Weighted sums of metrics and given scores, and intervals of differences."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.errors import InputError
from hopefear.metrics import create
from hopefear.metrics.given import GivenScore
from hopefear.metrics.mix import Mix
from hopefear.metrics.significance import (
    bootstrap_differences,
    paired_bootstrap,
    paired_interval,
)

TEXTS = ["a b c d e", "a b x d e", "y", "a b c d z"]
REFERENCES = [["a b c d e"]] * 4
SCORES = [0.5, -1.0, 2.0, 0.25]


def mixed(lower: bool = False) -> tuple[Mix, np.ndarray]:
    bleu, wer = create("bleu"), create("wer")
    given = GivenScore.of(SCORES, lower=lower)
    rows = [bleu.statistics(TEXTS, REFERENCES), wer.statistics(TEXTS, REFERENCES)]
    mix = Mix(names=["bleu", "wer", "x"], weights=[2.0, 1.0, -0.5], parts=[bleu, wer, given])
    return mix, np.hstack([*rows, given.rows(SCORES)])


@pytest.mark.parametrize("lower", [False, True])
def test_a_sum_of_gains(lower: bool) -> None:
    mix, rows = mixed(lower)
    assert rows.shape == (4, len(mix.columns))
    assert mix.columns[-1] == "x.count"
    for chosen in ([0], [1, 2], [0, 1, 2, 3]):
        parts = [create(n) for n in ("bleu", "wer")]
        gains = [
            part.corpus_score(
                part.statistics([TEXTS[i] for i in chosen], REFERENCES[: len(chosen)])
            )
            for part in parts
        ]
        given = np.mean([SCORES[i] for i in chosen]) * (-1 if lower else 1)
        expected = 2 * gains[0] + gains[1] - 0.5 * given
        assert mix.corpus_score(rows[chosen]) == pytest.approx(expected, abs=1e-6)
        assert float(mix.shown(rows[chosen].sum(axis=0))) == pytest.approx(expected, abs=1e-6)
    assert mix.sentence_scores(rows).shape == (4,)
    assert mix.describe() == "bleu=2 wer=1 x=-0.5"
    with pytest.raises(InputError, match="cannot score text"):
        mix.prepare(REFERENCES)


def test_lower_given_scores_are_worse_gains() -> None:
    metric = GivenScore.of([1.0, 3.0], lower=True)
    rows = metric.rows([1.0, 3.0])
    assert float(metric.shown(rows.sum(axis=0))) == pytest.approx(2.0)
    assert metric.corpus_score(rows) == pytest.approx(-2.0)
    assert metric.quality(2.0) == -2.0


def test_the_interval_is_that_of_the_resamples() -> None:
    random = np.random.default_rng(1)
    metric = GivenScore.of([0.0, 1.0])
    first = metric.rows(random.random(300) * 0.8 + 0.2)
    second = metric.rows(random.random(300) * 0.8)
    low, high = paired_interval(metric, [first], [second])
    outcome = paired_bootstrap(metric, [first], [second])
    assert low < outcome.difference < high
    assert low > 0
    assert outcome.p_value < 0.01
    drawn = bootstrap_differences(metric, [first], [second])
    assert 0.94 < np.mean((drawn >= low) & (drawn <= high)) < 0.96
    # A normal approximation of the difference of means is close for as many sentences.
    scores = [rows[:, 0] / (1 << 22) for rows in (first, second)]
    error = np.std(scores[0] - scores[1]) / np.sqrt(300)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
