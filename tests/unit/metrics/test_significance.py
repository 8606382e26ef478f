"""Paired tests on simulated systems with a known difference: they keep their level, have power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from hopefear.base.errors import InputError
from hopefear.metrics import create
from hopefear.metrics.significance import (
    Outcome,
    approximate_randomization,
    paired_bootstrap,
    summarize,
)

Runs = list[np.ndarray]
BLEU = create("bleu")


def simulate(
    random: np.random.Generator, *, gap: float = 0.0, runs: int = 1, shared: float = 0.5
) -> tuple[Runs, Runs]:
    """BLEU statistics of 100 sentences from two systems, the second better by `gap`.

    Sentences differ in difficulty; each system has strengths of its own on each of them, which its
    runs share (`shared`), and each run some more.
    """
    n = 100
    length = random.integers(8, 35, n)
    difficulty = 0.8 + random.normal(0, 0.5, n)
    systems: tuple[Runs, Runs] = ([], [])
    for tables, better in zip(systems, (0.0, gap), strict=True):
        own = difficulty + better + random.normal(0, shared, n)
        for _ in range(runs):
            quality = 1 / (1 + np.exp(-own - random.normal(0, 0.5, n)))
            columns = []
            for order in range(1, 5):
                total = length - order + 1
                columns += [random.binomial(total, quality ** (0.6 + 0.4 * order)), total]
            tables.append(np.column_stack([*columns, length]).astype(np.int32))
    return systems


def rejections(test: Callable[[Runs, Runs, int], Outcome], count: int = 250, **how: float) -> float:
    """The share of simulated comparisons with p <= 0.05."""
    random = np.random.default_rng(1)
    found = [test(*simulate(random, **how), seed).p_value for seed in range(count)]
    return float(np.mean(np.array(found) <= 0.05))


def bootstrap(first: Runs, second: Runs, seed: int) -> Outcome:
    return paired_bootstrap(BLEU, first, second, samples=200, seed=seed)


def randomization(first: Runs, second: Runs, seed: int) -> Outcome:
    return approximate_randomization(BLEU, first, second, trials=200, seed=seed)


@pytest.mark.parametrize("test", [bootstrap, randomization])
@pytest.mark.parametrize("runs", [1, 3])
def test_the_level_is_kept(test: Callable[..., Outcome], runs: int) -> None:
    # 250 comparisons without a difference: 0.05 +- three standard errors of 0.014.
    assert rejections(test, runs=runs) <= 0.092


@pytest.mark.parametrize("test", [bootstrap, randomization])
def test_power(test: Callable[..., Outcome]) -> None:
    assert rejections(test, count=100, gap=0.4) >= 0.9
    assert rejections(test, count=100, gap=0.15, runs=3) > 0.2


def test_a_coin_per_run_does_not_keep_the_level() -> None:
    """Why it is not the default: runs of a system agree, so they are not independent evidence."""

    def per_run(first: Runs, second: Runs, seed: int) -> Outcome:
        return approximate_randomization(BLEU, first, second, trials=200, seed=seed, coin="run")

    assert rejections(per_run, runs=3) > 0.1
    # With runs that share nothing both are right.
    assert rejections(per_run, runs=3, shared=0.0) <= 0.092


def test_a_coin_per_run_does_not_keep_the_level_of_length() -> None:
    """Why MultEval's p-values of length are smaller: runs of a system agree in length."""
    length = create("length")
    random = np.random.default_rng(1)
    p_values: dict[str, list[float]] = {"sentence": [], "run": []}
    for seed in range(200):
        references = random.integers(8, 35, 300)
        systems: tuple[Runs, Runs] = ([], [])
        for runs in systems:
            tendency = references + random.normal(0, 1, 300)  # of the system, in all of its runs
            for _ in range(3):
                lengths = np.rint(tendency + random.normal(0, 1, 300)).astype(np.int32)
                runs.append(np.column_stack([lengths, references]))
        for coin in ("sentence", "run"):
            outcome = approximate_randomization(length, *systems, trials=200, seed=seed, coin=coin)
            p_values[coin].append(outcome.p_value)
    assert np.mean(np.array(p_values["sentence"]) <= 0.05) <= 0.096
    assert np.mean(np.array(p_values["run"]) <= 0.05) > 0.12


