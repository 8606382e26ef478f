"""The violation-fixing perceptron: rules on forests by hand, its loop, prefixes, resuming."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loop_toy import NEAR, ToyDecoder, toy_set
from phrase_small import random_model

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.phrase import PhraseDecoder
from hopefear.features.feature import make_feature
from hopefear.forest import Forest, ForestBuilder, Vocabulary, intersect
from hopefear.learn.loop.base import TuningSet
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.mira import Mira
from hopefear.learn.online.search_errors import Violations, early, max_violation, standard
from hopefear.learn.online.violation import MaxForce, Violation
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task
from hopefear.metrics import create

TESTS = Path(__file__).resolve().parent.parent.parent
UPDATES = ("early", "max-violation", "standard", "local")
pytestmark = pytest.mark.engine


# -- one sentence of three words: what a beam of one kept, and what is good --


def lattice(*steps: list[tuple[str, float]]) -> Forest:
    """Bin i + 1 has one node; its edges from bin i are words with scores."""
    builder = ForestBuilder(vocabulary=Vocabulary())
    node = builder.node(covered=0)
    builder.edge(node, (), [])
    for place, options in enumerate(steps):
        after = builder.node(covered=place + 1)
        for word, score in options:
            builder.edge(after, [node], [0, word], features={"score": score})
        node = after
    return builder.finish(node)


def weights() -> Weights:
    return Weights({"score": 1.0})


def gold() -> Forest:
    return lattice([("a", 1.0)], [("b", 0.0)], [("c", 5.0)])


@pytest.mark.parametrize(
    ("beam", "bins"),
    [
        # The good one falls off in bin 1: margins 1 - 3, 1 - 3.5, 6 - 4.
        (([("x", 3.0)], [("y", 0.5)], [("z", 0.5)]), {"early": 1, "max": 2, "end": 3}),
        # It survives hidden in the same states and loses in the end: margins NaN, 1 - 4, 6 - 9.
        (
            ([("a", 1.0)], [("b", 0.0), ("y", 3.0)], [("c", 5.0), ("z", 4.0)]),
            {"early": 3, "max": 2, "end": 3},
        ),
        # It is the best of each bin, though bad ones are there, too.
        (([("a", 1.0)], [("b", 0.0), ("y", -1.0)], [("c", 5.0)]), {}),
    ],
)
def test_rules(beam: tuple[list[tuple[str, float]], ...], bins: dict[str, int]) -> None:
    found = Violations(lattice(*beam), gold(), weights())
    rules = {"early": early, "max": max_violation, "end": standard}
    chosen = {name: rule(found) for name, rule in rules.items()}
    assert {name: at.bin for name, at in chosen.items() if at is not None} == bins


def test_scores_and_pairs_of_bins() -> None:
    found = Violations(lattice([("x", 3.0)], [("y", 0.5)], [("z", 0.5)]), gold(), weights())
    assert found.good.tolist() == [0, 1, 1, 6]
    assert found.bad.tolist() == [-np.inf, 3, 3.5, 4]
    assert found.survivor.tolist() == [0, -np.inf, -np.inf, -np.inf]
    np.testing.assert_array_equal(found.margins, [np.nan, -2, -2.5, 2])
    assert found.longest == 1
    end = standard(found)
    assert end is not None
    assert not end.valid  # the good derivation has the higher score, and was lost on the way
    first, second = found.pair(2)
    assert (first.words, second.words) == (["a", "b"], ["x", "y"])
    assert found.difference(2).values.tolist() == [-2.5]
    with pytest.raises(IndexError):
        found.pair(0)


def test_dead_end_derivations_are_bad() -> None:
    """A prefix of the reference from which it cannot be completed; an end that comes too soon."""
    builder = ForestBuilder(vocabulary=Vocabulary())
    start = builder.node(covered=0)
    builder.edge(start, (), [])
    nodes = []
    for span, score in (((0, 1), 0.0), ((1, 2), 2.0)):  # 'a' from either word, good is the first
        node = builder.node(covered=1, span=span, coverage=[span[0]])
        builder.edge(node, [start], [0, "a"], features={"score": score})
        nodes.append(node)
    last = builder.node(covered=2, span=(1, 2), coverage=[0, 1])
    builder.edge(last, [nodes[0]], [0, "b"])
    builder.edge(last, [nodes[1]], [0], features={"score": 1.0})
    beam = builder.finish(last)
    found = Violations(beam, intersect(beam, "a b").forest, weights())
    assert found.good.tolist() == [0, 0, 0]
    assert found.bad.tolist() == [-np.inf, 2, 3]
    assert found.survivor.tolist() == [0, 0, 0]


def test_chart_decoder_has_no_bins() -> None:
    builder = ForestBuilder(vocabulary=Vocabulary())
    parts = [builder.node(covered=1) for _ in range(2)]
    for part in parts:
        builder.edge(part, (), ["a"])
    top = builder.node(covered=2)
    builder.edge(top, parts, [0, 1])
    chart = builder.finish(top)
    with pytest.raises(ValueError, match="left-to-right search"):
        Violations(chart, gold(), weights())


# -- the tuner --


def begun(learner: Violation) -> Violation:
    learner.begin(Share([0], [["a b c"]], create("bleu"), 50))
    return learner


def test_steps_are_means_over_the_minibatch() -> None:
    wrong = Example(0, lattice([("x", 3.0)], [("y", 0.5)], [("z", 0.5)]), ["a b c"], gold())
    right = Example(1, gold(), ["a b c"], gold())
    learner = begun(Violation(eta=2.0))
    found = learner.update(weights(), [wrong, right, wrong, right], Task(np.random.default_rng(1)))
    assert found.updates == 2
    assert found.step.values.tolist() == [2.0 * (2 * -2.5) / 4]
    assert found.measures["violation"] == [2.5, 0, 2.5, 0]
    assert found.counts["updates_by_tenth"].tolist() == [0] * 6 + [2] + [0] * 3
    assert (found.counts["mistakes"], found.counts["invalid"]) == (2, 0)


def test_dense_features_have_rates_and_sparse_ones_share_one() -> None:
    """AdaGrad's steps are g / sqrt(SUM g^2), that of others are `sparse_rate` g; times eta."""
    wrong = Example(0, lattice([("x", 3.0)], [("y", 0.5)], [("z", 0.5)]), ["a b c"], gold())
    score = FeatureNames().intern("score")
    for dense, steps in ((frozenset({score}), (1.0, 0.5**0.5)), (frozenset(), (0.25, 0.25))):
        learner = MaxForce(eta=2.0, rate="adagrad", sparse_rate=0.1)
        learner.begin(Share([0], [["a b c"]], create("bleu"), 50, dense=dense))
        for step in steps:
            found = learner.update(weights(), [wrong], Task(np.random.default_rng(1)))
            assert found.step.values.tolist() == pytest.approx([-2.0 * step])


