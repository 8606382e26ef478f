"""The contract of tuners, tested for every registered one; new tuners need no change here."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from hopefear._engine import write_weights_text
from loop_toy import NEAR, ToyDecoder, toy_set
from scipy.sparse import csr_array

from hopefear.base import config, registry
from hopefear.base.errors import InputError
from hopefear.base.weights import Weights
from hopefear.forest import ForestBuilder
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.tuner import (
    BatchTuner,
    Example,
    OnlineTuner,
    Optimized,
    Pool,
    Share,
    Task,
    Tuner,
    Update,
)
from hopefear.metrics import Metric, create
from hopefear.metrics.given import GivenScore

NAMES = registry.names("tuner")
BATCH = [
    name
    for name in NAMES
    if issubclass(registry.get("tuner", name), BatchTuner)
    and "kbest" in registry.get("tuner", name).spaces
]
ONLINE = [name for name in NAMES if issubclass(registry.get("tuner", name), OnlineTuner)]
START = {"good": 0.1, "bad": 0.3, "noise": 0.3, "constant": 0.5, "elsewhere": 0.7}
FEATURES = ["good", "bad", "noise", "constant"]

pytestmark = pytest.mark.engine


def bleu_rows(quality: Any) -> Any:
    """Statistics of candidates of 20 words; quality is from 0 to 1."""
    rows = np.zeros((len(quality), 9), np.int32)
    for n in range(4):
        rows[:, 2 * n + 1] = 20 - n
        rows[:, 2 * n] = np.floor((20 - n) * quality ** (1 + n / 2))
    rows[:, 8] = 20
    return rows


def make_pool(
    *, sentences: int = 25, size: int = 10, sparse: int = 0, bins: bool = False, seed: int = 3
) -> Pool:
    """Return a pool in which `good` grows with quality, `bad` falls, and `noise` is independent."""
    random = np.random.default_rng(seed)
    rows = sentences * size
    quality = random.uniform(0.1, 1.0, rows)
    dense = np.stack(
        [
            quality + 0.3 * random.normal(size=rows),
            -quality + 0.5 * random.normal(size=rows),
            random.normal(size=rows),
            np.repeat(random.normal(size=sentences), size),
        ],
        axis=1,
    )
    more = None
    if sparse:
        fires = random.random((rows, sparse)) < 0.1
        more = csr_array((fires * random.normal(size=(rows, sparse))).astype(np.float32))
    numbers = np.repeat(np.arange(sentences), size)
    candidates = from_arrays(
        numbers,
        dense,
        bleu_rows(quality),
        [*FEATURES, *(f"s{i}" for i in range(sparse))],
        sparse=more,
        bins=np.arange(rows) % 2 if bins else None,
    )
    return Pool(metric=create("bleu"), candidates=candidates)


def rows_of(pool: Pool, groups: list[int]) -> Pool:
    assert pool.candidates is not None
    return replace(pool, candidates=pool.candidates.part(groups))


def with_empty_group(pool: Pool) -> Pool:
    old = pool.candidates
    assert old is not None
    begin = np.insert(old.begin, 3, old.begin[3])
    sentences = np.concatenate([old.sentences[:3], [99], old.sentences[3:]]).astype(np.int32)
    return replace(pool, candidates=replace(old, begin=begin, sentences=sentences))


def task(seed: int = 1, **more: Any) -> Task:
    return Task(random=np.random.default_rng(seed), **more)


def saved(weights: Weights) -> bytes:
    file = io.BytesIO()
    write_weights_text(file, weights.table, weights.names)
    return file.getvalue()


def corpus(pool: Pool, weights: Weights) -> float:
    assert pool.candidates is not None
    return pool.candidates.corpus_score(pool.metric, pool.candidates.vector(weights))


def check(result: Optimized) -> None:
    assert np.isfinite(result.objective)
    assert all(np.isfinite(value) for _, value in result.weights.items())
    json.dumps(dict(result.notes))  # notes are logged as JSON


@pytest.fixture(params=BATCH)
def tuner(request: pytest.FixtureRequest) -> BatchTuner:
    made: BatchTuner = registry.get("tuner", request.param)()
    if made.pool_space != "kbest":
        made = config.from_mapping(type(made), {"space": "kbest"})
    return made


def again(tuner: BatchTuner) -> BatchTuner:
    return config.from_mapping(type(tuner), config.to_mapping(tuner))


@pytest.mark.parametrize("name", NAMES)
def test_it_describes_itself(name: str) -> None:
    cls = registry.get("tuner", name)
    assert issubclass(cls, Tuner)
    assert is_dataclass(cls)
    assert cls.name == name
    assert cls.loop in registry.names("loop")
    assert cls.__doc__
    for field in config.fields_of(cls):
        assert field.option.help, field.name
        assert not field.required, "a tuner works without options"


def test_improves_a_toy_problem(tuner: BatchTuner) -> None:
    pool, start = make_pool(), Weights(START)
    result = tuner.optimize(pool, start, task())
    check(result)
    assert corpus(pool, result.weights) > corpus(pool, start) + 0.02
    moved = result.weights["good"] - result.weights["bad"]
    assert moved > START["good"] - START["bad"]  # short steps move only part of the way


def test_does_not_change_its_arguments(tuner: BatchTuner) -> None:
    pool, start = make_pool(), Weights(START)
    assert pool.candidates is not None
    dense, counts = pool.candidates.features.dense.copy(), pool.candidates.statistics.copy()
    before = saved(start)
    tuner.optimize(pool, start, task())
    assert saved(start) == before
    assert (pool.candidates.features.dense == dense).all()
    assert (pool.candidates.statistics == counts).all()


def test_same_seed_same_bytes_on_any_number_of_threads(tuner: BatchTuner) -> None:
    pool = make_pool()
    one, two, three = (
        saved(again(tuner).optimize(pool, Weights(START), task(7, threads=n)).weights)
        for n in (1, 1, 3)
    )
    assert one == two == three


def test_continues_from_a_saved_state(tuner: BatchTuner) -> None:
    pool, other = make_pool(), make_pool(seed=4)
    first = tuner.optimize(pool, Weights(START), task(1)).weights
    state = pickle.loads(pickle.dumps(dict(tuner.state())))
    resumed = again(tuner)
    resumed.restore(state)
    ends = [each.optimize(other, first, task(2, iteration=1)) for each in (tuner, resumed)]
    assert saved(ends[0].weights) == saved(ends[1].weights)
    assert ends[0].objective == ends[1].objective


def test_refuses_an_unknown_state(tuner: BatchTuner) -> None:
    if type(tuner).restore is not Tuner.restore:
        pytest.skip("has a state")
    with pytest.raises(ValueError, match="has no state"):
        tuner.restore({"x": 1})


@pytest.mark.parametrize("case", ["nothing", "one candidate", "one sentence", "empty group"])
def test_little_to_learn_from(tuner: BatchTuner, case: str) -> None:
    pool = {
        "nothing": rows_of(make_pool(), []),
        "one candidate": rows_of(make_pool(size=1), [0]),
        "one sentence": rows_of(make_pool(), [4]),
        "empty group": with_empty_group(make_pool()),
    }[case]
    result = tuner.optimize(pool, Weights(START), task())
    check(result)
    assert corpus(pool, result.weights) >= corpus(pool, Weights(START)) - 1e-9
    assert "elsewhere" in result.weights
    if case in ("nothing", "one candidate"):
        ratio = [result.weights[name] / START[name] for name in ("good", "bad", "noise")]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)  # nothing distinguishes the features


def test_improves_with_an_empty_group(tuner: BatchTuner) -> None:
    pool, start = with_empty_group(make_pool()), Weights(START)
    result = tuner.optimize(pool, start, task()).weights
    assert corpus(pool, result) > corpus(pool, start) + 0.02


@pytest.mark.parametrize("names", [("noise", "elsewhere"), ("constant",)])
def test_fixed_features_stay(tuner: BatchTuner, names: tuple[str, ...]) -> None:
    pool, start = make_pool(), Weights(START)
    ids = {name: start._id(name) for name in names}
    result = tuner.optimize(pool, start, task(fixed=frozenset(ids.values())))
    check(result)
    for name in ids:
        assert result.weights[name] == np.float32(START[name])
    assert result.weights["good"] != np.float32(START["good"])
    assert corpus(pool, result.weights) > corpus(pool, start)


def test_everything_fixed(tuner: BatchTuner) -> None:
    pool, start = make_pool(), Weights(START)
    every = frozenset(start._id(name) for name in START)
    result = tuner.optimize(pool, start, task(fixed=every))
    check(result)
    assert dict(result.weights.items()) == dict(start.items())


def test_all_candidates_equal(tuner: BatchTuner) -> None:
    rows = 12
    candidates = from_arrays(
        np.arange(rows) // 4, np.ones((rows, 2)), bleu_rows(np.full(rows, 0.5)), ["x", "y"]
    )
    check(tuner.optimize(Pool(metric=create("bleu"), candidates=candidates), Weights(), task()))


def test_starts_from_weights_of_zero(tuner: BatchTuner) -> None:
    pool = make_pool()
    result = tuner.optimize(pool, Weights(), task())
    check(result)
    assert corpus(pool, result.weights) > corpus(pool, Weights()) + 0.02


@pytest.mark.parametrize("kind", ["sparse", "bins"])
def test_sparse_features_and_several_groups_of_a_sentence(tuner: BatchTuner, kind: str) -> None:
    pool = make_pool(sparse=30) if kind == "sparse" else make_pool(bins=True)
    start = Weights(START)
    result = tuner.optimize(pool, start, task())
    check(result)
    assert corpus(pool, result.weights) > corpus(pool, start) + 0.02


@pytest.mark.parametrize("name", ["ter", "given"])
def test_other_metrics(tuner: BatchTuner, name: str) -> None:
    pool = make_pool()
    old = pool.candidates
    assert old is not None
    quality = pool.metric.sentence_scores(old.statistics)
    metric: Metric = create("ter")
    if name == "given":
        metric = GivenScore.of(quality)
        rows = metric.rows(quality)  # type: ignore[attr-defined]
    else:
        edits = np.rint(20 * (1 - quality)).astype(np.int32)
        rows = np.stack([edits, np.full_like(edits, 20 * 840)], axis=1)
    pool = Pool(metric=metric, candidates=replace(old, statistics=rows))
    start = Weights(START)
    result = tuner.optimize(pool, start, task())
    check(result)
    assert corpus(pool, result.weights) > corpus(pool, start) + 0.02


def test_refuses_nan(tuner: BatchTuner) -> None:
    """Candidates with NaN features raise an error, so that tuners never see them."""
    with pytest.raises(InputError, match="expected a finite number"):
        tuner.optimize(
            Pool(
                metric=create("bleu"),
                candidates=from_arrays([0], [[float("nan")]], bleu_rows(np.ones(1)), ["x"]),
            ),
            Weights(),
            task(),
        )


def test_refuses_weights_that_are_nan(tuner: BatchTuner) -> None:
    start = Weights(START)
    start["noise"] = float("nan")
    with pytest.raises(InputError, match="weight of 'noise' is nan"):
        tuner.optimize(make_pool(), start, task())


def test_there_are_tuners() -> None:
    assert {"mert", "batch-mira"} <= set(BATCH)
    assert isinstance(make_pool().candidates, Candidates)


# -- online tuners --


@pytest.fixture(params=ONLINE)
def learner(request: pytest.FixtureRequest) -> OnlineTuner:
    return begun(registry.get("tuner", request.param)())


def begun(learner: OnlineTuner, metric: str = "bleu") -> OnlineTuner:
    """Return the learner after `begin` with sentences 2 to 7 of the toy set."""
    references = toy_set().references[2:8]
    learner.begin(Share(range(2, 8), references, create(metric), 30))
    return learner


def twin(learner: OnlineTuner) -> OnlineTuner:
    return begun(config.from_mapping(type(learner), config.to_mapping(learner)))


def examples(numbers: list[int], weights: Weights, decoder: ToyDecoder) -> list[Example]:
    data = toy_set()
    return [
        Example(
            n,
            decoder.forest(data.sentences[n], weights),
            data.references[n],
            decoder.forest(data.sentences[n], weights, data.references[n][0]),
        )
        for n in numbers
    ]


def learn(
    learner: OnlineTuner, weights: Weights, *, batch: int = 1, iterations: tuple[int, ...] = (0,),
    **more: Any,
) -> Weights:  # fmt: skip
    """Make passes over the share, as the loop does, and return the weights."""
    decoder = ToyDecoder(sparse=True)
    weights = Weights(weights.vector(), names=decoder.names)
    for iteration in iterations:
        for first in range(2, 8, batch):
            numbers = list(range(first, min(8, first + batch)))
            result = learner.update(
                weights, examples(numbers, weights, decoder), task(iteration=iteration, **more)
            )
            check_update(result, len(numbers))
            weights.add(result.step)
    return weights


def check_update(result: Update, most: int) -> None:
    assert np.isfinite(result.step.values).all()
    assert 0 <= result.updates <= most
    assert len(result.sentences) <= most
    for values in (*result.measures.values(), *result.texts.values()):
        assert len(values) == len(result.sentences)
    json.dumps({key: list(values) for key, values in result.measures.items()})


def test_online_learns_the_toy(learner: OnlineTuner) -> None:
    start = Weights(NEAR)
    result = learn(learner, start, iterations=tuple(range(8)))
    assert result["right"] - result["likely"] > start["right"] - start["likely"] + 0.05
    assert result["always"] == np.float32(NEAR["always"])


@pytest.mark.parametrize("batch", [1, 4])
def test_online_is_the_same_on_any_number_of_threads(learner: OnlineTuner, batch: int) -> None:
    ends = [
        saved(learn(twin(learner), Weights(NEAR), batch=batch, iterations=(0, 1), threads=n))
        for n in (1, 3)
    ]
    assert ends[0] == ends[1]


def test_online_does_not_change_weights(learner: OnlineTuner) -> None:
    weights, decoder = Weights(NEAR), ToyDecoder()
    before = saved(weights)
    result = learner.update(weights, examples([3, 4], weights, decoder), task())
    assert len(result.step) > 0
    assert saved(weights) == before


def test_online_continues_from_a_saved_state(learner: OnlineTuner) -> None:
    middle = learn(learner, Weights(NEAR), iterations=(0, 1))
    state = pickle.loads(pickle.dumps(dict(learner.state())))
    resumed = twin(learner)
    resumed.restore(state)
    ends = [saved(learn(tuner, middle, iterations=(2, 3))) for tuner in (learner, resumed)]
    assert ends[0] == ends[1]


def test_online_fixed_features_get_no_step(learner: OnlineTuner) -> None:
    weights, decoder = Weights(NEAR), ToyDecoder(sparse=True)
    fixed = frozenset(weights._id(name) for name in ("likely", "words", "word:R3"))
    result = learner.update(weights, examples([2, 3, 4], weights, decoder), task(fixed=fixed))
    assert len(result.step) > 0
    assert not fixed & set(result.step.ids.tolist())


def test_online_with_nothing_to_learn_from(learner: OnlineTuner) -> None:
    empty = Example(2, ForestBuilder().finish(), ["R1"])
    for batch in ([], [empty]):
        result = learner.update(Weights(NEAR), batch, task())
        check_update(result, len(batch))
        assert len(result.step) == result.updates == 0


@pytest.mark.parametrize("metric", ["ter", "chrf", "ter-bleu", "wer"])
def test_online_other_metrics(learner: OnlineTuner, metric: str) -> None:
    other = config.from_mapping(type(learner), config.to_mapping(learner))
    result = learn(begun(other, metric), Weights(NEAR), iterations=tuple(range(6)))
    assert result["right"] - result["likely"] > NEAR["right"] - NEAR["likely"] + 0.02


def test_there_are_online_tuners() -> None:
    assert {"mira", "rm", "violation", "maxforce"} <= set(ONLINE)
