"""The loop of batch tuners: records, stopping, the chosen weights, and seeds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loop_toy import Climber, ToyDecoder, start_weights, toy_set
from phrase_small import random_model, random_weights

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.feature import make_feature
from hopefear.forest import viterbi
from hopefear.learn.batch.mert import Mert
from hopefear.learn.loop.base import _change
from hopefear.learn.loop.batch import Loop, TuningSet, without_rise
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task
from hopefear.metrics import create

Make = Callable[..., tuple[dict[str, Any], Path]]


@pytest.fixture
def run(tmp_path: Path) -> Make:
    """Runs the toy; returns the report and the directory."""

    def make(
        name: str = "run",
        *,
        tuner: BatchTuner | None = None,
        decoder: ToyDecoder | None = None,
        metric: str = "bleu",
        data: TuningSet | None = None,
        heldout: TuningSet | None = None,
        start: Weights | None = None,
        threads: int = 1,
        runs: int = 1,
        resume: bool = False,
        warn: Callable[[str], None] = lambda text: None,
        **options: Any,
    ) -> tuple[dict[str, Any], Path]:
        def loop(directory: RunDirectory, chosen: LoopOptions) -> Loop:
            return Loop(
                decoder=decoder or ToyDecoder(),
                tuner=tuner or Climber(),
                metric=create(metric),
                data=data or toy_set(),
                start=start or start_weights(),
                directory=directory,
                options=chosen,
                heldout=heldout,
                threads=threads,
                warn=warn,
            )

        settings = LoopOptions(**{"iterations": 4, "patience": 0, "kbest": 6, **options})
        directory = tmp_path / name
        config = {"tuner": {"name": "climber"}}
        return tune(loop, directory, config, settings, runs=runs, resume=resume), directory

    return make


@dataclass(kw_only=True)
class Scripted(BatchTuner):
    """Gives the weights it was told, one after the other."""

    name: ClassVar[str] = "scripted"

    answers: list[dict[str, float]]
    objective: float = 0.5

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        new = weights.copy()
        new.update(self.answers[task.iteration])
        return Optimized(new, self.objective)


GOOD = {"right": 5.0, "likely": 0.1, "words": -1.0}
BAD = {"right": -5.0, "likely": 1.0}
WORSE = {"right": -5.0, "likely": -1.0, "words": 3.0}


def test_length_nearest_to_the_references_is_best(run: Make) -> None:
    """Not the longest: a ratio has its best value in the middle of what there is."""
    both = {"likely": -1.0, "right": -2.0, "words": 5.0}  # two words for each
    one = {"likely": 1.0, "right": 2.0, "words": -5.0}
    report, directory = run(
        tuner=Scripted(answers=[both, one]), metric="length", iterations=2, tolerance=0
    )
    ratios = [record["score"] for record in read_metrics(directory / "metrics.jsonl")]
    assert ratios[1] > 1.5
    assert ratios[2] == 1.0
    assert report["best_iteration"] == ratios.index(1.0)


def test_it_learns_and_reports_its_steps(run: Make) -> None:
    report, directory = run()
    records = read_metrics(directory / "metrics.jsonl")
    assert [record["iteration"] for record in records] == list(range(len(records)))
    assert records[0]["score"] < 20 < report["dev_bleu"]
    best = records[report["best_iteration"]]
    assert best["score"] == max(record["score"] for record in records) == report["dev_bleu"]
    for record in records:
        assert record["decode_seconds"] >= 0
        assert record["length_ratio"] > 0
        assert record["active_features"] == 5
        assert record["candidates"] >= record["new_candidates"]
    for record in records[1:]:
        assert record["optimise_seconds"] >= 0
        assert "objective" in record
        assert "change" in record
    assert (directory / "iterations" / "00.tsv").read_text() == _text(start_weights())
    chosen = f"{report['best_iteration']:02d}.tsv"
    assert (directory / "weights.tsv").read_bytes() == (
        directory / "iterations" / chosen
    ).read_bytes()
    assert not (directory / "checkpoint" / "pool").exists()


def _text(weights: Weights) -> str:
    return "".join(f"{name}\t{value:g}\n" for name, value in weights.items())


def test_scores_equal_those_of_a_search_with_the_weights(run: Make) -> None:
    report, directory = run(tuner=Scripted(answers=[GOOD, BAD]), iterations=2)
    data, metric, decoder = toy_set(), create("bleu"), ToyDecoder()
    for record in read_metrics(directory / "metrics.jsonl"):
        weights = Weights.load(directory / "iterations" / f"{record['iteration']:02d}.tsv")
        texts = [viterbi(decoder.forest(s, weights), weights).text for s in data.sentences]
        rows = metric.statistics(texts, data.references)
        assert record["score"] == float(metric.shown(rows.sum(axis=0)))
    assert report["best_iteration"] == 1
    assert report["iterations"] == 2
    assert Weights.load(directory / "weights.tsv")["right"] == 5.0


@pytest.mark.parametrize("space", ["kbest", "forest"])
def test_threads_do_not_change_the_result(run: Make, space: str) -> None:
    if space == "kbest":
        tuners: list[BatchTuner] = [Climber(), Climber()]
    else:
        tuners = [_Forests(answers=[GOOD, BAD]) for _ in range(2)]
    _, one = run("one", tuner=tuners[0], threads=1, iterations=2)
    _, two = run("two", tuner=tuners[1], threads=3, iterations=2)
    assert (one / "weights.tsv").read_bytes() == (two / "weights.tsv").read_bytes()
    assert _scores(one) == _scores(two)


@dataclass(kw_only=True)
class _Forests(Scripted):
    spaces: ClassVar[Any] = ("forest",)

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        assert pool.candidates is None
        assert pool.forests is not None
        assert [len(group) for group in pool.forests] == [task.iteration + 1] * 12
        text = viterbi(pool.forests[0][-1], weights).text
        assert len(text.split()) >= 3
        return super().optimize(pool, weights, task)


def _scores(directory: Path) -> list[float]:
    return [record["score"] for record in read_metrics(directory / "metrics.jsonl")]


def test_seed_determines_the_result(run: Make) -> None:
    _, one = run("one", seed=1)
    _, again = run("again", seed=1)
    _, other = run("other", seed=2)
    files = [(d / "iterations" / "01.tsv").read_bytes() for d in (one, again, other)]
    assert files[0] == files[1] != files[2]


# -- stopping --


def test_it_stops_without_new_candidates(run: Make) -> None:
    report, _ = run(tuner=Scripted(answers=[GOOD, {"right": 6.0}]), tolerance=0)
    assert (report["stopped"], report["iterations"]) == ("no new candidates", 2)


def test_it_stops_when_the_weights_converge(run: Make) -> None:
    """Rather, when they turn so little; the pool still grows, because the lists are short."""
    answers = [{"right": 1.0}, {"odd": -0.2}, {"odd": -0.2001}]
    report, directory = run(tuner=Scripted(answers=answers), tolerance=1e-3, kbest=20)
    records = read_metrics(directory / "metrics.jsonl")
    assert records[2]["new_candidates"] > 0
    assert records[2]["change"] > 1e-3 > records[3]["change"]
    assert report["iterations"] == 3
    report, _ = run("same", tuner=Scripted(answers=[{}]))
    assert (report["stopped"], report["iterations"]) == ("no new candidates", 1)


def test_it_stops_when_the_score_no_longer_rises(run: Make) -> None:
    answers = [GOOD, BAD, WORSE, GOOD]
    report, _ = run(tuner=Scripted(answers=answers), patience=2, kbest=20)
    assert report["stopped"] == "score no longer rises"
    assert (report["best_iteration"], report["iterations"]) == (1, 3)


@pytest.mark.parametrize(
    ("values", "patience", "stops"),
    [
        ([29.8, 4.3, 5.2, 15.2], 2, False),  # climbs back
        ([29.8, 32.0, 31.0, 31.9], 2, True),
        ([29.8, 32.0, 31.0, 32.1], 2, False),
        ([29.8, 29.0], 2, False),  # too early to tell
        ([29.8, 29.0, 28.0], 0, False),
    ],
)
def test_patience(values: list[float], patience: int, stops: bool) -> None:
    assert without_rise(values, patience) == stops


def test_zero_iterations_score_the_start(run: Make) -> None:
    report, directory = run(iterations=0)
    assert (report["best_iteration"], report["iterations"]) == (0, 0)
    assert (directory / "weights.tsv").read_text() == _text(start_weights())


def test_held_out_set_selects_the_iteration(run: Make) -> None:
    """On the set itself the second answer is better, on the other one the first."""
    data = toy_set()
    opposite = TuningSet(
        data.sentences, [[text.replace("R", "L") for text in refs] for refs in data.references]
    )
    likes_l = {"right": -5.0, "likely": 5.0, "words": -5.0}
    report, directory = run(
        tuner=Scripted(answers=[likes_l, GOOD]), data=data, heldout=opposite, iterations=2
    )
    assert report["best_iteration"] != 2
    assert report["heldout_score"] > 50
    assert report["dev_bleu"] < 50
    records = read_metrics(directory / "metrics.jsonl")
    assert records[2]["score"] > 50 > records[2]["heldout_score"]


def test_tuning_lowers_an_error_rate(run: Make) -> None:
    report, directory = run(metric="ter", tuner=Scripted(answers=[GOOD, BAD]), iterations=2)
    scores = _scores(directory)
    assert report["best_iteration"] == 1
    assert scores[1] == min(scores) == report["dev_score"]
    assert report["dev_bleu"] > 50


def test_empty_lines_are_sentences_too(run: Make) -> None:
    data = toy_set(5)
    sentences, references = list(data.sentences), list(data.references)
    sentences[2], references[2] = "", [""]
    report, directory = run(data=TuningSet(sentences, references), iterations=1)
    (first, _) = read_metrics(directory / "metrics.jsonl")
    assert first["without_translation"] == 1
    assert report["dev_bleu"] >= 0


# -- the mean of the last iterations --

UP = {"right": 5.0, "likely": 0.1, "words": -1.0, "odd": 2.0}
DOWN = {"right": 50.0, "likely": 1.0, "words": -10.0, "odd": -20.0}


def test_the_mean_is_the_result(run: Make) -> None:
    """Of directions: the second vector is ten times as long. It is judged by a search with it."""
    report, directory = run(
        tuner=Scripted(answers=[BAD, WORSE, UP, DOWN]), average_last=3, tolerance=0, kbest=20
    )
    assert report["mean_of"] == [3, 4]
    assert (report["best_iteration"], report["iterations"]) == (5, 4)
    chosen = Weights.load(directory / "weights.tsv")
    assert chosen["odd"] == pytest.approx(0.0, abs=1e-5)
    assert chosen["right"] == pytest.approx(50.0)
    assert chosen["always"] == -1.0  # nothing was learned about it
    assert (directory / "iterations" / "05.tsv").read_bytes() == (
        directory / "weights.tsv"
    ).read_bytes()
    records = read_metrics(directory / "metrics.jsonl")
    assert [record["iteration"] for record in records] == [0, 1, 2, 3, 4, 5]
    data, metric, decoder = toy_set(), create("bleu"), ToyDecoder()
    texts = [viterbi(decoder.forest(s, chosen), chosen).text for s in data.sentences]
    rows = metric.statistics(texts, data.references)
    assert records[5]["score"] == report["dev_bleu"] == float(metric.shown(rows.sum(axis=0)))
    assert "new_candidates" not in records[5]
    again, _ = run(average_last=3, tolerance=0, kbest=20, resume=True)
    assert again == report


def test_one_iteration_has_no_mean(run: Make) -> None:
    report, directory = run(tuner=Scripted(answers=[GOOD]), iterations=1, average_last=5)
    assert report["best_iteration"] == 1
    assert len(read_metrics(directory / "metrics.jsonl")) == 2


def test_mean_with_a_lower_score_is_not_selected(run: Make) -> None:
    """One gets the even words right, the other the odd ones, and their mean neither."""
    messages: list[str] = []
    start = Weights({"right": 1.0, "likely": 0.0, "words": -3.0, "odd": -4.0, "always": -1.0})
    even = {"right": 0.0, "likely": 0.0, "words": -5.0, "odd": -4.0}
    odd = {"right": -4.0, "likely": -3.0, "words": -5.0, "odd": 3.0}
    report, directory = run(
        tuner=Scripted(answers=[BAD, even, odd]),
        start=start,
        iterations=3,
        average_last=2,
        tolerance=0,
        kbest=20,
        warn=messages.append,
    )
    records = read_metrics(directory / "metrics.jsonl")
    assert records[4]["mean_of"] == [2, 3]
    assert records[4]["score"] < records[0]["score"] < records[2]["score"]
    assert (report["best_iteration"], report["dev_bleu"]) == (2, records[2]["score"])
    mean, best = (records[number]["score"] for number in (4, 2))
    message = f"mean of iterations 2 to 3: scored {mean:.2f}, iteration 2 {best:.2f}; the best"
    assert message in messages[-1]
    assert records[4]["warnings"] == messages[-1:]


class Averaging(Scripted):
    """Averages its last iterations by default."""

    average_last: ClassVar[int] = 5


def test_short_runs_are_not_averaged_by_default(run: Make) -> None:
    answers = [BAD, WORSE, UP, DOWN, GOOD]
    more: dict[str, Any] = {"tolerance": 0, "kbest": 20}
    short, place = run("short", tuner=Averaging(answers=answers[:4]), iterations=4, **more)
    records = read_metrics(place / "metrics.jsonl")
    assert all("mean_of" not in record for record in records)
    scores = [record["score"] for record in records]
    assert short["dev_score"] == scores[short["best_iteration"]] == max(scores)
    long, _ = run("long", tuner=Averaging(answers=answers), iterations=5, **more)
    assert long["mean_of"] == [3, 4, 5]
    asked, _ = run("asked", tuner=Averaging(answers=answers), iterations=4, average_last=3, **more)
    assert asked["mean_of"] == [3, 4]


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([20.0, 30.0, 29.9, 29.8], 3),  # chance explains 0.2 points on 3,600 sentences
        ([20.0, 30.0, 29.9, 29.7], 1),
        ([29.9, 30.0, 29.9, 29.8], 1),  # lower than the start
        ([20.0, 30.0, 29.9, 30.1], 3),
    ],
)
def test_a_mean_far_behind_the_best_iteration_is_not_taken(
    scores: list[float], chosen: int, tmp_path: Path
) -> None:
    loop = Loop(
        decoder=ToyDecoder(),
        tuner=Climber(),
        metric=create("bleu"),
        data=toy_set(3600),
        start=start_weights(),
        directory=RunDirectory(tmp_path),
        options=LoopOptions(),
    )
    loop.records = [{"iteration": i, "score": score} for i, score in enumerate(scores)]
    loop.records[-1]["mean_of"] = [1, 2]
    assert loop._chosen() == chosen


def test_mean_competes_with_iterations_on_held_out_set(run: Make) -> None:
    answers = [GOOD, BAD, WORSE, {"right": -5.0, "words": -3.0}]
    report, directory = run(
        tuner=Scripted(answers=answers),
        heldout=toy_set(5, 1),
        average_last=2,
        tolerance=0,
        kbest=20,
    )
    records = read_metrics(directory / "metrics.jsonl")
    assert records[-1]["mean_of"] == [3, 4]
    assert "heldout_score" in records[-1]
    assert report["best_iteration"] == 1


def test_mean_keeps_fixed_and_tied_weights(run: Make) -> None:
    answers = [{"likely": -2.0}, {"odd": 1.0}, {"likely": 0.7, "odd": -0.3}]
    more = {"fix": ["right"], "tie": ["likely words"], "average_last": 2}
    _, directory = run(tuner=Scripted(answers=answers), iterations=3, tolerance=0, kbest=20, **more)
    assert read_metrics(directory / "metrics.jsonl")[4]["mean_of"] == [2, 3]
    mean = Weights.load(directory / "iterations" / "04.tsv")
    assert mean["right"] == Weights({"x": -0.2})["x"]
    assert mean["likely"] == mean["words"] == pytest.approx(-0.65)
    assert mean["odd"] == pytest.approx(0.35)


# -- several runs --


def test_several_runs(run: Make) -> None:
    report, directory = run(runs=3, iterations=2)
    bleus = [one["dev_bleu"] for one in report["runs"]]
    assert report["dev_bleu"] == max(bleus)
    assert report["dev_bleu_mean"] == pytest.approx(sum(bleus) / 3)
    assert report["dev_bleu_deviation"] >= 0
    best = directory / f"run-{report['best_run']}"
    assert (directory / "weights.tsv").read_bytes() == (best / "weights.tsv").read_bytes()
    records = read_metrics(directory / "metrics.jsonl")
    assert {record["run"] for record in records} == {1, 2, 3}
    _, single = run("single", seed=2, iterations=2)
    second = directory / "run-2" / "weights.tsv"
    assert second.read_bytes() == (single / "weights.tsv").read_bytes()


# -- restrictions --


def test_fixed_weights_stay(run: Make) -> None:
    _, directory = run(fix=["right", "w*"])
    for path in (directory / "iterations").iterdir():
        weights = Weights.load(path)
        assert weights["right"] == Weights({"x": -0.2})["x"]
        assert weights["words"] == Weights({"x": 0.1})["x"]
    assert Weights.load(directory / "iterations" / "01.tsv")["likely"] != 1.0


@pytest.mark.parametrize("few", [True, False])
def test_mert_moves_sparse_features_only_if_few(
    run: Make, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of very many are in most lists; they are no dense features for that."""
    if not few:
        monkeypatch.setattr("hopefear.learn.loop.batch.DENSE_LIMIT", 5)
    _, directory = run(tuner=Mert(restarts=2, kept=1), decoder=ToyDecoder(sparse=True))
    found = Weights.load(directory / "weights.tsv")
    assert any(value for name, value in found.items() if name.startswith("word:")) == few
    assert found["right"] != start_weights()["right"]


