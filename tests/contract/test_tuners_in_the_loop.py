"""Every registered tuner in its loop: it learns a toy; equal seeds give equal bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base import registry
from hopefear.base.weights import Weights
from hopefear.learn.loop.base import BaseLoop
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.lattice import LatticeLoop
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory
from hopefear.learn.loop.runs import tune
from hopefear.learn.tuner import BatchTuner, OnlineTuner
from hopefear.metrics import create

ALL = {name: registry.get("tuner", name) for name in registry.names("tuner")}
TUNERS = [name for name, cls in ALL.items() if issubclass(cls, BatchTuner)]
ONLINE = [name for name, cls in ALL.items() if issubclass(cls, OnlineTuner)]
BATCH_CASES = [(name, space) for name in TUNERS for space in ALL[name].spaces]
CASES = [*BATCH_CASES, ("lattice-svm", "decoded once"), *((name, "online") for name in ONLINE)]
# The toy starts from weights that are better forgotten.
OPTIONS: dict[str, dict[str, Any]] = {"violation": {"eta": 1.0}, "maxforce": {"eta": 1.0}}


def run(
    name: str, space: str, directory: Path, *, start: Weights | None = None, **options: Any
) -> dict[str, Any]:
    def loop(place: RunDirectory, chosen: LoopOptions) -> BaseLoop:
        cls = ALL[name]
        shared: dict[str, Any] = {
            "decoder": ToyDecoder(sparse=True),
            "metric": create("bleu"),
            "data": toy_set(20),
            "start": Weights(NEAR) if start is None else start,
            "directory": place,
            "options": chosen,
            "threads": 2,
        }
        if name in ONLINE:
            return OnlineLoop(make_tuner=lambda: cls(**OPTIONS.get(name, {})), **shared)
        if space == "decoded once":
            return LatticeLoop(tuner=cls(), **shared)
        return Loop(tuner=cls(space=space) if len(cls.spaces) > 1 else cls(), **shared)

    config = {"tuner": {"name": name, "space": space}}
    settings = LoopOptions(**{"iterations": 4, "kbest": 30, **options})
    return tune(loop, directory, config, settings)


def test_there_are_some() -> None:
    assert "mert" in TUNERS
    assert {"mira", "rm"} <= set(ONLINE)
    assert len(TUNERS) + len(ONLINE) == len(ALL)


@pytest.mark.parametrize(("name", "space"), CASES)
def test_it_learns_the_toy(name: str, space: str, tmp_path: Path) -> None:
    report = run(name, space, tmp_path / "run")
    weights = Weights.load(tmp_path / "run" / "weights.tsv")
    assert report["dev_bleu"] > 40, "the start weights have 0"
    assert weights["always"] == -1.0, "it decides nothing, and is left alone"


@pytest.mark.parametrize(("name", "space"), CASES)
def test_it_learns_from_weights_of_zero(name: str, space: str, tmp_path: Path) -> None:
    report = run(name, space, tmp_path / "run", start=Weights(dict.fromkeys(NEAR, 0.0)))
    assert report["iterations"] > 0
    assert report["dev_bleu"] > 20, "the start has 0"


@pytest.mark.parametrize(("name", "space"), CASES)
def test_the_same_seed_gives_the_same_bytes(name: str, space: str, tmp_path: Path) -> None:
    for place in ("one", "two"):
        run(name, space, tmp_path / place, iterations=2)
    one, two = (tmp_path / place / "iterations" / "02.tsv" for place in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(("name", "space"), CASES)
def test_fixed_weights_stay(name: str, space: str, tmp_path: Path) -> None:
    run(name, space, tmp_path / "run", iterations=2, fix=["likely", "odd"])
    start = Weights(NEAR)
    for path in (tmp_path / "run" / "iterations").iterdir():
        weights = Weights.load(path)
        assert (weights["likely"], weights["odd"]) == (start["likely"], start["odd"])


@pytest.mark.parametrize("name", [name for name, space in BATCH_CASES if space == "kbest"])
def test_tied_weights_are_equal(name: str, tmp_path: Path) -> None:
    run(name, "kbest", tmp_path / "run", iterations=2, tie=["words odd"])
    for path in (tmp_path / "run" / "iterations").iterdir():
        weights = Weights.load(path)
        assert weights["words"] == weights["odd"]
