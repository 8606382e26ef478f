"""MERT and batch MIRA on forests: a toy that they must solve, and lines against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hopefear.errors import OptionError
from hopefear.forest import Forest, ForestBuilder, viterbi
from hopefear.metrics import create
from hopefear.tune.batch_mira import BatchMira
from hopefear.tune.forest_mert import ForestProblem, upper_envelope
from hopefear.tune.mert import Mert
from hopefear.tune.tuner import BatchTuner, Pool, Task
from hopefear.weights import FeatureNames, Weights

pytestmark = pytest.mark.engine
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


def toy(names: FeatureNames, seed: int) -> tuple[Forest, str]:
    """A lattice in which the feature `good` tells the right word at each place."""
    random = np.random.default_rng(seed)
    builder = ForestBuilder(names=names)
    reference = random.choice(WORDS, 6).tolist()
    last = builder.node(covered=0)
    builder.edge(last, (), [])
    for place, right in enumerate(reference):
        node = builder.node(covered=place + 1)
        for word in {right, *random.choice(WORDS, 2).tolist()}:
            good = (word == right) + 0.3 * random.normal()
            features = {"good": good, "bad": random.normal() - good, "noise": random.normal()}
            builder.edge(node, [last], [0, word], features=features)
        last = node
    return builder.finish(last), " ".join(reference)


def make_pool() -> Pool:
    names = FeatureNames()
    made = [toy(names, seed) for seed in range(12)]
    again = [toy(names, seed) for seed in range(12)]
    return Pool(
        create("bleu"),
        forests=[[forest, other] for (forest, _), (other, _) in zip(made, again, strict=True)],
        references=[[reference] for _, reference in made],
    )


@pytest.mark.parametrize(
    "tuner",
    [Mert(space="forest", directions=3), BatchMira(space="forest", forest_passes=4)],
    ids=lambda tuner: tuner.name,
)
def test_learning(tuner: BatchTuner) -> None:
    assert tuner.pool_space == "forest"
    pool = make_pool()
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    runs = [tuner.optimize(pool, start, Task(np.random.default_rng(5), threads=n)) for n in (1, 2)]
    assert runs[0].weights.vector() == runs[1].weights.vector()
    found = runs[0]
    assert start["good"] == pytest.approx(0.1)  # not changed
    assert found.objective > found.notes["before"] + 0.2
    assert found.objective == pytest.approx(corpus_score(pool, found.weights))
    fixed = start.names
    assert fixed is not None
    task = Task(np.random.default_rng(5), fixed=frozenset({fixed.intern("noise")}))
    assert tuner.optimize(pool, start, task).weights["noise"] == pytest.approx(0.5)


def corpus_score(pool: Pool, weights: Weights) -> float:
    assert pool.forests is not None
    best = [viterbi(forests[0], weights) for forests in pool.forests]
    texts = [d.text if d is not None else "" for d in best]
    return pool.metric.corpus_score(pool.metric.statistics(texts, pool.references))


def test_lines_equal_brute_force() -> None:
    pool = make_pool()
    assert pool.forests is not None
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    problem = ForestProblem(pool.metric, pool.forests, pool.references, start, frozenset(), 1)
    direction = np.array([0.3, -1.0, 0.5])
    x, reached, here = problem._best(problem.start, direction)
    assert here == pytest.approx(corpus_score(pool, start))
    at = problem.weights(problem.start + x * direction)
    assert reached == pytest.approx(corpus_score(pool, at))
    tried = [
        corpus_score(pool, problem.weights(problem.start + y * direction))
        for y in np.linspace(-3, 3, 300)
    ]
    assert reached >= max(tried) - 1e-9


def test_upper_envelope() -> None:
    random = np.random.default_rng(1)
    for size in (1, 2, 5, 20):
        lines = random.integers(-3, 4, (size, 2)).astype(float)
        kept, corners = upper_envelope(lines)
        assert len(corners) == len(kept) - 1
        edges = [-math.inf, *corners.tolist(), math.inf]
        assert edges == sorted(edges)
        for x in np.linspace(-9.1, 9.2, 200):
            on_top = kept[int(np.searchsorted(corners, x))]
            best = (lines @ [x, 1.0]).max()
            assert lines[on_top] @ [x, 1.0] == pytest.approx(best)


def test_what_forests_cannot() -> None:
    pool = make_pool()
    task = Task(np.random.default_rng(1))
    ter = Pool(create("ter"), forests=pool.forests, references=pool.references)
    with pytest.raises(OptionError, match="use space kbest"):
        BatchMira(space="forest").optimize(ter, Weights({"good": 1.0}), task)
    with pytest.raises(OptionError, match="safe_hope"):
        BatchMira(space="forest", safe_hope=True)
    for tuner in (Mert(space="forest"), BatchMira(space="forest")):
        with pytest.raises(ValueError, match="the pool has none"):
            tuner.optimize(Pool(create("bleu")), Weights({"good": 1.0}), task)