def test_loop_passes_the_dense_features(tmp_path: Path) -> None:
    """Without a rate the others stay."""
    make = lambda: MaxForce(eta=1.0, rate="adagrad", sparse_rate=0.0)  # noqa: E731
    run(tmp_path / "run", make)
    moved = Weights.load(tmp_path / "run" / "weights.tsv")
    assert moved["right"] != NEAR["right"]
    assert not any(value for name, value in moved.items() if name.startswith("word:"))


def test_first_step_is_small_beside_the_start_weights() -> None:
    """Scores differ by tens, dense weights are below 1: a step is no multiple of them."""
    far = lattice([("x", 30.0)], [("y", 0.0)], [("z", 0.0)])
    example = Example(0, far, ["a b c"], gold())
    found = begun(MaxForce()).update(weights(), [example], Task(np.random.default_rng(1)))
    assert found.updates == 1
    assert -0.5 < found.step.values[0] < 0, "of a weight of 1"


def test_invalid_updates_are_counted() -> None:
    """Good ones outscore what is left in every bin: pruning was wrong, not the weights."""
    lost = Example(0, lattice([("x", 0.5)], [("y", 0.0)], [("z", 0.5)]), ["a b c"], gold())
    for update, made in (("max-violation", 0), ("standard", 1), ("early", 1)):
        learner = begun(Violation(update_=update))  # type: ignore[arg-type]
        found = learner.update(weights(), [lost], Task(np.random.default_rng(1)))
        assert (found.updates, found.counts["invalid"]) == (made, 1)
        assert found.measures["violation"][0] < 0
        assert found.measures["loss"] == [0]