def test_fixed_sparse_features_are_one_number_in_the_pool(
    run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are those of a pool with all of them."""
    monkeypatch.setattr("hopefear.learn.loop.batch.DENSE_LIMIT", 1)
    sparse = {"word:L0": 0.3, "word:X2": -0.2, "word:R3": 0.1, "word:elsewhere": 1.0}
    start = start_weights()
    start.update(sparse)

    def found(name: str) -> tuple[Weights, set[str], list[float]]:
        tuner, decoder = Mert(restarts=2, kept=1), ToyDecoder(sparse=True)
        _, directory = run(name, tuner=tuner, decoder=decoder, start=start, keep_pool=True)
        names = sorted((directory / "checkpoint" / "pool").glob("*.names.bin"))[-1]
        scores = [record["score"] for record in read_metrics(directory / "metrics.jsonl")]
        known = {feature for feature, _ in Weights.load(names).items()}
        return Weights.load(directory / "weights.tsv"), known, scores

    ours, known, scores = found("rest")
    assert SPARSE_SCORE in known <= {SPARSE_SCORE, *ToyDecoder().dense}
    assert SPARSE_SCORE not in ours
    assert all(ours[name] == start[name] for name in sparse)
    assert ours["right"] != start["right"]
    monkeypatch.setattr(Loop, "_collapses", False)
    theirs, known, others = found("all")
    assert sum(name.startswith("word:") for name in known) > 2
    assert scores == others
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=1e-4), name


def test_decoder_that_collapses_sparse_features_gives_the_same(
    run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopefear.learn.loop.batch.DENSE_LIMIT", 1)
    templates = (make_feature("rule-id"), make_feature("rule-history"))
    model = random_model(4, templates=templates)
    options = PhraseOptions(beam=20, pop_limit=60)
    sentences = ["d e u d", "e e neu d f d", "f d e", "d d e f u", "u e d neu"]

    decoder, start = model.decoder(options), random_weights(1, model)
    for forest in decoder.forests(sentences, start):
        for id in forest.feature_ids.tolist():
            name = decoder.names.name(id)
            if name not in decoder.dense:
                start[name] = (id % 21 - 10) / 20
    goal = random_weights(2, model)
    texts = [viterbi(forest, goal).text for forest in decoder.forests(sentences, goal)]
    data = TuningSet(sentences, [[text] for text in texts])

    def found(name: str, **more: Any) -> tuple[Weights, list[float]]:
        _, directory = run(
            name, tuner=Mert(restarts=2, kept=1), decoder=decoder, start=start, data=data,
            heldout=data, **more,
        )  # fmt: skip
        records = read_metrics(directory / "metrics.jsonl")
        scores = [record[key] for record in records for key in ("score", "heldout_score")]
        return Weights.load(directory / "weights.tsv"), scores

    ours, scores = found("sums")
    assert scores[-1] > scores[0]
    monkeypatch.setattr(Loop, "_wants_collapsed", lambda self: False)
    theirs, others = found("all")
    assert scores == pytest.approx(others)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=1e-3, abs=1e-5), name


def test_a_tuner_that_moves_a_fixed_weight_is_caught(run: Make) -> None:
    with pytest.raises(RuntimeError, match=r"scripted moved the fixed weight of right from -0\.2"):
        run(tuner=Scripted(answers=[GOOD]), fix=["right"])


@pytest.mark.parametrize("sparse", [False, True])
def test_tied_weights_are_one_feature(run: Make, sparse: bool) -> None:
    start = Weights({"likely": 1.0, "right": 0.4, "odd": 0.4, "words": 0.1, "word:R1": 0.4})
    tie = ["right odd", "likely words"] if not sparse else ["right word:R1", "likely words"]
    _, directory = run(decoder=ToyDecoder(sparse=sparse), start=start, tie=tie)
    first = Weights.load(directory / "iterations" / "00.tsv")
    assert first["likely"] == first["words"] == pytest.approx(0.55)
    last = Weights.load(directory / "iterations" / "01.tsv")
    assert last["likely"] == last["words"] != first["likely"]
    assert last["right"] == last["word:R1" if sparse else "odd"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fix": ["rihgt"]}, "--fix: the model has no feature 'rihgt'; did you mean 'right'?"),
        ({"tie": ["right"]}, "--tie 'right': give at least two names"),
        ({"tie": ["right odd", "odd words"]}, "odd is tied in 'right odd' too"),
        ({"tie": ["right odd"], "fix": ["odd"]}, "odd is fixed and others are not"),
    ],
)
def test_bad_restrictions(run: Make, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        run(**options)
    assert message in str(caught.value)


def test_forests_cannot_be_tied(run: Make) -> None:
    with pytest.raises(OptionError, match="--tie needs k-best lists"):
        run(tuner=_Forests(answers=[GOOD]), tie=["right odd"])


# -- what is degenerate --


def test_useless_features_are_named_and_left_alone(run: Make) -> None:
    messages: list[str] = []
    _, directory = run(warn=messages.append)
    assert any("never fired" in text and text.endswith(": never") for text in messages)
    assert any("constant within every sentence" in text and "always" in text for text in messages)
    records = read_metrics(directory / "metrics.jsonl")
    assert len(records[1]["warnings"]) == 2
    for path in (directory / "iterations").iterdir():
        assert Weights.load(path)["always"] == -1.0


def test_useless_features_of_forests(run: Make) -> None:
    messages: list[str] = []
    run(tuner=_Forests(answers=[GOOD]), iterations=1, warn=messages.append)
    assert [text.rpartition(": ")[2] for text in messages] == ["never", "always"]


def test_nan_is_an_error_and_not_saved(run: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"iteration 2: tuner scripted .* not a number"):
        run(tuner=_Nan(answers=[GOOD, {}]))
    directory = tmp_path / "run"
    assert sorted(path.name for path in (directory / "iterations").iterdir()) == [
        "00.tsv",
        "01.tsv",
    ]
    assert Weights.load(directory / "weights.tsv")["right"] == 5.0


@dataclass(kw_only=True)
class _Nan(Scripted):
    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        found = super().optimize(pool, weights, task)
        return Optimized(found.weights, float("nan")) if task.iteration else found


def test_run_ends_at_zero_weights_with_a_warning(run: Make) -> None:
    nothing = dict.fromkeys(("likely", "right", "words", "odd"), 1e-12)
    messages: list[str] = []
    report, _ = run(
        tuner=Scripted(answers=[nothing, GOOD]),
        warn=messages.append,
        start=Weights({"likely": 1.0}),
    )
    assert (report["stopped"], report["iterations"]) == ("weights are nearly 0", 1)
    assert any("nearly 0" in text for text in messages)
    assert json.dumps(report["warnings"]).count("nearly 0") == 1


def test_run_starts_from_zero_weights(run: Make) -> None:
    messages: list[str] = []
    start = Weights(dict.fromkeys(("likely", "right"), 0.0))
    report, _ = run(tuner=Scripted(answers=[GOOD]), iterations=1, warn=messages.append, start=start)
    assert (report["iterations"], report["stopped"]) == (1, "iterations")
    assert sum("all initial weights are 0" in text for text in messages) == 1


def test_run_without_gain_is_reported(run: Make) -> None:
    messages: list[str] = []
    report, directory = run(
        tuner=Scripted(answers=[BAD, WORSE]),
        start=Weights(GOOD),
        iterations=2,
        warn=messages.append,
    )
    assert report["best_iteration"] == 0
    expected = f"which were chosen; those of all iterations are in {directory}"
    assert any(expected in text for text in messages)


def test_sets_must_be_parallel_and_not_empty() -> None:
    with pytest.raises(InputError, match="2 sentences, but references for 1"):
        TuningSet(["1", "2"], [["R1"]])
    with pytest.raises(InputError, match="is empty"):
        TuningSet([], [])


def test_change_of_new_weights() -> None:
    names = FeatureNames()
    before = Weights({"lm": 1.0, "words": 2.0}, names=names)

    def change(**more: float) -> float:
        return _change(before, Weights({"lm": 1.0, "words": 2.0, **more}, names=names))

    assert change() == 0
    assert change(lm=1.5) == pytest.approx(0.5)
    assert change(new=0.1) == 1
