"""Feature selection: counts and ranks by hand, both loops, resumed runs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base.weights import Weights, sparse_vector
from hopefear.forest import kbest
from hopefear.learn.batch.batch_mira import BatchMira
from hopefear.learn.loop.base import BaseLoop, TuningSet
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.mira import Mira
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.learn.pool.feature_selection import (
    FiredIn,
    fired_in,
    frequent_features,
    rare_features,
    restricted,
    strongest_by,
)
from hopefear.learn.tuner import OnlineTuner, Pool, Task, Update
from hopefear.metrics import create

pytestmark = pytest.mark.engine
Make = Callable[[RunDirectory, LoopOptions], BaseLoop]


def test_strongest_features_have_the_largest_norm() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        many = []
        for _ in range(3):
            chosen = random.choice(30, size=12, replace=False)
            values = random.integers(-3, 4, size=12) / 4
            many.append(Weights({f"f{n}": float(v) for n, v in zip(chosen, values, strict=True)}))
        keep = {many[0]._id("f0"), many[0]._id("dense")}
        squares: dict[int, float] = defaultdict(float)
        for weights in many:
            for name, value in weights.items():
                squares[weights._id(name)] += value**2
        ranked = sorted((-s, id) for id, s in squares.items() if s > 0 and id not in keep)
        ids = np.array(sorted(squares), np.uint64)
        sums = np.array([squares[id] for id in ids.tolist()])
        for k in (0, 1, 5, 100):
            wanted = {id for _, id in ranked[:k]} | keep
            assert set(strongest_by(ids, sums, k, keep).tolist()) == wanted


def test_feature_of_many_learners_beats_feature_of_one() -> None:
    many = [Weights({"shared": 0.8, "own": 1.0}), Weights({"shared": 0.8}), Weights({"shared": 0})]
    ids = np.unique(np.concatenate([weights.vector().ids for weights in many]))
    squares = np.sum([weights.table.gather(ids) ** 2 for weights in many], axis=0)
    (best,) = strongest_by(ids, squares, 1, ()).tolist()
    assert best == many[0]._id("shared"), "sqrt(1.28) > 1"
    assert math.isclose(
        restricted(many[0], np.array([best], np.uint64))["shared"], 0.8, rel_tol=1e-6
    )
    assert restricted(many[0], np.array([best], np.uint64))["own"] == 0


def vars_of(derivation: Any, decoder: ToyDecoder) -> dict[str, float]:
    vector = derivation.features
    return {
        decoder.names.name(id): value
        for id, value in zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    }


@pytest.mark.parametrize("least", [1, 2, 4, 7, 99])
def test_rare_features_of_a_pool(least: int) -> None:
    data, weights = toy_set(9), Weights(NEAR)
    decoder = ToyDecoder(sparse=True)
    builder = CandidateBuilder(create("bleu"), data.references, names=decoder.names)
    lists = []
    for number, sentence in enumerate(data.sentences):
        lists.append(kbest(decoder.forest(sentence, weights), weights, 4, distinct=True))
        builder.add(number, lists[-1])
    counts = Counter(
        name
        for best in lists
        for name in {n for d in best for n, value in vars_of(d, decoder).items() if value}
    )
    assert max(counts.values()) > min(counts.values())
    dense = {decoder.names.intern(name) for name in decoder.dense}
    wanted = {n for n, count in counts.items() if count < least and n not in decoder.dense}
    pool = Pool(create("bleu"), candidates=builder.candidates())
    assert {decoder.names.name(id) for id in rare_features(pool, least, dense)} == wanted

    fired = FiredIn(len(lists))
    for number, best in enumerate(lists):
        fired.add(number, fired_in(best[:2]))
        fired.add(number, fired_in(best))
    frequent = {decoder.names.name(id) for id in fired.frequent(least, 0, ()).tolist()}
    assert frequent == {name for name, count in counts.items() if count >= least}


def test_rare_features_of_forests() -> None:
    decoder = ToyDecoder(sparse=True)
    forests = [[decoder.forest(text, Weights(NEAR))] for text in ("1 2", "2 3", "2")]
    pool = Pool(create("bleu"), forests=forests)
    rare = {decoder.names.name(id) for id in rare_features(pool, 2, ())}
    assert rare == {f"word:{kind}{n}" for kind in "RLX" for n in (1, 3)}


def test_counts_are_restored(tmp_path: Path) -> None:
    fired, other = FiredIn(3), FiredIn(3)
    fired.add(0, np.array([5, 3], np.uint64))
    fired.add(2, np.array([3], np.uint64))
    fired.save(tmp_path / "fired.npz")
    other.load(tmp_path / "fired.npz")
    other.add(1, np.array([5], np.uint64))
    assert other.frequent(2, 0, ()).tolist() == [3, 5]
    assert other.frequent(3, 0, ()).tolist() == []


# -- in the loops --


def online(make: Callable[[], OnlineTuner], data: TuningSet, decoder: ToyDecoder) -> Make:
    return lambda place, chosen: OnlineLoop(
        make_tuner=make,
        decoder=decoder,
        metric=create("bleu"),
        data=data,
        start=Weights(NEAR),
        directory=place,
        options=chosen,
    )


def batch(data: TuningSet, decoder: ToyDecoder) -> Make:
    return lambda place, chosen: Loop(
        tuner=BatchMira(),
        decoder=decoder,
        metric=create("bleu"),
        data=data,
        start=Weights(NEAR),
        directory=place,
        options=chosen,
    )


def go(directory: Path, loop: Make, *, resume: bool = False, **options: Any) -> None:
    defaults = {"iterations": 3, "patience": 0, "tolerance": 0, "kbest": 20}
    chosen = LoopOptions(**{**defaults, **options})
    tune(loop, directory, {"tuner": {}}, chosen, resume=resume)


def templates(directory: Path, iteration: int) -> dict[str, float]:
    weights = Weights.load(directory / "iterations" / f"{iteration:02d}.tsv")
    return {name: value for name, value in weights.items() if ":" in name and value}


@dataclass(kw_only=True)
class Staircase(OnlineTuner):
    """Adds, for sentence n, n + 1 to `f:0`, …, `f:n`, with a sign of its own for each."""

    name: ClassVar[str] = "staircase"

    def update(self, weights: Weights, examples: Any, task: Task) -> Update:
        (example,) = examples
        n = example.sentence
        return Update(sparse_vector({f"f:{i}": (-1.0) ** i * (n + 1) for i in range(n + 1)}), 1)


@pytest.mark.parametrize("mixing", ["iterative", "end"])
@pytest.mark.parametrize("average", ["none", "learners", "iterations"])
def test_top_features_of_two_learners(mixing: Any, average: Any, tmp_path: Path) -> None:
    """The whole procedure, computed once more with dictionaries."""
    k, count = 3, 6
    make = lambda: Staircase(learners=2, mixing=mixing, average=average, top=k)  # noqa: E731
    decoder = ToyDecoder()
    for i in range(count):
        decoder.names.intern(f"f:{i}")
    go(tmp_path / "run", online(make, toy_set(count), decoder), iterations=2)
    order = np.random.default_rng([1]).permutation(count)
    shares = [order[number::2].tolist() for number in range(2)]
    current: list[dict[str, float]] = [{}, {}]
    seen: list[dict[str, float]] = []
    for iteration in (1, 2):
        for weights, share in zip(current, shares, strict=True):
            for n in share:
                for i in range(n + 1):
                    weights[f"f:{i}"] = weights.get(f"f:{i}", 0.0) + (-1.0) ** i * (n + 1)
        names = {name for weights in current for name in weights}
        norm = {n: math.hypot(*(w.get(n, 0.0) for w in current)) for n in names}
        stay = sorted(names, key=lambda n: (-norm[n], decoder.names.intern(n)))[:k]
        current = [{n: w[n] for n in stay if n in w} for w in current]
        mixed = {n: sum(w.get(n, 0.0) for w in current) / 2 for n in stay}
        if average == "learners":
            seen += [dict(w) for w in current]
        else:
            seen.append(dict(mixed))
        seen = [{n: v for n, v in w.items() if n in stay} for w in seen]
        if mixing == "iterative":
            current = [dict(mixed), dict(mixed)]
        wanted = mixed
        if average != "none":
            wanted = {n: sum(w.get(n, 0.0) for w in seen) / len(seen) for n in stay}
        assert templates(tmp_path / "run", iteration) == pytest.approx(wanted, rel=1e-6)
        assert len(wanted) == k
    records = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert records[1]["dropped_features"] == count - k


@pytest.mark.parametrize("average", ["updates", "none"])
def test_top_features_of_mira(average: Any, tmp_path: Path) -> None:
    for top in (0, 4):
        make = lambda top=top: Mira(learners=3, average=average, top=top)  # noqa: E731
        go(tmp_path / str(top), online(make, toy_set(12), ToyDecoder(sparse=True)))
    for iteration in (1, 2, 3):
        assert len(templates(tmp_path / "4", iteration)) <= 4
    assert len(templates(tmp_path / "0", 3)) > 8
    weights = Weights.load(tmp_path / "4" / "weights.tsv")
    assert all(weights[name] for name in ("likely", "right", "words", "odd", "always"))


# Words 7 and 8 are in one sentence each.
DATA = TuningSet(
    ["1 2 7", "2 1 3", "3 8 1", "1 2 3"],
    [["R1 R2 R7"], ["R2 R1 R3"], ["R3 R8 R1"], ["R1 R2 R3"]],
)


@pytest.mark.parametrize("kind", ["batch", "online"])
def test_rare_features_are_not_learned(kind: str, tmp_path: Path) -> None:
    for least in (1, 2, 99):
        decoder = ToyDecoder(sparse=True)
        loop = batch(DATA, decoder) if kind == "batch" else online(Mira, DATA, decoder)
        go(tmp_path / str(least), loop, min_sentences=least)
    learned = {least: set(templates(tmp_path / str(least), 3)) for least in (1, 2, 99)}
    assert any(name[-1] in "78" for name in learned[1])
    assert learned[2]
    assert not any(name[-1] in "78" for name in learned[2])
    assert not learned[99]
    weights = Weights.load(tmp_path / "99" / "iterations" / "03.tsv")
    assert weights["right"] != np.float32(NEAR["right"]), "the model's own are learned"


@pytest.mark.parametrize("kind", ["batch", "online"])
def test_the_most_frequent_features_are_learned(kind: str, tmp_path: Path) -> None:
    for most in (0, 3):
        decoder = ToyDecoder(sparse=True)
        loop = batch(DATA, decoder) if kind == "batch" else online(Mira, DATA, decoder)
        go(tmp_path / str(most), loop, most_frequent=most, iterations=1)
    every, learned = (set(templates(tmp_path / str(most), 1)) for most in (0, 3))
    assert len(every) > 3
    assert 0 < len(learned) <= 3
    assert not any(name[-1] in "78" for name in learned)
    weights = Weights.load(tmp_path / "3" / "iterations" / "01.tsv")
    assert weights["right"] != np.float32(NEAR["right"]), "the model's own are learned"


def test_frequent_features() -> None:
    ids, counts = np.array([2, 3, 5, 7, 9], np.uint64), np.array([1, 4, 2, 4, 3])
    for sentences, most, wanted in [
        (1, 0, [2, 3, 5, 7, 9]),
        (3, 0, [3, 7, 9]),
        (1, 1, [3]),
        (1, 3, [3, 7, 9]),
        (4, 3, [3, 7]),
    ]:
        assert frequent_features(ids, counts, sentences, most, ()).tolist() == wanted
    assert frequent_features(ids, counts, 1, 1, (3, 11)).tolist() == [3, 7, 11]


def test_feature_selection_limits_any_tuner(tmp_path: Path) -> None:
    loop = online(lambda: Staircase(average="none"), DATA, ToyDecoder(sparse=True))
    go(tmp_path / "run", loop, min_sentences=2, iterations=1)
    assert not templates(tmp_path / "run", 1), "these features never fire"


class Stops(Exception):  # noqa: N818
    pass


class Stopping(ToyDecoder):
    """Decodes so many sentences, then breaks off."""

    left = 0

    def answer(self, request: Any) -> Any:
        if not self.left:
            raise Stops
        self.left -= 1
        return super().answer(request)


def test_an_interrupted_run_selects_the_same(tmp_path: Path) -> None:
    make = lambda: Mira(learners=2, rate="adagrad", C=0.003, top=5)  # noqa: E731
    data, options = toy_set(10), {"min_sentences": 4, "iterations": 3}
    go(tmp_path / "whole", online(make, data, ToyDecoder(sparse=True)), **options)
    assert 0 < len(templates(tmp_path / "whole", 3)) <= 5
    stopped = 0
    for left in (3, 14, 17, 25, 27, 1000):
        decoder = Stopping(sparse=True)
        decoder.left = left
        try:
            go(tmp_path / "broken", online(make, data, decoder), resume=True, **options)
        except Stops:
            stopped += 1
    assert stopped >= 3
    for path in (tmp_path / "whole").rglob("*.tsv"):
        name = path.relative_to(tmp_path / "whole")
        assert (tmp_path / "broken" / name).read_bytes() == path.read_bytes(), name
