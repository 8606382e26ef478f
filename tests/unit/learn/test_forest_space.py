"""MERT and batch MIRA on forests: a toy problem, and line search against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.errors import OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import Forest, ForestBuilder, viterbi
from hopefear.learn.batch.batch_mira import BatchMira
from hopefear.learn.batch.forest_mert import Harvest
from hopefear.learn.batch.mert import GAIN, LineSearchProblem, Mert
from hopefear.learn.batch.risk import Risk
from hopefear.learn.tuner import BatchTuner, Pool, Task
from hopefear.metrics import create

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
    [
        Mert(space="forest", directions=3, forest_density=0),
        BatchMira(space="forest", forest_passes=4),
    ],
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


def make_harvest(pool: Pool, weights: Weights, density: float = 0) -> Harvest:
    assert pool.forests is not None
    return Harvest(
        pool.metric, pool.forests, pool.references, weights,
        fixed=frozenset(), density=density, threads=1,
    )  # fmt: skip


def test_line_search_on_extracted_candidates_equals_that_on_forests() -> None:
    """Along every feature, far and near, the harvest has the forests' best derivations."""
    pool = make_pool()
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    harvest = make_harvest(pool, start)
    assert harvest.add(start) == pytest.approx(corpus_score(pool, start))
    candidates = harvest.candidates()
    for name in ("good", "bad", "noise"):
        for x in np.linspace(-3, 3, 61):
            moved = start.copy()
            moved[name] = start[name] + x
            found = candidates.corpus_score(pool.metric, candidates.vector(moved))
            assert found == pytest.approx(corpus_score(pool, moved))


def test_the_end_is_a_maximum_along_every_feature_of_the_forests() -> None:
    pool = make_pool()
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    tuner = Mert(space="forest", forest_density=0, forest_rounds=50)
    end = tuner.optimize(pool, start, Task(np.random.default_rng(3)))
    assert end.notes["rounds"] < 50
    for name in ("good", "bad", "noise"):
        for x in np.linspace(-3, 3, 61):
            moved = end.weights.copy()
            moved[name] = end.weights[name] + x
            assert corpus_score(pool, moved) <= end.objective + 1.1 * GAIN


def test_candidates_grow_and_dense_features_move() -> None:
    pool = make_pool()
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    harvest = make_harvest(pool, start)
    harvest.add(start)
    few = harvest.candidates().rows
    harvest.add(start)
    assert harvest.candidates().rows == few  # nothing twice
    harvest.add(Weights({"good": 1.0, "bad": -0.4, "noise": 0.1}))
    candidates = harvest.candidates()
    assert candidates.rows > few
    problem = LineSearchProblem(
        pool.metric, candidates, candidates.vector(start), candidates.fixed(frozenset())
    )
    assert len(problem.moving) == 3
    thin = make_harvest(pool, start, density=2)
    assert thin.add(start) == pytest.approx(corpus_score(pool, start))  # the best stays
    assert thin.candidates().rows < few


def test_forests_without_a_derivation_add_nothing() -> None:
    pool = make_pool()
    assert pool.forests is not None
    empty = ForestBuilder().finish(None)
    forests = [*pool.forests, [], [empty]]
    references = [*pool.references, ["a b"], ["c d"]]
    whole = Pool(pool.metric, forests=forests, references=references)
    start = Weights({"good": 0.1, "bad": 0.4, "noise": 0.5})
    found = Mert(space="forest").optimize(whole, start, Task(np.random.default_rng(5)))
    assert found.objective > found.notes["before"]
    nothing = Pool(pool.metric, forests=[[empty], []], references=references[-2:])
    found = Mert(space="forest").optimize(nothing, start, Task(np.random.default_rng(5)))
    assert found.weights.vector() == start.vector()


def test_options_that_forests_do_not_support() -> None:
    pool = make_pool()
    task = Task(np.random.default_rng(1))
    ter = Pool(create("ter"), forests=pool.forests, references=pool.references)
    with pytest.raises(OptionError, match="use space kbest"):
        BatchMira(space="forest").optimize(ter, Weights({"good": 1.0}), task)
    for tuner in (BatchMira(space="forest"), Risk(space="forest")):
        with pytest.raises(OptionError, match="use space kbest"):
            tuner.check(create("ter"))
        with pytest.raises(OptionError, match="characters"):
            tuner.check(create("bleu", {"unit": "char"}))
        tuner.check(create("bleu"))
    BatchMira().check(create("ter"))
    for make, message in (
        (lambda: BatchMira(space="forest", safe_hope=True), "safe_hope: applies to space kbest"),
        (lambda: BatchMira(forest_beam=3), "forest_beam: applies to space forest"),
        (lambda: Mert(space="forest", restarts=3), "restarts: applies to space kbest"),
        (lambda: Mert(forest_rounds=2), "forest_rounds: applies to space forest"),
        (lambda: Risk(space="forest", gain="sentence"), "gain: applies to space kbest"),
        (lambda: Risk(density=3.0), "density: applies to space forest"),
    ):
        with pytest.raises(OptionError, match=message):
            make()
    for learner in (Mert(space="forest"), BatchMira(space="forest")):
        with pytest.raises(ValueError, match="the pool has none"):
            learner.optimize(Pool(create("bleu")), Weights({"good": 1.0}), task)
