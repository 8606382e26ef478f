"""Given scores as a metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopefear.base.errors import InputError
from hopefear.metrics.given import GivenScore


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_score_is_the_mean(scores: list[float]) -> None:
    metric = GivenScore.of(scores)
    rows = metric.rows(scores)
    assert (rows >= 0).all()
    size = max(scores) - min(scores)
    assert metric.corpus_score(rows) == pytest.approx(np.mean(scores), abs=1e-6 * size + 1e-9)
    np.testing.assert_allclose(metric.sentence_scores(rows), scores, atol=1e-6 * size + 1e-9)
    assert metric.shown(rows.sum(axis=0)) == metric.score(rows.sum(axis=0))


def test_empty_and_invalid_scores() -> None:
    assert GivenScore.of([]).corpus_score(np.zeros((0, 2), int)) == 0.0
    with pytest.raises(InputError, match="nan"):
        GivenScore.of([1.0, float("nan")])
    with pytest.raises(InputError, match="cannot score text"):
        GivenScore.of([1.0]).prepare([["a"]])
