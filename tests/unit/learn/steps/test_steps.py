"""Every step against the quadratic programme that defines it, solved by SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from hopefear.learn.steps import STEPS, MarginProblem, Settings
from hopefear.learn.steps.dual import Dual

FEATURES = 5
TIGHT = 1e-9


def problem(
    seed: int, *, size: int = 6, features: int = FEATURES, sparse: bool = False, spread: float = 0.3
) -> MarginProblem:
    """Random hypotheses; towards is the hope, away the fear."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(size, features))
    weights = spread * random.normal(size=features)
    scores, gains = rows @ weights, random.uniform(size=size)
    return MarginProblem(
        scores,
        gains,
        csr_array(rows) if sparse else rows,
        int(np.argmax(scores + gains)),
        int(np.argmax(scores - gains)),
        lambda s: int(np.argmax(s - gains)),
        lambda k: [np.argsort(-v)[:k] for v in (scores, scores + gains, scores - gains)],
    )


Constraint = tuple[np.ndarray, float, int]  # direction, value, group


def solved(
    constraints: Sequence[Constraint], budgets: Sequence[float], metric: Any, ridge: float = 0.0
) -> np.ndarray:
    """The change of the weights by SLSQP on the dual, whose constraints are simple."""
    if not constraints:  # the hope is the fear
        return np.zeros(len(metric))
    directions = np.array([c[0] for c in constraints])
    values = np.array([c[1] for c in constraints])
    groups = np.array([c[2] for c in constraints])
    gram = directions @ (metric[:, None] * directions.T)
    member = (groups[None, :] == np.arange(len(budgets))[:, None]).astype(float)
    curve = gram + ridge * member.T @ member
    unit = min(1.0, max(budgets))  # SLSQP dislikes numbers of the size of 0.01

    def minus(x: Any) -> tuple[float, Any]:
        slope = unit * curve @ x - values
        return 0.5 * unit * x @ curve @ x - values @ x, slope

    found = minimize(
        minus,
        np.zeros(len(values)),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * len(values),
        constraints={
            "type": "ineq",
            "fun": lambda x: np.array(budgets) / unit - member @ x,
            "jac": lambda x: -member,
        },
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    # 8: no direction leads further down, as at an optimum to the last digit.
    assert found.status in (0, 8), found.message
    change: np.ndarray = metric * (unit * found.x @ directions)
    return change


def margins(
    p: MarginProblem, group: int = 0, which: Sequence[int] | None = None
) -> list[Constraint]:
    hinge = p.hinge()
    every = range(len(p.scores)) if which is None else which
    return [(p.direction(y), float(hinge[y]), group) for y in every if y != p.towards]


def bounds(p: MarginProblem, bound: float, group: int) -> list[Constraint]:
    found: list[Constraint] = []
    for y in range(len(p.scores)):
        if y != p.towards:
            apart = float(p.scores[p.towards] - p.scores[y])
            found.append((-p.direction(y), apart - bound, group))
            found.append((p.direction(y), -apart - bound, group))
    return found


def primal(
    v: np.ndarray, constraints: Sequence[Constraint], budgets: Sequence[float], metric: Any
) -> float:
    """What is minimised."""
    price = 0.5 * float(v @ (v / metric))
    for group, budget in enumerate(budgets):
        slacks = [value - float(p @ v) for p, value, g in constraints if g == group]
        price += budget * max([0.0, *slacks])
    return price


def check(
    found: np.ndarray,
    wanted: np.ndarray,
    constraints: Sequence[Constraint],
    budgets: Sequence[float],
    metric: Any,
) -> None:
    """The same optimum. The problem is strictly convex, so that its price says it all."""
    ours = primal(found, constraints, budgets, metric)
    theirs = primal(wanted, constraints, budgets, metric)
    assert ours <= theirs * (1 + 1e-6) + 1e-7
    assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(found, wanted, atol=5e-3)


METRICS = [np.ones(FEATURES), np.array([0.1, 3.0, 1.0, 0.5, 2.0])]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", METRICS, ids=["equal", "rates"])
@pytest.mark.parametrize("C", [0.01, 0.3, 100.0])
@pytest.mark.parametrize("sentences", [1, 3])
@pytest.mark.parametrize("name", ["pa", "kbest", "cutting-plane"])
def test_large_margin(name: str, sentences: int, C: float, metric: Any, seed: int) -> None:
    problems = [problem(10 * seed + n, sparse=n % 2 == 1) for n in range(sentences)]
    settings = Settings(C=C, constraints=2, tolerance=TIGHT, rounds=1000)
    found = STEPS[name]().change(problems, metric, settings)
    constraints: list[Constraint] = []
    for group, p in enumerate(problems):
        which: Sequence[int] | None = None
        if name == "pa":
            which = [p.away]
        if name == "kbest":
            which = sorted({int(y) for some in p.best_lists(2) for y in some})
        constraints += margins(p, group, which)
    wanted = solved(constraints, [C] * sentences, metric)
    check(found, wanted, constraints, [C] * sentences, metric)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("C", "D", "B"), [(0.01, 0.01, 1.0), (0.5, 0.2, 1.0), (50.0, 50.0, 2.0)])
