"""The loop of lattice-svm: decodings, the chosen iteration, resuming after a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loop_toy import NEAR, ToyDecoder, toy_set

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.decode.contract import Decoded, Request
from hopefear.forest import ForestFile, viterbi
from hopefear.learn.loop.base import TuningSet
from hopefear.learn.loop.lattice import LatticeLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.lattice_svm import LatticeSvm
from hopefear.learn.tuner import Optimized
from hopefear.metrics import create

Run = Callable[..., tuple[dict[str, Any], Path]]


class Counting(ToyDecoder):
    """Knows which sentences were decoded with which weights, and dies when it is told to."""

    def __init__(self, dies_after: int = 10**9) -> None:
        super().__init__(sparse=True)
        self.asked: list[tuple[Any, float]] = []
        self.dies_after = dies_after

    def decode_all(self, requests: Iterable[Request], **more: Any) -> Iterator[Decoded]:
        for request in requests:
            if len(self.asked) >= self.dies_after:
                raise KeyboardInterrupt
            self.asked.append((request.sentence, request.weights["right"]))
            yield self.decode(request)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def make(
        name: str = "run",
        *,
        tuner: LatticeSvm | None = None,
        decoder: ToyDecoder | None = None,
        metric: str = "bleu",
        data: TuningSet | None = None,
        heldout: TuningSet | None = None,
        resume: bool = False,
        runs: int = 1,
        threads: int = 1,
        tell: Callable[[str], None] = lambda text: None,
        **options: Any,
    ) -> tuple[dict[str, Any], Path]:
        def loop(directory: RunDirectory, chosen: LoopOptions) -> LatticeLoop:
            return LatticeLoop(
                tuner=tuner or LatticeSvm(first=30, every=20, rate=0.02),
                decoder=decoder or Counting(),
                metric=create(metric),
                data=data or toy_set(60),
                start=Weights(NEAR),
                directory=directory,
                options=chosen,
                heldout=heldout,
                threads=threads,
                tell=tell,
            )

        settings = LoopOptions(**{"iterations": 4, "patience": 0, "tolerance": 0, **options})
        where = tmp_path / name
        return tune(loop, where, {}, settings, runs=runs, resume=resume), where

    return make


def test_it_decodes_on_demand_then_once(run: Run) -> None:
    decoder = Counting()
    report, where = run(decoder=decoder)
    records = read_metrics(where / "metrics.jsonl")
    draws = LatticeSvm(first=30).draws(np.random.default_rng([1, 0]), 60, 0)
    distinct = len(set(draws.tolist()))
    assert 20 < distinct < 30
    assert len(decoder.asked) == distinct + 60
    first, rest = decoder.asked[:distinct], decoder.asked[distinct:]
    sentences = toy_set(60).sentences
    assert [s for s, _ in first] == [sentences[i] for i in sorted(set(draws.tolist()))]
    assert [s for s, _ in rest] == list(sentences)
    # On demand with the start weights, then with what was learned.
    learned = Weights.load(where / "iterations" / "01.tsv")["right"]
    assert {w for _, w in first} == {Weights(NEAR)["right"]}
    assert {w for _, w in rest} == {learned}
    assert [r["decodings"] for r in records] == [distinct / 60] + [distinct / 60 + 1] * 4
    assert report["decodings"] == distinct / 60 + 1
    assert [r["judged"] for r in records] == ["sample", "search"] + ["lattices"] * 3
    assert report["iterations"] == 4


def test_it_learns_and_takes_the_best_point(run: Run) -> None:
    report, where = run(iterations=6)
    records = read_metrics(where / "metrics.jsonl")
    best = report["best_iteration"]
    assert best >= 1
    assert records[best]["score"] == max(r["score"] for r in records[1:]) == report["dev_bleu"]
    assert report["dev_bleu"] > records[0]["score"] + 10
    chosen = (where / "iterations" / f"{best:02d}.tsv").read_bytes()
    assert (where / "weights.tsv").read_bytes() == chosen


def test_scores_equal_those_of_the_lattices(run: Run) -> None:
    _, where = run(keep_pool=True)
    data, metric = toy_set(60), create("bleu")
    forests = ForestFile(where / "checkpoint" / "pool" / "01.forests")
    for record in read_metrics(where / "metrics.jsonl")[1:]:
        weights = Weights.load(where / "iterations" / f"{record['iteration']:02d}.tsv")
        texts = [viterbi(forest, weights).text for forest in forests]
        rows = metric.statistics(texts, data.references)
        assert record["score"] == float(metric.shown(rows.sum(axis=0)))


def test_better_start_weights_are_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was judged by the sentences that were drawn; the others are compared on them."""

    def worse(self: LatticeSvm, pool: Any, weights: Weights, task: Any) -> Optimized:
        new = weights.copy()
        new.update({"right": -5.0 + task.iteration, "words": 3.0})
        return Optimized(new, 0.0, {"signature": ""})

    monkeypatch.setattr(LatticeSvm, "optimize", worse)
    data = toy_set(60)
    forests = [ToyDecoder().forest(s, Weights(NEAR)) for s in data.sentences]
    liked = [[viterbi(forest, Weights(NEAR)).text] for forest in forests]
    report, where = run(data=TuningSet(data.sentences, liked))
    records = read_metrics(where / "metrics.jsonl")
    assert records[1]["sample_score"] < records[0]["score"] == pytest.approx(100)
    assert report["best_iteration"] == 0


