"""Oracle and diversity of k-best lists."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from hopefear.metrics import create
from hopefear.metrics.diversity import distances, diversity, mean_diversity
from hopefear.metrics.oracle import oracle


def pool(seed: int) -> tuple[np.ndarray, np.ndarray]:
    chance = random.Random(seed)
    references = [[" ".join(chance.choices("abcd", k=9))] for _ in range(4)]
    texts = [" ".join(chance.choices("abcd", k=chance.randint(5, 11))) for _ in range(16)]
    numbers = np.arange(16) % 4  # the rows of a sentence are no neighbours
    return create("bleu").prepare(references).statistics(texts, numbers), numbers


@pytest.mark.parametrize("seed", range(8))
def test_the_oracle_is_near_the_best_of_all_choices(seed: int) -> None:
    rows, numbers = pool(seed)
    bleu = create("bleu")
    lists = [np.flatnonzero(numbers == i) for i in range(4)]
    best = max(
        float(bleu.score(rows[list(choice)].sum(axis=0))) for choice in itertools.product(*lists)
    )
    found = oracle(rows, numbers)
    assert [int(numbers[row]) for row in found.rows] == [0, 1, 2, 3]
    assert found.score == pytest.approx(float(bleu.score(rows[found.rows].sum(axis=0))))
    assert found.greedy <= found.score <= best + 1e-12
    assert found.score >= 0.85 * best


def test_hill_climbing_ends_where_no_single_change_helps() -> None:
    rows, numbers = pool(3)
    found = oracle(rows, numbers)
    total = rows[found.rows].sum(axis=0)
    for row, number in zip(rows, numbers, strict=True):
        other = total - rows[found.rows[number]] + row
        assert create("bleu").score(other) <= found.score + 1e-12


def test_the_oracle_of_another_metric() -> None:
    ter = create("ter")
    references, texts = [["a b c"], ["d e"]], ["x", "a b c", "d e f g", "d x"]
    rows = ter.prepare(references).statistics(texts, [0, 0, 1, 1])
    found = oracle(rows, [0, 0, 1, 1], metric=ter)
    assert found.rows.tolist() == [1, 3]
    assert found.score == pytest.approx(-1 / 5)


def test_no_list_at_all() -> None:
    assert oracle(np.zeros((0, 9), dtype=np.int32), []).rows.tolist() == []


def by_definition(a: str, b: str, n: int) -> float:
    """Gimpel's double sum and Liu & Huang's balance of it."""

    def matches(x: list[str], y: list[str]) -> int:
        return sum(
            x[i : i + n] == y[j : j + n]
            for i in range(len(x) - n + 1)
            for j in range(len(y) - n + 1)
        )

    x, y = a.split(), b.split()
    return 1 - 2 * matches(x, y) / (matches(x, x) + matches(y, y))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_distance_by_definition(n: int) -> None:
    chance = random.Random(1)
    texts = [" ".join(chance.choices("abc", k=chance.randint(3, 9))) for _ in range(12)]
    table = distances(texts, n)
    for (i, a), (j, b) in itertools.product(enumerate(texts), repeat=2):
        assert table[i, j] == pytest.approx(by_definition(a, b, n))
    assert (np.diag(table) == 0).all()
    assert (table >= -1e-15).all()
    assert (table <= 1).all()
    pairs = [table[i, j] for i in range(12) for j in range(i)]
    assert diversity(texts, n) == pytest.approx(np.mean(pairs))


def test_repetition_does_not_hide_a_difference() -> None:
    """The paper's example: four and ten times the same word."""
    assert diversity(["the the the the", " ".join(["the"] * 10)], n=1) == pytest.approx(
        1 - 2 * 40 / (16 + 100)
    )


def test_strings_shorter_than_n() -> None:
    assert distances(["a", "a", "b", ""], n=2).tolist() == [
        [0, 0, 1, 1],
        [0, 0, 1, 1],
        [1, 1, 0, 1],
        [1, 1, 1, 0],
    ]
    assert distances(["a", "a b"], n=2).tolist() == [[0, 1], [1, 0]]


def test_lists() -> None:
    assert diversity(["a b"]) == 0
    assert diversity(["a b", ["c", "d"]]) == 1
    assert mean_diversity([["a b", "c d"], ["a b"], []]) == pytest.approx(1 / 3)
    assert mean_diversity([]) == 0