def test_early_waits_for_the_longest_phrase() -> None:
    """Bin 1 may be jumped over by a good phrase of two words; only then the search is lost."""

    def forest(*edges: tuple[int, int, str, float]) -> Forest:
        builder = ForestBuilder(vocabulary=Vocabulary())
        nodes = [builder.node(covered=i) for i in range(4)]
        builder.edge(nodes[0], (), [])
        for begin, end, words, score in sorted(edges, key=lambda edge: edge[1]):
            tail = [nodes[begin]]
            builder.edge(nodes[end], tail, [0, *words.split()], features={"score": score})
        return builder.finish(nodes[3])

    good = forest((0, 1, "a", 0), (1, 2, "b", 0), (0, 2, "a b", 0), (2, 3, "c", 0))
    beam = forest((0, 1, "x", 1), (0, 2, "a b", 0), (1, 2, "y", 1), (2, 3, "c", 0))
    found = Violations(beam, good, weights())
    assert found.longest == 2
    assert early(found, 1) == (1, -1)
    assert early(found) == (3, -2)  # good ones got through and lost


# -- in the loop --


def run(
    directory: Path,
    make: Callable[[], OnlineTuner] = MaxForce,
    *,
    training: TuningSet | None = None,
    training_options: TrainingOptions | None = None,
    threads: int = 1,
    tell: Callable[[str], None] = lambda text: None,
    decoder: Any = None,
    **options: Any,
) -> dict[str, Any]:
    def loop(place: RunDirectory, chosen: LoopOptions) -> OnlineLoop:
        return OnlineLoop(
            make_tuner=make,
            decoder=ToyDecoder(sparse=True) if decoder is None else decoder(),
            metric=create("bleu"),
            data=toy_set(12),
            training=training,
            training_options=training_options,
            start=Weights(NEAR),
            directory=place,
            options=chosen,
            threads=threads,
            tell=tell,
        )

    defaults = {"iterations": 3, "patience": 0, "tolerance": 0}
    return tune(loop, directory, {"tuner": {}}, LoopOptions(**{**defaults, **options}))


@pytest.mark.parametrize("update", UPDATES)
def test_every_update_learns_the_toy(update: Any, tmp_path: Path) -> None:
    make = lambda: Violation(update_=update, minibatch=4, eta=1.0)  # noqa: E731
    report = run(tmp_path / "run", make, training=toy_set(30, seed=4), iterations=5)
    assert report["dev_bleu"] > 60, "the start weights have 0"


def test_record_of_an_iteration(tmp_path: Path) -> None:
    messages: list[str] = []
    bitext = toy_set(30, seed=4)
    references = [list(texts) for texts in bitext.references]
    references[3] = ["R9 R9"]  # nobody derives this
    references[4] = [references[4][0] + " Z"]  # nor this, but for the last word
    training = TuningSet(bitext.sentences, references)
    options = TrainingOptions(prefixes=2)
    run(tmp_path / "run", training=training, training_options=options, tell=messages.append)
    words = [len(sentence.split()) for sentence in bitext.sentences]
    assert messages[0] == (
        f"learns from 29 of 30 sentence pairs, {sum(words) - words[3]} of {sum(words)} source "
        "words; 1 are prefixes"
    )
    first, *others = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert "invalid" not in first
    for record in others:
        assert record["updates"] + record["invalid"] == record["mistakes"] <= 29
        assert sum(record["updates_by_tenth"]) == record["updates"]
        assert record["violation"] >= 0
        assert record["objective"] == -record["loss"]
    assert others[0]["updates"] > 0
    assert not (tmp_path / "run" / "checkpoint" / "pool").exists(), "it is finished"


def test_a_sample_of_the_pairs(tmp_path: Path) -> None:
    messages: list[str] = []
    run(tmp_path / "run", training_options=TrainingOptions(max_examples=5), tell=messages.append)
    assert messages[0].startswith("learns from 5 of 5 sentence pairs")
    make = lambda: Mira(learners=6)  # noqa: E731
    with pytest.raises(OptionError, match="learners: 6 for 5 sentences"):
        run(tmp_path / "mira", make, training_options=TrainingOptions(max_examples=5))


def test_other_online_tuners_learn_from_a_bitext_too(tmp_path: Path) -> None:
    report = run(tmp_path / "run", Mira, training=toy_set(20, seed=4))
    assert report["dev_bleu"] > 40
    record = read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]
    assert record["away_score"] <= record["best_score"] <= record["towards_score"]