def test_ter_and_length_can_be_tested() -> None:
    random = np.random.default_rng(3)
    length = random.integers(5, 30, 80)
    ter = [np.column_stack([random.binomial(length, p), 840 * length]) for p in (0.4, 0.6)]
    outcome = approximate_randomization(create("ter"), ter[:1], ter[1:], trials=500)
    assert outcome.difference < -10
    assert outcome.p_value == pytest.approx(1 / 501)
    ratios = [np.column_stack([length + d, length]) for d in (-1, 1)]
    for test in (paired_bootstrap, approximate_randomization):
        # Both are as far from 1, but they are not the same length.
        result = test(create("length"), ratios[:1], ratios[1:])
        assert result.difference < 0
        assert result.p_value < 0.01


def sentences(random: np.random.Generator, count: int) -> list[str]:
    return [" ".join(random.choice(list("abcdefg"), 12)) for _ in range(count)]


def noisy(random: np.random.Generator, texts: list[str], share: float) -> list[str]:
    return [" ".join(w if random.random() > share else "x" for w in text.split()) for text in texts]


def test_p_values_equal_sacrebleus() -> None:
    random = np.random.default_rng(4)
    references = sentences(random, 60)
    first, second = noisy(random, references, 0.32), noisy(random, references, 0.30)
    rows = [[BLEU.statistics(h, [[r] for r in references])] for h in (first, second)]
    theirs = {}
    for kind in ("bs", "ar"):
        _, scores = PairedTest(
            [("first", first), ("second", second)],
            {"BLEU": sacrebleu.BLEU(tokenize="none")},
            [references],
            test_type=kind,
            n_samples=2000,
        )()
        theirs[kind] = scores["BLEU"][1].p_value
    ours = paired_bootstrap(BLEU, rows[0], rows[1], samples=2000, form="sacrebleu")
    assert 0.01 < ours.p_value < 0.9
    assert ours.p_value == pytest.approx(theirs["bs"], abs=1e-9)  # the same draws
    swapped = approximate_randomization(BLEU, rows[0], rows[1], trials=2000)
    assert swapped.p_value == pytest.approx(theirs["ar"], abs=0.05)  # other draws


def test_the_forms_of_the_bootstrap() -> None:
    random = np.random.default_rng(5)
    first, second = simulate(random, gap=0.15)
    p = {
        form: paired_bootstrap(BLEU, first, second, samples=4000, form=form)
        for form in ("two-sided", "one-sided", "sacrebleu")
    }
    assert p["two-sided"].p_value / p["one-sided"].p_value == pytest.approx(2, rel=0.25)
    for form, outcome in p.items():
        assert f"form:{form}" in outcome.signature


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_system_does_not_differ_from_itself(test: Callable[..., Outcome]) -> None:
    first, _ = simulate(np.random.default_rng(6))
    assert test(BLEU, first, first)[:2] == (0.0, 1.0)


def test_sacrebleus_form_against_itself() -> None:
    """Its flaw is kept, so that numbers agree; docs/reference/metrics.md warns of it."""
    first, _ = simulate(np.random.default_rng(2))
    p = paired_bootstrap(BLEU, first, first, samples=100, form="sacrebleu").p_value
    assert p == pytest.approx(1 / 101)


def test_order_and_sign() -> None:
    first, second = simulate(np.random.default_rng(7), gap=0.5)
    for test in (paired_bootstrap, approximate_randomization):
        forth, back = test(BLEU, first, second), test(BLEU, second, first)
        assert forth.difference == -back.difference < 0
        assert forth.p_value == pytest.approx(back.p_value, abs=0.02)
        assert test(BLEU, first, second) == forth  # the same seed, the same p


def test_summary() -> None:
    first, _ = simulate(np.random.default_rng(8), runs=4)
    summary = summarize(BLEU, first)
    scores = [100 * BLEU.corpus_score(run) for run in first]
    assert summary.mean == pytest.approx(np.mean(scores))
    assert summary.run_deviation == pytest.approx(np.std(scores, ddof=1))
    assert summary.low < summary.mean < summary.high
    # A plain bootstrap of the first run, sentence by sentence.
    random = np.random.default_rng(9)
    draws = [first[0][random.integers(0, 100, 100)] for _ in range(1000)]
    deviation = np.std([100 * BLEU.corpus_score(rows) for rows in draws])
    assert summary.resampling_deviation == pytest.approx(deviation, rel=0.25)
    assert summarize(BLEU, first[:1]).run_deviation is None


def test_systems_that_cannot_be_compared() -> None:
    first, second = simulate(np.random.default_rng(10), runs=2)
    with pytest.raises(InputError, match="2 runs of 100 sentences against 1 of 100"):
        paired_bootstrap(BLEU, first, second[:1])
    with pytest.raises(InputError, match="all runs the same sentences; found 100, 99"):
        summarize(BLEU, [first[0], first[1][1:]])
    with pytest.raises(InputError, match="at least one run"):
        summarize(BLEU, [])
