"""What every registered metric must do. A new metric is tested here without a line of change."""

from __future__ import annotations

import random
from dataclasses import is_dataclass

import numpy as np
import pytest

import hopefear
from hopefear.base import config, registry
from hopefear.metrics import Metric, create
from hopefear.metrics.metric import total

NAMES = registry.names("metric")
LATIN = ["the", "cat", "sat", "on", "a", "mat", "Ünïcödé", "e\u0301", ",", "."]
WORDS = [*LATIN, "猫", "坐", "在", "垫子", "上", "😀"]

pytestmark = pytest.mark.engine


def texts(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 15))) for _ in range(count)]


REFERENCES = [list(pair) for pair in zip(texts(30, 1), texts(30, 2), strict=True)]
HYPOTHESES = texts(30, 3)


@pytest.fixture(params=NAMES)
def metric(request: pytest.FixtureRequest) -> Metric:
    return create(request.param)


@pytest.mark.parametrize("name", NAMES)
def test_it_describes_itself(name: str) -> None:
    cls = registry.get("metric", name)
    assert issubclass(cls, Metric)
    assert is_dataclass(cls)
    assert cls.name == name
    assert cls.title
    for field in config.fields_of(cls):
        assert field.option.help, field.name
        assert not field.required, "a metric works without options"


def test_statistics_are_small_whole_numbers(metric: Metric) -> None:
    rows = metric.statistics(HYPOTHESES, REFERENCES)
    assert rows.dtype == np.int32
    assert rows.shape == (30, len(metric.columns))
    assert len(set(metric.columns)) == len(metric.columns)
    assert (rows >= 0).all()


def test_additive(metric: Metric) -> None:
    """Counting a corpus in pieces is counting it at once."""
    rows = metric.statistics(HYPOTHESES, REFERENCES)
    parts = [
        metric.statistics(HYPOTHESES[:11], REFERENCES[:11]),
        metric.statistics(HYPOTHESES[11:], REFERENCES[11:]),
    ]
    assert (rows == np.vstack(parts)).all()
    assert metric.corpus_score(rows) == float(metric.score(total(parts[0]) + total(parts[1])))


def test_the_order_of_sentences_is_irrelevant(metric: Metric) -> None:
    order = random.Random(4).sample(range(30), 30)
    rows = metric.statistics(HYPOTHESES, REFERENCES)
    shuffled = metric.statistics([HYPOTHESES[i] for i in order], [REFERENCES[i] for i in order])
    assert (shuffled == rows[order]).all()
    assert metric.corpus_score(shuffled) == metric.corpus_score(rows)


def test_identical_strings_score_best(metric: Metric) -> None:
    perfect = [pair[0] for pair in REFERENCES]
    best = metric.statistics(perfect, REFERENCES)
    other = metric.statistics(HYPOTHESES, REFERENCES)
    assert metric.corpus_score(best) > metric.corpus_score(other)
    singles = [[text] for text in perfect]
    scores = metric.sentence_scores(metric.statistics(perfect, singles))
    others = metric.sentence_scores(metric.statistics(HYPOTHESES, singles))
    assert (scores >= others).all()
    assert (scores > others).any()


def test_empty_hypotheses_and_references_are_defined(metric: Metric) -> None:
    cases = [("", "a b c d e"), ("a b", ""), ("", ""), (" \t", "\u3000")]
    rows = metric.statistics([h for h, _ in cases], [[r] for _, r in cases])
    assert np.isfinite(metric.sentence_scores(rows)).all()
    assert np.isfinite(metric.score(rows)).all()
    assert np.isfinite(metric.shown(rows)).all()
    assert np.isfinite(metric.corpus_score(rows))
    full = metric.statistics(["a b c d e"], [["a b c d e"]])
    assert metric.corpus_score(full) > metric.corpus_score(rows[:1])


def test_no_sentence_at_all(metric: Metric) -> None:
    rows = metric.statistics([], [])
    assert rows.shape == (0, len(metric.columns))
    assert np.isfinite(metric.corpus_score(rows))


def test_vectorised(metric: Metric) -> None:
    """Scores of many sums at once are the scores of each."""
    rows = metric.statistics(HYPOTHESES, REFERENCES)
    weights = np.random.default_rng(5).integers(0, 4, size=(2, 7, 30))
    sums = weights @ rows
    for score in (metric.score, metric.sentence_scores, metric.shown):
        together = score(sums)
        assert together.shape == (2, 7)
        single = [[float(score(row)) for row in block] for block in sums]
        np.testing.assert_allclose(together, single, rtol=1e-13)


def test_lines_and_tokens_are_the_same(metric: Metric) -> None:
    split = metric.statistics(
        [text.split() for text in HYPOTHESES],
        [tuple(text.split() for text in pair) for pair in REFERENCES],
    )
    assert (split == metric.statistics(HYPOTHESES, REFERENCES)).all()


def test_kbest_lists(metric: Metric) -> None:
    """Any number of hypotheses in any order, each with the number of its sentence."""
    chance = random.Random(6)
    numbers = [chance.randrange(30) for _ in range(100)]
    pool = texts(100, 7)
    prepared = metric.prepare(REFERENCES)
    rows = prepared.statistics(pool, numbers)
    for text, number, row in zip(pool, numbers, rows, strict=True):
        assert (metric.statistics([text], [REFERENCES[number]])[0] == row).all()


def test_threads_change_nothing(metric: Metric) -> None:
    prepared = metric.prepare(REFERENCES)
    numbers = np.arange(1500) % 30
    pool = texts(1500, 8)
    one = prepared.statistics(pool, numbers, threads=1)
    assert (prepared.statistics(pool, numbers, threads=4) == one).all()


def test_the_signature_is_stable(metric: Metric) -> None:
    again = create(metric.name, config.to_mapping(metric))
    assert again.signature() == metric.signature()
    assert metric.signature().startswith(metric.name + "|")
    assert f"version:{hopefear.__version__}" in metric.signature()
    for key in config.to_mapping(metric):
        assert f"|{key.replace('_', '-')}:" in metric.signature()


def test_unicode(metric: Metric) -> None:
    """Characters, not bytes, are compared: é is not è, though they share a byte."""
    same = metric.corpus_score(metric.statistics(["é 猫 😀 x y"], [["é 猫 😀 x y"]]))
    other = metric.corpus_score(metric.statistics(["è 狗 😁 x y"], [["é 猫 😀 x y"]]))
    assert same > other or metric.name == "length"