@pytest.mark.parametrize("sentences", [1, 2])
def test_rm_cp_reaches_the_optimum(sentences: int, C: float, D: float, B: float, seed: int) -> None:
    problems = [problem(100 + 10 * seed + n, spread=2.0) for n in range(sentences)]
    metric = METRICS[seed % 2]
    settings = Settings(C=C, B=B, D=D, tolerance=TIGHT, rounds=1000)
    found = STEPS["rm-cp"]().change(problems, metric, settings)
    constraints: list[Constraint] = []
    for n, p in enumerate(problems):
        constraints += margins(p, 2 * n) + bounds(p, B, 2 * n + 1)
    budgets = [C, D] * sentences
    wanted = solved(constraints, budgets, metric)
    check(found, wanted, constraints, budgets, metric)


def test_with_large_budgets_all_constraints_hold() -> None:
    p = problem(3, size=5, features=8, spread=3.0)
    metric = np.ones(8)
    settings = Settings(C=1e4, B=1.5, D=1e4, tolerance=1e-7, rounds=1000)
    after = p.scores_after(STEPS["rm-cp"]().change([p], metric, settings))
    apart = after[p.towards] - after
    assert np.abs(apart).max() <= 1.5 + 1e-5
    assert (apart >= p.gains[p.towards] - p.gains - 1e-5).all()
    before = p.scores[p.towards] - p.scores
    assert np.abs(before).max() > 1.5, "or the test shows nothing"


@pytest.mark.parametrize("seed", range(5))
def test_rm_pa_is_two_closed_forms(seed: int) -> None:
    p = problem(200 + seed, spread=3.0)
    metric, settings = METRICS[1], Settings(C=0.05, B=1.0, D=0.02)
    found = STEPS["rm-pa"]().change([p], metric, settings)
    first = p.direction(p.away)
    alpha = min(0.05, max(0.0, p.loss) / (first @ (metric * first) or 1.0))
    change = alpha * metric * first
    scores = p.scores_after(change)
    worst = int(np.argmin(scores))
    second = p.direction(worst)
    over = max(0.0, scores[p.towards] - scores[worst] - 1.0)
    b = min(0.02, over / (second @ (metric * second)))
    np.testing.assert_allclose(found, change - b * metric * second, atol=1e-12)
    assert b > 0, "or the test shows nothing"


