"""Subgradient descent: the rate, the step, the mean, the state."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hopefear.base.weights import SparseVector, Weights, sparse_vector
from hopefear.learn.online.descent import Descent, Rate

START = {"a": 1.0, "b": -2.0, "c": 0.5}


def test_rate_follows_xu() -> None:
    rate = Rate(first=0.5, decay=0.1, power=0.75)
    assert rate.at(0) == 0.5
    assert rate.at(20) == pytest.approx(0.5 * (1 + 0.1 * 0.5 * 20) ** -0.75)
    plain = Rate(first=0.5, decay=0.1, power=1.0)
    assert plain.at(20) == pytest.approx(0.25)
    assert Rate(first=0.5, decay=0.0, power=1.0).at(10**6) == 0.5


def test_steps_and_their_mean() -> None:
    """Against the same in plain numbers."""
    random = np.random.default_rng(1)
    descent = Descent(Weights(START))
    now, passed = dict(START), []
    seen: set[str] = set()
    for update in range(1, 30):
        names = ["a"] if update < 10 else ["a", "c"]
        gradient = {name: float(np.float32(random.normal())) for name in names}
        rate = 0.1 / update
        descent.step(sparse_vector(gradient), rate, 0.3)
        seen |= set(names)
        for name in seen:
            now[name] -= rate * (0.3 * now[name] + gradient.get(name, 0.0))
        passed.append(dict(now))
    assert descent.updates == 29
    last, mean = descent.result(average=False), descent.result(average=True)
    for name in START:
        assert last[name] == pytest.approx(now[name], rel=1e-5)
        assert mean[name] == pytest.approx(np.mean([one[name] for one in passed]), rel=1e-5)
    assert last["b"] == mean["b"] == -2.0  # in no subgradient: not even lambda moves it


def test_features_that_moved_first_are_named() -> None:
    descent = Descent(Weights(START))
    first = sparse_vector({"a": 1.0, "x": 1.0})
    assert descent.step(first, 0.1, 0.0).tolist() == first.ids.tolist()
    assert len(descent.step(first, 0.1, 0.0)) == 0
    assert len(descent.step(SparseVector(), 0.1, 0.0)) == 0
    assert descent.updates == 3


def test_weights_of_some_features() -> None:
    start = Weights(START)
    descent = Descent(start)
    descent.step(sparse_vector({"a": 1.0}), 0.5, 0.0)
    ids = np.sort(np.array([start._id(name) for name in ("a", "b", "unknown")], np.uint64))
    found = descent.weights(ids)
    assert (found["a"], found["b"], found["unknown"], found["c"]) == (0.5, -2.0, 0.0, 0.0)


def test_saved_state_resumes() -> None:
    one = Descent(Weights(START))
    one.step(sparse_vector({"a": 1.0, "c": 0.3}), 0.1, 0.2)
    two = Descent(Weights(START), pickle.loads(pickle.dumps(one.state())))
    for descent in (one, two):
        descent.step(sparse_vector({"b": 1.0, "c": -0.3}), 0.1, 0.2)
    for average in (True, False):
        ends = [dict(d.result(average=average).items()) for d in (one, two)]
        assert ends[0] == ends[1]
