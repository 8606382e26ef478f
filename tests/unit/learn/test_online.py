"""The loop of online tuners: learners, mixing, averages, threads, resuming, records."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights, sparse_vector
from hopefear.forest import kbest
from hopefear.learn.loop.judge import TuningSet, by_chance
from hopefear.learn.loop.online import OnlineLoop, active_by_template
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.mira import Mira, Rm
from hopefear.learn.tuner import Example, OnlineTuner, Share, Task, Update
from hopefear.metrics import create

TESTS = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.engine


def run(
    directory: Path,
    make: Callable[[], OnlineTuner] = Mira,
    *,
    data: TuningSet | None = None,
    metric: str = "bleu",
    threads: int = 1,
    start: dict[str, float] | None = None,
    tell: Callable[[str], None] = lambda text: None,
    sparse: bool = True,
    **options: Any,
) -> dict[str, Any]:
    def loop(place: RunDirectory, chosen: LoopOptions) -> OnlineLoop:
        return OnlineLoop(
            make_tuner=make,
            decoder=ToyDecoder(sparse=sparse),
            metric=create(metric),
            data=data or toy_set(12),
            start=Weights(start or NEAR),
            directory=place,
            options=chosen,
            threads=threads,
            tell=tell,
        )

    defaults = {"iterations": 3, "patience": 0, "tolerance": 0, "kbest": 30}
    return tune(loop, directory, {"tuner": {}}, LoopOptions(**{**defaults, **options}))


def weights_of(directory: Path, iteration: int) -> bytes:
    return (directory / "iterations" / f"{iteration:02d}.tsv").read_bytes()


@dataclass(kw_only=True)
class Adder(OnlineTuner):
    """Adds 1 to `words` at each sentence; every learner remembers its share."""

    name: ClassVar[str] = "adder"
    seen: list[int] = field(default_factory=list)

    def begin(self, share: Share) -> None:
        self.share = share

    def update(self, weights: Weights, examples: Any, task: Task) -> Update:
        assert {example.sentence for example in examples} <= set(self.share.sentences)
        self.seen += [example.sentence for example in examples]
        return Update(sparse_vector({"words": 1.0}), len(examples))


def words(directory: Path, iteration: int) -> float:
    return Weights.load(directory / "iterations" / f"{iteration:02d}.tsv")["words"]


@dataclass(kw_only=True)
class Counter(Adder):
    """Counts the sentences and source words of its passes."""

    name: ClassVar[str] = "counter"
    total: int = 0
    others: list[int] = field(default_factory=list)

    def update(self, weights: Weights, examples: Any, task: Task) -> Update:
        self.total += len(examples)
        return super().update(weights, examples, task)

    def recorded(self) -> list[Any]:
        return [np.array([self.total, 1])]

    def receive(self, others: Any) -> None:
        assert others[0][1] == self.learners - 1
        self.others.append(int(others[0][0]))


def test_learners_exchange_sums_after_each_pass(tmp_path: Path) -> None:
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter(learners=3))
        return made[-1]

    data = toy_set(7)
    run(tmp_path / "run", make, data=data, start=START, iterations=3)
    words_in = [len(str(sentence).split()) for sentence in data.sentences]
    for one in made[1:]:  # the first one has only options
        count = 7 - len(one.share.sentences)
        assert one.others == [count, 2 * count]
        own = [words_in[number] for number in one.share.sentences]
        assert list(one.share.source_lengths) == own
        assert one.share.elsewhere == (count, sum(words_in) - sum(own))


START = {"words": 0.0, "likely": 1.0}


@pytest.mark.parametrize(
    ("learners", "mixing", "average", "wanted"),
    [
        (1, "iterative", "none", [5, 10]),
        # After the five sentences of a pass the weights were 1 2 3 4 5.
        (1, "iterative", "updates", [3, 5.5]),
        (1, "iterative", "iterations", [5, 7.5]),
        (1, "iterative", "learners", [5, 7.5]),
        # Shares of 3 and 2: 3 * 3/5 + 2 * 2/5 = 2.6
        (2, "iterative", "none", [2.6, 5.2]),
        (2, "iterative", "updates", [(1 + 2 + 3 + 1 + 2) / 5, (9 + 9 + 5 * 2.6) / 10]),
        (2, "iterative", "iterations", [2.6, 3.9]),
        (2, "iterative", "learners", [2.5, (3 + 2 + 5.6 + 4.6) / 4]),
        (2, "end", "none", [2.6, (6 * 3 + 4 * 2) / 5]),
        (2, "end", "learners", [2.5, (3 + 2 + 6 + 4) / 4]),
    ],
)
def test_mixing_and_averages(
    learners: int, mixing: Any, average: Any, wanted: list[float], tmp_path: Path
) -> None:
    made: list[Adder] = []

    def make() -> Adder:
        made.append(Adder(learners=learners, mixing=mixing, average=average))
        return made[-1]

    run(tmp_path / "run", make, data=toy_set(5), start=START, iterations=2)
    found = [words(tmp_path / "run", 1), words(tmp_path / "run", 2)]
    assert found == pytest.approx(wanted, rel=1e-6)
    shares = [set(one.share.sentences) for one in made[1:]]  # the first one has only options
    assert sorted(number for share in shares for number in share) == list(range(5))
    for one in made[1:]:
        half = len(one.seen) // 2
        assert set(one.seen[:half]) == set(one.seen[half:]) == set(one.share.sentences)


def test_minibatches(tmp_path: Path) -> None:
    sizes: list[int] = []

    class Sizes(Adder):
        def update(self, weights: Weights, examples: Any, task: Task) -> Update:
            sizes.append(len(examples))
            return super().update(weights, examples, task)

    data = toy_set(7)
    data = TuningSet([*data.sentences[:-1], ""], data.references)  # an empty line is passed over
    make = lambda: Sizes(minibatch=3, average="none")  # noqa: E731
    run(tmp_path / "run", make, data=data, start=START, iterations=1)
    assert sum(sizes) == 6
    assert max(sizes) == 3
    assert words(tmp_path / "run", 1) == len(sizes)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"space": "forest"},
        {"learners": 5},
        {"learners": 3, "mixing": "end", "average": "learners"},
        {"minibatch": 4, "step": "cutting-plane", "rate": "adagrad", "C": 0.001},
        {"step": "rm-cp", "rate": "arow"},
    ],
    ids=str,
)
def test_threads_do_not_change_the_result(options: dict[str, Any], tmp_path: Path) -> None:
    for threads in (1, 3):
        run(tmp_path / str(threads), lambda: Mira(**options), threads=threads, iterations=2)
    assert weights_of(tmp_path / "1", 2) == weights_of(tmp_path / "3", 2)
    records = [read_metrics(tmp_path / name / "metrics.jsonl") for name in "13"]
    for one, other in zip(*records, strict=True):
        assert {k: v for k, v in one.items() if "seconds" not in k} == {
            k: v for k, v in other.items() if "seconds" not in k
        }


CASES = [
    {"step": step, "rate": rate}
    for step in ("perceptron", "pa", "kbest", "cutting-plane", "rm-pa", "rm-cp")
    for rate in ("fixed", "adagrad", "arow")
]
PAIRS = [
    {"towards": towards, "away": away, "space": space}
    for towards in ("hope", "local", "max-bleu", "model-best")
    for away in ("fear", "max-cost", "model-best")
    for space in ("kbest", "forest")
    if (towards, away) != ("model-best", "model-best")
]


@pytest.mark.parametrize("options", CASES, ids=lambda case: "-".join(case.values()))
def test_every_step_with_every_rate_learns_the_toy(options: Any, tmp_path: Path) -> None:
    report = run(tmp_path / "run", lambda: Mira(**options), data=toy_set(20), iterations=4)
    assert report["dev_bleu"] > 40, "the start weights have 0"
    weights = Weights.load(tmp_path / "run" / "weights.tsv")
    assert weights["always"] == -1.0, "it decides nothing, and is left alone"


@pytest.mark.parametrize("options", PAIRS, ids=lambda case: "-".join(case.values()))
def test_every_selection_works_with_every_step(options: Any, tmp_path: Path) -> None:
    more = {"oracle_kbest": 60} if options["towards"] == "max-bleu" else {}
    more = more if options["space"] == "kbest" else {}
    report = run(tmp_path / "run", lambda: Mira(**options, **more), iterations=3)
    assert report["dev_bleu"] >= 0
    records = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert any(record.get("updates") for record in records)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("ter", {}),
        ("chrf", {}),
        ("ter-bleu", {}),
        ("bleu", {"cost": ["bleu+1"]}),
        ("bleu", {"cost": ["bleu-context", "ter"], "cost_weights": [0.7, 0.3]}),
        ("bleu", {"cost": ["bleu-context"], "cost_options": ["bleu-context.context=document"]}),
        ("bleu", {"cost": ["bleu+1"], "space": "forest"}),
    ],
    ids=str,
)
def test_costs(metric: str, options: Any, tmp_path: Path) -> None:
    messages: list[str] = []
    report = run(tmp_path / "run", lambda: Mira(**options), metric=metric, tell=messages.append)
    assert report["dev_bleu"] > 20
    (cost,) = (text for text in messages if text.startswith("cost 10 * ("))
    for name in options.get("cost", [metric if metric != "bleu" else "bleu-context"]):
        assert name in cost


def test_record_of_an_iteration(tmp_path: Path) -> None:
    run(tmp_path / "run", lambda: Mira(learners=2))
    first, *others = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert "spread" not in first
    for record in others:
        assert record["away_score"] <= record["best_score"] <= record["towards_score"]
        assert record["spread"] > 0
        assert record["spread_deviation"] > 0
        assert record["loss"] >= 0
        assert 0 <= record["updates"] <= 12
        assert record["optimise_seconds"] >= 0
    assert others[-1]["active_by_template"]["dense"] == 5
    assert others[-1]["active_by_template"]["word"] > 1


def test_spread_is_from_the_learned_to_the_worst_hypothesis() -> None:
    decoder, weights = ToyDecoder(), Weights(NEAR)
    learner = Mira(towards="local")
    learner.begin(Share([0], [["R1 R2"]], create("bleu"), 30))
    example = Example(0, decoder.forest("1 2", weights), ["R1 R2"])
    scores = {one.text: one.score for one in kbest(example.forest, weights, 30, distinct=True)}
    found = learner.update(weights, [example], Task(np.random.default_rng(1)))
    (text,) = found.texts["towards"]
    assert found.measures["spread"] == [pytest.approx(scores[text] - min(scores.values()))]
    assert scores[text] < max(scores.values()), "another one than the model's best"


@pytest.mark.parametrize("step", ["rm-pa", "rm-cp"])
def test_the_spread_is_bounded_among_equally_translated_hypotheses(step: Any) -> None:
    """With C = 0 the bound alone moves weights; `words` is taken for the untranslated ones."""
    decoder, weights = ToyDecoder(), Weights(NEAR)
    example = Example(0, decoder.forest("1 2", weights), ["R1 R2"])
    moved = []
    for names in ([], ["words"]):
        learner = Rm(towards="model-best", step=step, C=0, B=0, D=1)
        untranslated = frozenset(decoder.names.intern(name) for name in names)
        learner.begin(Share([0], [["R1 R2"]], create("bleu"), 30, untranslated=untranslated))
        found = learner.update(weights, [example], Task(np.random.default_rng(1)))
        moved.append({decoder.names.name(int(id)) for id in found.step.ids})
    assert "words" in moved[0] - moved[1]
    assert moved[1]


def test_large_fixed_weights_do_not_end_a_run(tmp_path: Path) -> None:
    """`always` fires in all translations, as unknown words do."""
    for name, value in (("short", -1.0), ("long", -1e5)):
        run(tmp_path / name, start={**NEAR, "always": value}, iterations=2)
    short, long = (read_metrics(tmp_path / n / "metrics.jsonl") for n in ("short", "long"))
    assert len(long) == 3
    for one, other in zip(short[1:], long[1:], strict=True):
        assert one["change"] == pytest.approx(other["change"], rel=1e-3)


@pytest.mark.parametrize(
    ("average", "scores", "wanted"),
    [
        ("updates", [40.0, 39.0, 38.0], 2),  # by chance
        ("updates", [40.0, 39.0, 20.0], 0),
        ("updates", [30.0, 44.0, 20.0], 1),
        ("iterations", [40.0, 39.0, 38.0], 2),
        ("none", [40.0, 38.0, 39.0], 0),
    ],
)
def test_choice_of_the_iteration(
    average: Any, scores: list[float], wanted: int, tmp_path: Path
) -> None:
    left = iter(scores)

    class Graded(OnlineLoop):
        def _decode(self) -> None:
            super()._decode()
            self.records[-1]["score"] = next(left)

    def loop(place: RunDirectory, options: LoopOptions) -> OnlineLoop:
        return Graded(
            make_tuner=lambda: Adder(average=average),
            decoder=ToyDecoder(),
            metric=create("bleu"),
            data=toy_set(12),
            start=Weights(START),
            directory=place,
            options=options,
        )

    options = LoopOptions(iterations=2, patience=0, tolerance=0)
    report = tune(loop, tmp_path / "run", {"tuner": {}}, options)
    assert report["best_iteration"] == wanted
    chosen = (tmp_path / "run" / "weights.tsv").read_bytes()
    assert chosen == weights_of(tmp_path / "run", wanted)


def test_chance_shrinks_with_the_root_of_the_set_size() -> None:
    assert by_chance(100) == 1.5
    assert by_chance(10_000) == 0.15


def test_relative_margin_bounds_the_spread(tmp_path: Path) -> None:
    wide = {name: 20.0 * value for name, value in NEAR.items()}
    for name, make in (("mira", Mira), ("rm", lambda: Rm(B=0.5, D=0.1))):
        run(tmp_path / name, make, start=wide, sparse=False)
    spreads = [read_metrics(tmp_path / n / "metrics.jsonl")[-1]["spread"] for n in ("mira", "rm")]
    assert spreads[1] < 0.7 * spreads[0]


def test_fixed_weights_stay(tmp_path: Path) -> None:
    run(tmp_path / "run", lambda: Mira(learners=3, rate="adagrad"), fix=["likely", "odd"])
    for path in (tmp_path / "run" / "iterations").iterdir():
        weights = Weights.load(path)
        for name in ("likely", "odd"):
            assert weights[name] == np.float32(NEAR[name])


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda: Mira(learners=99), {}, "learners: 99 for 12 sentences"),
        (Mira, {"tie": ["words odd"]}, "--tie: mira cannot tie"),
        (Mira, {"keep_pool": True}, "--keep-pool: mira has no pool"),
        (lambda: Mira(towards="model-best", away="model-best"), {}, "both are the model's best"),
        (lambda: Mira(B=2.0), {}, "B: applies to step rm-pa or rm-cp"),
        (lambda: Mira(arow_r=2.0), {}, "arow_r: applies to rate arow"),
        (lambda: Mira(rate="adagrad", adagrad_lambda=0.0), {}, "adagrad_lambda: 0 is out of"),
        (lambda: Mira(beam=5), {}, "beam: applies to space forest"),
        (lambda: Mira(cost_weights=[1.0]), {}, "set 'cost' too"),
        (lambda: Mira(cost=["ter"], cost_weights=[1.0, 2.0]), {}, "cost_weights: 2 for 1"),
        (lambda: Mira(cost=["tre"]), {}, "unknown metric 'tre'"),
        (lambda: Mira(cost=["ter"], cost_options=["bleu.order=2"]), {}, "PART.KEY=VALUE"),
        (
            lambda: Mira(cost=["ter"], space="forest"),
            {},
            "supports a single cost that can be searched",
        ),
    ],
)
def test_refusals(make: Any, options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        run(tmp_path / "run", make, **options)


def test_a_sentence_without_translation(tmp_path: Path) -> None:
    """Its forest is empty: nothing is learned from it, nothing breaks."""
    decoder = ToyDecoder()
    learner = Mira()
    learner.begin(Share([0, 1], [["R1"], ["R2"]], create("bleu"), 10))
    from hopefear.forest import ForestBuilder

    examples = [
        Example(0, ForestBuilder(names=decoder.names).finish(), ["R1"]),
        Example(1, decoder.forest("2", Weights(NEAR)), ["R2"]),
    ]
    found = learner.update(Weights(NEAR), examples, Task(np.random.default_rng(1)))
    assert list(found.sentences) == [1]
    assert len(found.step) > 0
    none = learner.update(Weights(NEAR), examples[:1], Task(np.random.default_rng(1)))
    assert len(none.step) == none.updates == 0


def test_templates_are_counted() -> None:
    weights = Weights({"lm": 1.0, "t:a": 1.0, "t:b": 2.0, "u:c": 0.0, "v:d": 1.0})
    assert active_by_template(weights, ["lm"]) == {"dense": 1, "t": 2, "v": 1}


SCRIPT = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from loop_toy import NEAR, ToyDecoder, toy_set
from hopefear.metrics import create
from hopefear.learn.online.mira import Mira
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.runs import tune
from hopefear.base.weights import Weights

class Slow(ToyDecoder):
    def answer(self, request):
        time.sleep(0.001)
        return super().answer(request)

def loop(directory, options):
    make = lambda: Mira(learners=3, rate="adagrad", C=0.003, mixing=sys.argv[4])
    return OnlineLoop(decoder=Slow(sparse=True), make_tuner=make, metric=create("bleu"),
                      data=toy_set(20), start=Weights(NEAR), directory=directory,
                      options=options, threads=2)

if float(sys.argv[3]) > 0:
    threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGKILL)).start()
options = LoopOptions(iterations=5, patience=0, tolerance=0, kbest=20, average_last=3)
tune(loop, Path(sys.argv[2]), {"tuner": {"name": "mira"}}, options, resume=True)
"""


@pytest.mark.parametrize("mixing", ["iterative", "end"])
def test_killed_runs_end_with_the_same_bytes(mixing: str, tmp_path: Path) -> None:
    def go(directory: Path, seconds: float) -> int:
        words = [str(TESTS), str(directory), str(seconds), mixing]
        return subprocess.run([sys.executable, "-c", SCRIPT, *words], timeout=60).returncode

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert go(whole, 0) == 0
    chance = random.Random(3)
    codes = [go(broken, chance.uniform(0.05, 0.3)) for _ in range(4)]
    assert -signal.SIGKILL in codes
    assert go(broken, 0) == 0
    names = [path.relative_to(whole) for path in whole.rglob("*.tsv")]
    assert len(names) == 8  # the mean of the last ones too
    for name in names:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    one, two = (read_metrics(place / "metrics.jsonl") for place in (whole, broken))
    for a, b in zip(one, two, strict=True):
        assert [(k, v) for k, v in a.items() if "seconds" not in k] == [
            (k, v) for k, v in b.items() if "seconds" not in k
        ]