@pytest.mark.parametrize("name", ["rm-pa", "rm-cp"])
def test_the_bound_leaves_out_other_numbers_of_untranslated_words(name: str) -> None:
    """Whether it looks at a hypothesis that costs 100 more, or there is no such hypothesis."""
    p = problem(201, spread=3.0)
    metric, settings = METRICS[1], Settings(C=0.05, B=1.0, D=0.02)
    far = replace(
        p,
        scores=np.append(p.scores, -100.0),
        gains=np.append(p.gains, p.gains.min()),
        features=np.vstack([p.features, np.full(FEATURES, 9.0)]),
        choose_away=lambda s: p.choose_away(s[:-1]),
    )
    with_all = STEPS[name]().change([far], metric, settings)
    without = STEPS[name]().change([replace(far, bounded=far.scores > -100)], metric, settings)
    np.testing.assert_allclose(without, STEPS[name]().change([p], metric, settings), atol=1e-9)
    assert np.abs(with_all - without).max() > 1e-3


def test_pa_with_a_rate_closes_the_loss() -> None:
    """Errata eq. 3.8: for eta != 1 alpha is divided by eta."""
    p = next(p for p in map(problem, range(20)) if p.loss > 0)
    for eta in (0.25, 1.0, 4.0):
        change = STEPS["pa"]().change([p], np.full(FEATURES, eta), Settings(C=100.0))
        scores = p.scores_after(change)
        assert p.hinge(scores)[p.away] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["pa", "kbest", "cutting-plane"])
@pytest.mark.parametrize("C", [0.02, 10.0])
def test_arow(name: str, C: float) -> None:
    problems = [problem(40), problem(41)]
    settings = Settings(C=C, ridge=0.7, constraints=9, tolerance=TIGHT, rounds=1000)
    metric = METRICS[1]
    found = STEPS[name]().change(problems, metric, settings)
    constraints: list[Constraint] = []
    for group, p in enumerate(problems):
        constraints += margins(p, group, [p.away] if name == "pa" else None)
    wanted = solved(constraints, [C, C], metric, ridge=0.7)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_arow_of_one_constraint_is_its_closed_form() -> None:
    p = problem(40)
    metric = METRICS[1]
    found = STEPS["pa"]().change([p], metric, Settings(C=100.0, ridge=2.0))
    difference = p.direction(p.away)
    alpha = p.loss / (difference @ (metric * difference) + 2.0)
    np.testing.assert_allclose(found, alpha * metric * difference)


def test_perceptron() -> None:
    problems = [problem(n) for n in range(4)]
    found = STEPS["perceptron"]().change(problems, METRICS[1], Settings(C=0.3))
    moved = sum(p.direction(p.away) for p in problems if p.loss > 0)
    np.testing.assert_allclose(found, 0.3 / 4 * METRICS[1] * moved)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_nothing_to_learn(name: str) -> None:
    rows = np.ones((3, 2))  # different strings with equal features
    scores, gains = np.array([2.0, 2.0, 2.0]), np.array([0.9, 0.5, 0.1])
    p = MarginProblem(
        scores, gains, rows, 0, 2, lambda s: 2, lambda k: [np.arange(3)[:k]] * 3
    )  # fmt: skip
    found = STEPS[name]().change([p], np.ones(2), Settings())
    np.testing.assert_array_equal(found, 0.0)
    assert not STEPS[name]().change([], np.ones(2), Settings()).any()


def test_multipliers_persist_when_constraints_come_in() -> None:
    """The sum of moves is bounded by C over all rounds, not in each (errata, Alg. 5 l. 14)."""
    dual = Dual(np.ones(2), [0.5])
    dual.add(0, np.array([1.0, 0.0]), 9.0)
    assert dual.solve(1e-9)
    dual.add(0, np.array([0.0, 1.0]), 9.0)
    assert dual.solve(1e-9)
    assert dual.multipliers.sum() == pytest.approx(0.5)
    np.testing.assert_allclose(dual.change, [0.25, 0.25])
    np.testing.assert_allclose(dual.violations, [8.75, 8.75])
    assert dual.slack(0) == pytest.approx(8.75)
