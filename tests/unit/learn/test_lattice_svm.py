"""lattice-svm: updates by hand, randomness, state, memory, signature."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.forest import Forest
from hopefear.learn.online.descent import Rate
from hopefear.learn.online.lattice_svm import LatticeSvm, objective
from hopefear.learn.online.margin import LinearLoss
from hopefear.learn.tuner import Optimized, Pool, Task
from hopefear.metrics import create

pytestmark = pytest.mark.engine


def pool(sentences: int = 12, *, sparse: bool = False, empty: tuple[int, ...] = ()) -> Pool:
    data, decoder = toy_set(sentences), ToyDecoder(sparse=sparse)
    forests = [
        [Forest() if number in empty else decoder.forest(sentence, Weights(NEAR))]
        for number, sentence in enumerate(data.sentences)
    ]
    return Pool(create("bleu"), forests=forests, references=data.references)


def task(iteration: int = 0, **more: Any) -> Task:
    return Task(random=np.random.default_rng([1, iteration]), iteration=iteration, **more)


def legs(tuner: LatticeSvm, on: Pool, count: int = 3) -> list[Optimized]:
    found, weights = [], Weights(NEAR)
    for iteration in range(count):
        found.append(tuner.optimize(on, weights, task(iteration)))
        weights = found[-1].weights
    return found


def test_an_update_is_a_subgradient_step() -> None:
    """Three updates, each computed again from the loss itself."""
    on = pool()
    tuner = LatticeSvm(first=3, rate=0.05, l2=0.1, average=False, density=0)
    loss, start = LinearLoss(on.references, 4), Weights(NEAR)
    drawn = tuner.draws(np.random.default_rng([1, 0]), 12, 0)
    now, moved = dict(NEAR), set()
    for t, sentence in enumerate(drawn.tolist(), 1):
        lattice = loss.lattice(on.forests[sentence][-1], sentence, start)
        step = lattice.violation(Weights(now)).difference
        eta = Rate(0.05, 0.1, 1.0).at(t)
        moved |= {name for name in now if start._id(name) in step.ids}
        for name in moved:
            now[name] -= eta * (0.1 * now[name] + step.get(start._id(name)))
    found = tuner.optimize(on, start, task())
    assert found.notes["updates"] == 3
    assert {"right", "likely"} <= moved
    for name, value in now.items():
        assert found.weights[name] == pytest.approx(value, rel=1e-4)
    assert found.weights["always"] == -1.0
    assert dict(start.items()) == pytest.approx(NEAR)


def test_the_objective_falls() -> None:
    on = pool()
    tuner = LatticeSvm(first=200, density=0)
    loss = LinearLoss(on.references, 4)
    lattices = [loss.lattice(group[0], n, Weights(NEAR)) for n, group in enumerate(on.forests)]
    found = tuner.optimize(on, Weights(NEAR), task())
    before, after = (objective(lattices, w, tuner.l2) for w in (Weights(NEAR), found.weights))
    assert 0 <= after < before
    mean = np.mean([lattice.violation(found.weights).hinge for lattice in lattices])
    assert after == pytest.approx(mean + 0.5 * tuner.l2 * found.weights.norm() ** 2)


@pytest.mark.parametrize("average", [True, False])
def test_it_learns(average: bool) -> None:
    found = legs(LatticeSvm(average=average), pool())[-1].weights
    assert found["right"] - found["likely"] > NEAR["right"] - NEAR["likely"] + 0.05


def test_mean_is_over_all_updates() -> None:
    """Legs of one update each: their plain weights, averaged."""
    on = pool()
    plain = legs(LatticeSvm(first=1, every=1, rate=0.1, rate_power=0.75, average=False), on, 6)
    mean = legs(LatticeSvm(first=1, every=1, rate=0.1), on, 6)
    for name in NEAR:
        wanted = np.mean([one.weights[name] for one in plain])
        assert mean[-1].weights[name] == pytest.approx(wanted, abs=1e-6)


def test_it_resumes_from_a_state() -> None:
    on = pool(sparse=True)
    tuner = LatticeSvm(every=40)
    first = legs(tuner, on, 2)[-1].weights
    resumed = LatticeSvm(every=40)
    resumed.restore(pickle.loads(pickle.dumps(dict(tuner.state()))))
    ends = [one.optimize(on, first, task(2)) for one in (tuner, resumed)]
    assert dict(ends[0].weights.items()) == dict(ends[1].weights.items())
    assert ends[0].notes == ends[1].notes


def test_memory_limit_does_not_change_the_result() -> None:
    """Lattices that were dropped are made again, with the same oracles."""
    ends = [legs(LatticeSvm(memory=size), pool(sparse=True))[-1] for size in (1, 1 << 30)]
    assert dict(ends[0].weights.items()) == dict(ends[1].weights.items())


def test_new_lattices_are_used() -> None:
    on, tuner = pool(), LatticeSvm(first=20, every=20, rate=0.01)
    tuner.optimize(on, Weights(NEAR), task())
    newer = Pool(on.metric, forests=[[*g, Forest()] for g in on.forests], references=on.references)
    found = tuner.optimize(newer, Weights(NEAR), task(1))
    assert found.notes["updates"] == 20  # there is nothing in them


def test_features_get_their_names() -> None:
    found = legs(LatticeSvm(), pool(sparse=True))[-1].weights
    names = [name for name, _ in found.items()]
    assert any(name.startswith("word:R") for name in names)
    assert not any(name.startswith("id:") for name in names)


@pytest.mark.parametrize("empty", [(0, 5), tuple(range(12))])
def test_sentences_without_translation(empty: tuple[int, ...]) -> None:
    found = legs(LatticeSvm(), pool(empty=empty))[-1]
    assert all(np.isfinite(value) for _, value in found.weights.items())
    if len(empty) == 12:
        assert dict(found.weights.items()) == pytest.approx(NEAR)
        assert found.objective == 0


def test_empty_input() -> None:
    found = LatticeSvm().optimize(Pool(create("bleu"), forests=[]), Weights(NEAR), task())
    assert dict(found.weights.items()) == pytest.approx(NEAR)


def test_given_rate_is_used_otherwise_one_is_chosen() -> None:
    on = pool()
    given, tried = LatticeSvm(rate=0.25, l2=0.5), LatticeSvm()
    notes = [one.optimize(on, Weights(NEAR), task()).notes for one in (given, tried)]
    assert "|eta0:0.25|a:0.5|c:0.75|" in notes[0]["signature"]
    assert notes[0]["rate"] == pytest.approx(0.25 * (1 + 0.5 * 0.25 * 300) ** -0.75)
    assert np.log2(tried._eta) == int(np.log2(tried._eta))
    assert f"|eta0:{tried._eta:g}|" in notes[1]["signature"]
    json.dumps(notes)


def test_the_signature_has_every_constant() -> None:
    tuner = LatticeSvm(order=2, xi=[0.5, 0.25, 1], l2=0.01, average=False, rate=2.0)
    assert tuner.signature() == (
        "lattice-svm|order:2|xi:0.5,0.25,1|lambda:0.01|eta0:2|a:0.01|c:1|average:no|"
        "first:300|every:200|density:20|beam:0"
    )
    assert "|eta0:tried|" in LatticeSvm().signature()


def test_wrong_constants() -> None:
    with pytest.raises(OptionError, match="give 5 numbers"):
        LatticeSvm(xi=[1.0, 2.0])
    start = Weights(NEAR)
    start["words"] = float("nan")
    with pytest.raises(InputError, match="words = nan"):
        LatticeSvm().optimize(pool(), start, task())
    with pytest.raises(ValueError, match="learns from forests"):
        LatticeSvm().optimize(Pool(create("bleu")), Weights(), task())


@pytest.mark.parametrize("options", [{"rate": 1e30}, {"rate": 1e300}, {"l2": 1e300}])
def test_too_large_steps_are_reported(options: dict[str, float]) -> None:
    """Also where a rate is looked for: none is small enough."""
    with pytest.raises(InputError, match="updates the weights exceed single precision"):
        LatticeSvm(**options).optimize(pool(), Weights(NEAR), task())