def test_learned_features_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those, and the weights are the same as if all were."""
    templates = tuple(make_feature(name) for name in ("rule-id", "target-bigrams", "word-pairs"))
    model = random_model(4, templates=templates)
    decoders: list[PhraseDecoder] = []

    def decoder() -> PhraseDecoder:
        decoders.append(model.decoder())
        return decoders[-1]

    sentences = ["d e f", "u neu f d e d", "e d", "f u"]
    training = TuningSet(sentences, [["a b a"], ["b c"], ["c a"], ["a"]])

    def learned(name: str) -> list[tuple[str, float]]:
        run(tmp_path / name, lambda: Mira(C=0.1), training=training, decoder=decoder)
        return list(Weights.load(tmp_path / name / "iterations" / "03.tsv").items())

    ours = learned("later")
    assert sum(":" in name for name, _ in ours) > 3
    assert not any(name.startswith("id:") for name, _ in ours)
    monkeypatch.setattr(Mira, "names_later", False)
    assert learned("all") == ours
    later, at_once = (len(decoder.names) for decoder in decoders)
    assert later < at_once


@pytest.mark.parametrize("minibatch", [1, 7, 24])
def test_threads_do_not_change_the_result(minibatch: int, tmp_path: Path) -> None:
    for threads in (1, 3):
        make = lambda: MaxForce(minibatch=minibatch)  # noqa: E731
        run(tmp_path / str(threads), make, threads=threads, training=toy_set(30, seed=4))
    one, other = (tmp_path / name / "iterations" / "03.tsv" for name in "13")
    assert one.read_bytes() == other.read_bytes()


class NoForce(ToyDecoder):
    """A decoder of another kind."""

    can = frozenset()


@pytest.mark.parametrize(
    ("make", "more", "error", "message"),
    [
        (lambda: Violation(update_="standard", phrase_limit=3), {}, OptionError, "applies to upda"),
        (lambda: Violation(update_="local", future=True), {}, OptionError, "future: update local"),
        (lambda: MaxForce(sparse_rate=0.1), {}, OptionError, "applies to rate adagrad"),
        (MaxForce, {"decoder": NoForce}, OptionError, "needs forced decoding of sentence pairs"),
        (Mira, {"training_options": TrainingOptions(prefixes=5)}, OptionError, "--prefixes: mira"),
        (
            Mira,
            {"training_options": TrainingOptions(max_states=5)},
            OptionError,
            "--max-states: mira does not use forced decoding",
        ),
        (
            MaxForce,
            {"training": TuningSet(["1 2"], [["nobody says this"]])},
            InputError,
            "none of 1 sentence pairs has a derivation",
        ),
        (lambda: MaxForce(learners=13), {}, OptionError, "learners: 13 for 12 sentences"),
    ],
)
def test_refusals(make: Any, more: Any, error: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        run(tmp_path / "run", make, **more)


SCRIPT = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from loop_toy import NEAR, ToyDecoder, toy_set
from hopefear.metrics import create
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.violation import MaxForce
from hopefear.base.weights import Weights

class Slow(ToyDecoder):
    def answer(self, request):
        time.sleep(0.001)
        return super().answer(request)

def loop(directory, options):
    return OnlineLoop(decoder=Slow(sparse=True), make_tuner=lambda: MaxForce(minibatch=5),
                      metric=create("bleu"), data=toy_set(20), training=toy_set(40, seed=4),
                      training_options=TrainingOptions(max_examples=30), start=Weights(NEAR),
                      directory=directory, options=options, threads=2)

if float(sys.argv[3]) > 0:
    threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGKILL)).start()
options = LoopOptions(iterations=5, patience=0, tolerance=0)
tune(loop, Path(sys.argv[2]), {"tuner": {"name": "maxforce"}}, options, resume=True)
"""


def test_killed_runs_end_with_the_same_bytes(tmp_path: Path) -> None:
    def go(directory: Path, seconds: float) -> int:
        words = [str(TESTS), str(directory), str(seconds)]
        return subprocess.run([sys.executable, "-c", SCRIPT, *words], timeout=60).returncode

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert go(whole, 0) == 0
    chance = random.Random(3)
    codes = [go(broken, chance.uniform(0.02, 0.2)) for _ in range(5)]
    assert -signal.SIGKILL in codes
    assert go(broken, 0) == 0
    names = [path.relative_to(whole) for path in whole.rglob("*.tsv")]
    assert len(names) == 7
    for name in names:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
