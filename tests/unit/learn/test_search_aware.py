"""Search-aware tuning: the pool, learning from it, and errors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loop_toy import ToyDecoder
from phrase_small import SmallModel

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.decode.contract import Request
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.sparse.word_pairs import WordPairs
from hopefear.forest import viterbi
from hopefear.learn.batch.batch_mira import BatchMira
from hopefear.learn.batch.mert import Mert
from hopefear.learn.batch.pro import Pro
from hopefear.learn.loop.base import TuningSet
from hopefear.learn.loop.batch import Loop
from hopefear.learn.loop.online import OnlineLoop
from hopefear.learn.loop.options import LoopOptions
from hopefear.learn.loop.run import RunDirectory, read_metrics
from hopefear.learn.loop.runs import tune
from hopefear.learn.online.mira import Mira, Rm
from hopefear.learn.pool import store
from hopefear.learn.pool.candidates import Candidates, from_arrays
from hopefear.learn.pool.search_aware import Bins, pool_metric
from hopefear.learn.pool.store import BinStore, KbestStore
from hopefear.metrics import create

pytestmark = pytest.mark.engine

#: What references are made with, and what a tuner begins with.
GOOD = {"lm": 0.6, "p(f|e)": 1.0, "lex(f|e)": 0.2, "words": -0.3, "distortion": 0.3, "unknown": -1}
START = {"lm": 0.1, "p(e|f)": 0.5, "p(f|e)": -0.3, "words": 0.2, "distortion": 0.05, "unknown": -1}
BEAM = PhraseOptions(beam=4, pop_limit=30, distortion_limit=2, table_limit=5)
TUNERS: dict[str, Callable[..., Any]] = {
    "mert": partial(Mert, restarts=3, kicks=2, directions=5),
    "pro": partial(Pro, samples=200, threshold=0.01, interpolation=0.5),
    "batch-mira": partial(BatchMira, passes=15),
    "mira": Mira,
    "rm": Rm,
}


def small_model(**more: Any) -> SmallModel:
    rng = random.Random(3)
    sources = [("d",), ("e",), ("f",), ("d", "e"), ("e", "f")]
    pairs = {
        source: {
            tuple(rng.choice("abc") for _ in range(rng.choice((1, 2)))): tuple(
                rng.choice((0.5, 0.25, 0.1)) for _ in range(4)
            )
            for _ in range(4)
        }
        for source in sources
    }
    return SmallModel(pairs, 0, **more)


def small_set(model: SmallModel, count: int = 8) -> TuningSet:
    rng = random.Random(5)
    lines = [" ".join(rng.choice("defu") for _ in range(2 + i % 4)) for i in range(count)]
    decoder = model.decoder()
    best = [viterbi(decoder.forest(line, Weights(GOOD)), Weights(GOOD)) for line in lines]
    return TuningSet(lines, [[one.text] for one in best if one is not None])


@pytest.fixture(scope="module")
def model() -> SmallModel:
    return small_model()


def run(
    directory: Path,
    model: SmallModel,
    name: str,
    *,
    metric: str = "bleu",
    threads: int = 1,
    resume: bool = False,
    decoder: Any = None,
    iterations: int = 3,
    **options: Any,
) -> list[dict[str, Any]]:
    def loop(place: RunDirectory, chosen: LoopOptions) -> Loop | OnlineLoop:
        shared: dict[str, Any] = {
            "decoder": decoder or model.decoder(BEAM),
            "metric": create(metric),
            "data": small_set(model),
            "start": Weights(START),
            "directory": place,
            "options": chosen,
            "threads": threads,
        }
        make = partial(TUNERS[name], **options)
        if name in ("mira", "rm"):
            return OnlineLoop(make_tuner=make, **shared)
        return Loop(tuner=make(), **shared)

    settings = LoopOptions(iterations=iterations, patience=0, tolerance=0, kbest=20)
    tune(loop, directory, {"tuner": {"name": name}}, settings, resume=resume)
    return read_metrics(directory / "metrics.jsonl")


def last_weights(directory: Path) -> bytes:
    return sorted((directory / "iterations").glob("*.tsv"))[-1].read_bytes()


# -- what the pool holds --


def looked(
    store: Any, decoder: PhraseDecoder, data: TuningSet, weights: Weights, *, spans: bool
) -> Iterator[Any]:
    look = store.look(weights).open(decoder.names)
    answers = decoder.decode_all(Request(s, weights, spans=spans) for s in data.sentences)
    return (look(number, answer) for number, answer in enumerate(answers))


def filled(model: SmallModel, how: Any, folder: Path, **more: Any) -> tuple[Any, Candidates]:
    decoder, data = model.decoder(BEAM), small_set(model)
    shared: dict[str, Any] = {
        "directory": folder,
        "metric": create("bleu"),
        "references": data.references,
        "names": decoder.names,
        "k": 20,
    }
    made = (
        KbestStore(**shared)
        if how == "off"
        else BinStore(
            tuner=Mert(search_aware=how),
            untranslated=decoder.untranslated,
            words=sum(len(line.split()) for line in data.sentences),
            **shared,
        )
    )
    folder.mkdir(parents=True)
    weights = Weights(START)
    made.add(0, looked(made, decoder, data, weights, spans=how != "off"))
    candidates = made.pool().candidates
    assert candidates is not None
    return made, candidates


def test_last_bin_equals_ordinary_candidates(model: SmallModel, tmp_path: Path) -> None:
    _, plain = filled(model, "off", tmp_path / "plain")
    _, aware = filled(model, "potential", tmp_path / "aware")
    lengths = [len(line.split()) for line in small_set(model).sentences]
    assert aware.groups == sum(lengths)  # eq. 5: a sentence counts |x| times
    assert aware.bins is not None
    assert aware.bins.tolist() == [bin for n in lengths for bin in range(1, n + 1)]
    final = aware.part(np.flatnonzero(aware.complete))
    assert np.array_equal(final.begin, plain.begin)
    assert np.array_equal(final.statistics, plain.statistics)
    columns = [final.features.ids.tolist().index(id) for id in plain.features.ids.tolist()]
    assert np.array_equal(final.features.dense[:, columns], plain.features.dense)
    other = np.delete(final.features.dense, columns, axis=1)
    assert not other.any()


def test_the_objective_sums_over_bins(model: SmallModel, tmp_path: Path) -> None:
    store_, aware = filled(model, "potential", tmp_path / "aware")
    best = aware.best(aware.scores(aware.vector(Weights(START))))
    data = small_set(model)
    totals = aware.total(best)
    # A sentence's reference counts once for each of its bins.
    lengths = [len(r[0].split()) * len(s.split()) for r, s in zip(data.references, data.sentences,
                                                                  strict=True)]  # fmt: skip
    assert totals[-1] == sum(lengths)
    assert store_.pool().metric == create("bleu")


def test_candidates_keep_their_given_statistics(model: SmallModel, tmp_path: Path) -> None:
    made, before = filled(model, "potential", tmp_path / "aware")
    decoder, data = model.decoder(BEAM), small_set(model)
    for number in (1, 2):
        weights = Weights({**START, "lm": 0.1 + 0.3 * number, "p(f|e)": 0.5})
        added = made.add(number, looked(made, decoder, data, weights, spans=True))
        assert added.total == len(made.builder)
    after = made.pool().candidates
    assert after.rows > before.rows
    for group in range(before.groups):
        old = slice(before.begin[group], before.begin[group + 1])
        new = slice(after.begin[group], after.begin[group] + old.stop - old.start)
        assert np.array_equal(after.statistics[new], before.statistics[old])


def test_counts_in_the_engine_and_in_python_agree(model: SmallModel) -> None:
    decoder, data, weights = model.decoder(BEAM), small_set(model), Weights(START)
    for how in ("partial", "potential"):
        bins = Bins(how, False, decoder.names)  # type: ignore[arg-type]
        for name, options in (("bleu", {}), ("bleu", {"unit": "char"})):
            metric = pool_metric(create(name, options), how)  # type: ignore[arg-type]
            lower = pool_metric(create(name, {**options, "lowercase": True}), how)  # type: ignore[arg-type]
            for number, line in enumerate(data.sentences):
                decoded = decoder.decode(Request(line, weights, spans=True))
                forest, spans = decoded.forest, decoded.spans
                rows = [
                    bins.counted(forest, weights, spans, one.prepare(data.references), number)
                    for one in (metric, lower)
                ]
                assert np.array_equal(rows[0].statistics, rows[1].statistics)


def test_complete_groups() -> None:
    table = from_arrays([0, 0, 1], np.zeros((3, 1)), np.zeros((3, 9), int), ["a"], bins=[1, 2, 1])
    assert table.complete.tolist() == [False, True, True]
    whole = from_arrays([0, 0, 1], np.zeros((3, 1)), np.zeros((3, 9), int), ["a"])
    assert whole.complete.tolist() == [True, True]


def test_batch_mira_background_has_complete_translations_only() -> None:
    rng = np.random.default_rng(2)
    rows, size = 400, 10
    statistics = np.tile([20, 20, 19, 19, 18, 18, 17, 17, 20], (rows, 1))
    statistics[:, [0, 2, 4, 6]] -= rng.integers(0, 17, (rows, 1))
    statistics[: rows // 2, :] //= 2  # the first bin of each sentence
    sentences = np.tile(np.repeat(np.arange(rows // 2 // size), size), 2)
    bins = np.repeat([1, 2], rows // 2)
    features = rng.normal(size=(rows, 3))
    both = from_arrays(sentences, features, statistics, ["a", "b", "c"], bins=bins)
    apart = from_arrays(sentences + 100 * bins, features, statistics, ["a", "b", "c"])
    order = np.argsort(both.bins, kind="stable")
    assert np.array_equal(both.part(order).statistics, apart.statistics)
    parts, wholes = np.split(np.arange(len(order), dtype=np.int32), 2)

    def losses(candidates: Candidates, *passes: Any) -> list[float]:
        """With steps of no length only the background changes from group to group."""
        mira = BatchMira(C=0)._engine(create("bleu"), candidates, np.zeros(3), np.zeros(3, bool))
        return [mira.run(np.ascontiguousarray(one, np.int32))[1] for one in passes]

    alone = losses(apart, wholes)
    assert losses(both, order[parts], order[wholes])[1:] == alone
    assert losses(apart, parts, wholes)[1:] != alone


# -- tuners --


@pytest.mark.parametrize("how", ["partial", "potential"])
@pytest.mark.parametrize("name", TUNERS)
def test_every_tuner_learns(name: str, how: str, model: SmallModel, tmp_path: Path) -> None:
    records = run(tmp_path / "run", model, name, search_aware=how)
    assert max(r["score"] for r in records) > records[0]["score"] + 3


def test_search_aware_objectives_differ(model: SmallModel, tmp_path: Path) -> None:
    for how in ("off", "partial", "potential"):
        run(tmp_path / how, model, "batch-mira", search_aware=how, iterations=1)
    found = {last_weights(tmp_path / how) for how in ("off", "partial", "potential")}
    assert len(found) == 3


@pytest.mark.parametrize("name", ["mert", "batch-mira", "mira"])
def test_threads_do_not_change_the_result(name: str, model: SmallModel, tmp_path: Path) -> None:
    for threads in (1, 3):
        place = tmp_path / str(threads)
        run(place, model, name, search_aware="potential", threads=threads, future=True)
    assert last_weights(tmp_path / "1") == last_weights(tmp_path / "3")


@pytest.mark.parametrize(("name", "in_memory"), [("mert", 10**6), ("mert", 0), ("rm", 0)])
def test_killed_run_resumes(
    name: str,
    in_memory: int,
    model: SmallModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", in_memory)

    class Dies(PhraseDecoder):
        left = 8 + 3 if name == "mert" else 8 + 8 + 8 + 3

        def decode_all(self, *args: Any, **more: Any) -> Iterator[Any]:
            for decoded in super().decode_all(*args, **more):
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
                yield decoded

    dies = Dies(model.rules, {"lm": model.lm}, options=BEAM)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", model, name, decoder=dies, search_aware="potential")
    run(tmp_path / "killed", model, name, resume=True, search_aware="potential")
    run(tmp_path / "whole", model, name, search_aware="potential")
    assert last_weights(tmp_path / "killed") == last_weights(tmp_path / "whole")


def test_pool_on_disk_gives_equal_candidates(
    model: SmallModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "memory", model, "mert", search_aware="potential")
    monkeypatch.setattr(store, "IN_MEMORY", 0)
    run(tmp_path / "disk", model, "mert", search_aware="potential")
    assert last_weights(tmp_path / "memory") == last_weights(tmp_path / "disk")


def test_sparse_features_and_minibatches(tmp_path: Path) -> None:
    model = small_model(templates=(WordPairs(),))
    for name, more in (("batch-mira", {}), ("rm", {"minibatch": 3}), ("mira", {"learners": 2})):
        place = tmp_path / name
        run(place, model, name, search_aware="potential", future=True, iterations=2, **more)
        names = [line.split("\t")[0] for line in last_weights(place).decode().splitlines()]
        assert sum(one.startswith("word-pairs:") for one in names) > 3


def test_minibatches_learn_at_once(model: SmallModel, tmp_path: Path) -> None:
    records = run(tmp_path / "run", model, "mira", search_aware="potential", minibatch=4)
    assert max(r["score"] for r in records) > records[0]["score"]
    alone = run(tmp_path / "alone", model, "mira", search_aware="potential", iterations=1)
    plain = run(tmp_path / "plain", model, "mira", iterations=1)
    assert alone[1]["updates"] > plain[1]["updates"]


def test_other_metrics(model: SmallModel, tmp_path: Path) -> None:
    for name in ("mert", "batch-mira", "mira"):
        records = run(tmp_path / name, model, name, metric="ter", search_aware="potential")
        assert min(r["score"] for r in records) < records[0]["score"]


# -- what is refused --


@pytest.mark.parametrize("name", TUNERS)
def test_partial_strings_need_a_length(name: str, model: SmallModel, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"partial needs a metric with .*potential"):
        run(tmp_path / "run", model, name, metric="ter", search_aware="partial")


@pytest.mark.parametrize("name", ["mert", "mira"])
def test_decoders_without_bins(name: str, model: SmallModel, tmp_path: Path) -> None:
    decoder = ToyDecoder()
    with pytest.raises(OptionError, match="needs bins and the best translations of spans"):
        run(tmp_path / "run", model, name, decoder=decoder, search_aware="potential")
    assert decoder.decoded == 0


def test_incompatible_options(model: SmallModel, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="space=kbest"):
        run(tmp_path / "a", model, "mert", search_aware="potential", space="forest")
    with pytest.raises(OptionError, match="future: applies to search_aware"):
        run(tmp_path / "b", model, "pro", future=True)
