"""The linear n-gram score and the fit of its constants."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.errors import OptionError
from hopefear.metrics import create
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.linear_ngram import FITTED, LinearNgram, fit


def test_equation_8_by_hand() -> None:
    metric = create("linear-ngram", {"xi": [0.5, 1.0, 2.0], "order": 2})
    rows = metric.statistics(["a b x a"], [["a b c"]])
    # c_1 = 2 (a once, b), c_2 = 1, others: x and the second a
    assert metric.sentence_scores(rows).tolist() == [2 + 2 - 0.5 * 2]
    assert metric.score(rows[0]) == pytest.approx(3 / 3)


def test_unclipped_as_on_the_edges_of_a_lattice() -> None:
    metric = create("linear-ngram", {"xi": [0.5, 1.0, 2.0], "order": 2, "clip": False})
    rows = metric.statistics(["a b x a b"], [["a b c"]])
    assert metric.sentence_scores(rows).tolist() == [4 + 2 * 2 - 0.5 * 1]
    assert "|clip:no|" in metric.signature()


def test_it_is_a_sum() -> None:
    metric = create("linear-ngram")
    rows = metric.statistics(["a b c", "x y"], [["a b d"], ["y z"]])
    together = metric.sentence_scores(rows.sum(axis=0))
    assert float(together) == pytest.approx(metric.sentence_scores(rows).sum())


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_fitted_constants_of_every_order(order: int) -> None:
    metric = create("linear-ngram", {"order": order})
    shown = ",".join(f"{x:g}" for x in FITTED[order])
    assert f"|xi:{shown}|" in metric.signature()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"xi": [1.0]}, "give 5 numbers of at least 0"),
        ({"xi": [1.0, 1.0, 1.0, 1.0, -1.0]}, "give 5 numbers of at least 0"),
        ({"order": 5}, "give 6 numbers"),
    ],
)
def test_bad_constants(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        create("linear-ngram", options)


class Planted(BleuPlusOne):
    """A target that is linear itself."""

    xi = np.array([0.3, 0.0, 1.0, 0.5, 0.25])

    def sentence_scores(self, statistics: np.ndarray) -> np.ndarray:
        return LinearNgram(xi=self.xi.tolist()).sentence_scores(statistics) / statistics[:, -1]


def test_the_fit_finds_planted_constants() -> None:
    random = np.random.default_rng(1)
    totals = random.integers(10, 20, size=(200, 1)) - np.arange(4)
    matches = random.integers(0, totals + 1, size=(200, 4))
    rows = np.empty((200, 9), dtype=np.int32)
    rows[:, 0:8:2], rows[:, 1:8:2] = matches, totals
    sentences = np.repeat(np.arange(20), 10)
    rows[:, 8] = 5 + sentences
    found = fit(rows, sentences, target=Planted())
    assert found.xi == pytest.approx(Planted.xi, abs=1e-9)
    assert found.correlation == pytest.approx(1)


def test_the_fit_never_goes_below_0() -> None:
    """A target that punishes long matches: no constant may follow it there."""

    class Odd(BleuPlusOne):
        def sentence_scores(self, statistics: np.ndarray) -> np.ndarray:
            return (statistics[:, 0] - statistics[:, 6]) / statistics[:, -1]

    random = np.random.default_rng(2)
    rows = np.full((100, 9), 10, dtype=np.int32)
    rows[:, 0:8:2] = random.integers(0, 7, size=(100, 4))
    found = fit(rows, np.repeat(np.arange(10), 10), target=Odd())
    assert min(found.xi) >= 0
    assert found.xi[4] == 0
    assert 0.3 < found.correlation < 0.95


def test_empty_input_has_no_fit() -> None:
    rows = np.tile([1, 2, 0, 1, 0, 0, 0, 0, 3], (4, 1))
    assert fit(rows, [0, 0, 1, 1]) == ([0.0] * 5, 0.0)