@pytest.mark.parametrize(("ahead", "best"), [(0.5, 1), (30.0, 0)])
def test_start_better_only_on_its_sample_is_not_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch, ahead: float, best: int
) -> None:
    def qualities(self: LatticeLoop) -> list[float]:
        return [50.0 + ahead, 50.0, *[49.0] * 10][: len(self.records)]

    monkeypatch.setattr(LatticeLoop, "_qualities", qualities)
    report, _ = run()
    assert report["best_iteration"] == best


def test_a_small_set_is_decoded_twice_and_the_start_judged_by_search(run: Run) -> None:
    decoder = Counting()
    report, where = run(decoder=decoder, data=toy_set(5))
    assert len(decoder.asked) == 10
    assert report["decodings"] == 2.0
    records = read_metrics(where / "metrics.jsonl")
    assert [r["judged"] for r in records[:2]] == ["search", "search"]
    assert "sample_score" not in records[1]


@pytest.mark.parametrize("dies_after", [0, 10, 40, 75, 84])
def test_killed_run_resumes(run: Run, dies_after: int) -> None:
    _, whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("killed", decoder=Counting(dies_after))
    _, resumed = run("killed", resume=True)
    for path in sorted((whole / "iterations").iterdir()):
        assert (resumed / "iterations" / path.name).read_bytes() == path.read_bytes()
    scores, again = (
        [
            {k: v for k, v in record.items() if not k.endswith("seconds")}
            for record in read_metrics(where / "metrics.jsonl")
        ]
        for where in (whole, resumed)
    )
    assert scores == again


@pytest.mark.parametrize("iteration", [1, 2, 3])
def test_run_stopped_while_learning_resumes(
    run: Run, iteration: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = run("whole")
    real = LatticeSvm.optimize

    def stops(self: LatticeSvm, pool: Any, weights: Weights, task: Any) -> Any:
        if task.iteration == iteration:
            raise KeyboardInterrupt
        return real(self, pool, weights, task)

    with monkeypatch.context() as patch:
        patch.setattr(LatticeSvm, "optimize", stops)
        with pytest.raises(KeyboardInterrupt):
            run("stopped")
    decoder = Counting()
    _, resumed = run("stopped", decoder=decoder, resume=True)
    assert not decoder.asked  # the lattices are there
    for name in ("weights.tsv", "iterations/04.tsv"):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes()


def test_held_out_lattices_select_the_iteration(run: Run) -> None:
    decoder, heldout = Counting(), toy_set(7, seed=4)
    report, where = run(decoder=decoder, heldout=heldout)
    asked = [sentence for sentence, _ in decoder.asked]
    assert len(asked) == round(60 * report["decodings"]) + 2 * 7
    records = read_metrics(where / "metrics.jsonl")
    scores = [record["heldout_score"] for record in records]
    assert report["best_iteration"] == scores.index(max(scores))
    assert scores[-1] > scores[0]


def test_threads_do_not_change_the_result(run: Run) -> None:
    ends = [run(f"on-{n}", threads=n)[1] for n in (1, 3)]
    assert (ends[0] / "weights.tsv").read_bytes() == (ends[1] / "weights.tsv").read_bytes()


def test_several_runs(run: Run) -> None:
    report, _ = run(runs=2, iterations=2)
    assert len(report["runs"]) == 2
    assert all("decodings" in one for one in report["runs"])


def test_zero_iterations_score_the_start(run: Run) -> None:
    decoder = Counting()
    report, _ = run(decoder=decoder, iterations=0)
    assert len(decoder.asked) == 60
    assert (report["decodings"], report["best_iteration"]) == (1.0, 0)


def test_error_rates_and_empty_lines(run: Run) -> None:
    data = toy_set(60)
    sentences, references = list(data.sentences), list(data.references)
    for number in (3, 4, 50):
        sentences[number], references[number] = "", [""]
    report, where = run(metric="ter", data=TuningSet(sentences, references))
    records = read_metrics(where / "metrics.jsonl")
    assert report["dev_score"] == min(r["score"] for r in records[1:])
    assert report["dev_score"] < records[0]["score"]
    assert 1 < report["decodings"] < 1.5


def test_it_describes_itself(run: Run) -> None:
    messages: list[str] = []
    run(tell=messages.append)
    assert any(text.startswith("lattice-svm|order:4|xi:0.191") for text in messages)


def test_weights_cannot_be_tied(run: Run) -> None:
    with pytest.raises(OptionError, match="--tie: lattice-svm cannot"):
        run(tie=["words odd"])


def test_it_stops_only_after_a_complete_pass(run: Run) -> None:
    """The first updates may find nothing to learn; the rest of the set has something."""
    data = toy_set(60)
    drawn = LatticeSvm(first=1).draws(np.random.default_rng([LoopOptions().seed, 0]), 60, 0)
    data.sentences[int(drawn[0])] = ""
    tuner = LatticeSvm(first=1, every=20, rate=0.02)
    _, where = run(tuner=tuner, data=data, tolerance=1e-6)
    changes = [record.get("change") for record in read_metrics(where / "metrics.jsonl")]
    assert changes[1] == 0
    assert changes[2] > 0
