"""What search-aware tuning costs when it optimises: table 8 of Liu & Huang 2014.

CPU seconds of optimising on pools of a few decodings of Bible zh-en with a beam of 30: of whole
translations, of as many candidates from more sentences, and of all bins. Budget: a line search of
MERT costs a candidate of the bins at most 1.2 times as much.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from support import models
from support.figures import Figure, main, markdown

from hopefear.base import config, registry
from hopefear.base.weights import Weights
from hopefear.decode.contract import Request
from hopefear.learn.batch import mert
from hopefear.learn.batch.lbfgs import minimize
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.pool.store import BinStore, KbestStore
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create
from hopefear.model.directory import Model

TUNERS = {"mert": "MERT", "batch-mira": "batch MIRA", "pro": "PRO"}
BUDGET = 1.2


@contextmanager
def counted_lines() -> Iterator[list[float]]:
    """MERT's line searches, and the CPU seconds they took."""
    found, best = [0, 0.0], mert.Line.best

    def timed(*arguments: Any, **more: Any) -> Any:
        begin = time.thread_time()
        result = best(*arguments, **more)
        found[0] += 1
        found[1] += time.thread_time() - begin
        return result

    mert.Line.best = timed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        mert.Line.best = best  # type: ignore[method-assign]


#: Pools of `seconds`: as many sentences without bins, as many candidates without, and with bins.
POOLS = ("off", "off, larger", "potential")


def filled_store(how: str, model: Model, size: int, rounds: int, folder: Path) -> Any:
    """A store after a few decodings with weights that differ, and the CPU seconds it took."""
    sentences, references = models.bible_dev(size)
    decoder = model.decoder(beam=30, pop_limit=90)
    given: dict[str, Any] = {
        "directory": folder, "metric": create("bleu"), "references": references,
        "names": decoder.names, "k": 100,
    }  # fmt: skip
    folder.mkdir()
    if how == "off":
        store: Any = KbestStore(**given)
    else:
        tuner = registry.get("tuner", "mert")(search_aware=how)
        words = sum(len(sentence.split()) for sentence in sentences)
        more = {"untranslated": decoder.untranslated, "words": words}
        store = BinStore(tuner=tuner, **more, **given)
    start, random, spent = model.weights(), np.random.default_rng(1), 0.0
    for number in range(rounds):
        weights = start.copy()
        for name, value in start.items():
            weights[name] = value * float(np.exp(0.3 * number * random.normal()))
        requests = [Request(text, weights, spans=how == "potential") for text in sentences]
        decoded = list(decoder.decode_all(requests))
        begin = time.process_time()
        store.add(number, iter(decoded), weights)
        spent += time.process_time() - begin
    return store, spent


def bytes_of(found: Candidates, file: Path) -> dict[str, float]:
    """What a candidate takes: in the pool's file, for every tuner, and for MERT besides."""
    table = found.features
    everything = [table.dense, found.statistics]
    if table.sparse is not None:
        everything += [table.sparse.data, table.sparse.indices]
    search = 8 * table.columns + found.statistics.itemsize * found.statistics.shape[1] + 8
    return {
        "file": file.stat().st_size / found.rows,
        "arrays": sum(array.nbytes for array in everything) / found.rows,
        "search": search,  # line_search.hpp; the last 8 are scores, of each thread
    }


def measure(
    pairs: int, dev: int, rounds: int, seeds: int, tuners: Sequence[str]
) -> tuple[str, list[list[str]], dict[str, float]]:
    """What pools and searches are like, rows of tuners, ns of a line search for a candidate."""
    model = Model.load(models.bible(pairs=pairs, order=5))
    start = Weights.load(model.directory / "weights.tsv")
    pools: dict[str, Pool] = {}
    making: dict[str, float] = {}
    counts: dict[str, int] = {}
    sentences = dict.fromkeys(POOLS, dev)
    with TemporaryDirectory() as folder:
        for name in ("off", "potential", "off, larger"):
            if name == "off, larger":
                sentences[name] = round(dev * counts["potential"] / counts["off"])
            how = name.partition(",")[0]
            place = Path(folder) / name
            store, making[name] = filled_store(how, model, sentences[name], rounds, place)
            pools[name] = store.pool()
            found = pools[name].candidates
            assert found is not None
            counts[name] = found.rows
            if name == "potential":
                held = bytes_of(found, place / f"{rounds - 1:02d}.npz")
        minimize(lambda x: (float(x @ x), 2 * x), np.ones(2), 2)  # loads what it needs
        searches = {name: np.zeros(2) for name in POOLS}
        lines = []
        for tuner in tuners:
            spent = dict.fromkeys(POOLS, 0.0)
            # By turns, so that a busy machine slows all down.
            for seed, name in product(range(1, seeds + 1), POOLS):
                cls = registry.get("tuner", tuner)
                made = config.from_mapping(cls, {"search_aware": name.partition(",")[0]})
                begin = time.process_time()
                with counted_lines() as more:
                    made.optimize(pools[name], start, Task(random=np.random.default_rng(seed)))
                spent[name] += (time.process_time() - begin) / seeds
                searches[name] += np.array(more) / seeds
            each = {name: 1e6 * spent[name] / counts[name] for name in POOLS}
            ours = [f"{value:.1f}" for some in (spent, each) for value in some.values()]
            ours += [f"{each['potential'] / each[name]:.2f}" for name in POOLS[:2]]
            paper = {"mert": ("3", "50"), "batch-mira": ("2", "7"), "pro": ("2", "6")}[tuner]
            lines.append([TUNERS[tuner], *ours, *paper])
    line = {name: 1e9 * searches[name][1] / searches[name][0] / counts[name] for name in POOLS}

    def listed(values: dict[str, Any], form: str) -> str:
        first, *others = (format(values[name], form) for name in POOLS)
        return f"{first}, {' and '.join(others)}"

    note = (
        f"{rounds} decodings with a beam of 30 of {listed(sentences, ',')} sentences have "
        f"{listed(counts, ',')} candidates: off, off with more sentences, potential. To make them "
        f"took {listed(making, '.1f')} CPU seconds. A line search of MERT takes "
        f"{listed(line, '.2f')} ns a candidate, and it made "
        f"{listed({name: n for name, (n, _) in searches.items()}, ',.0f')} of them. A candidate of "
        f"the bins takes {held['file']:.0f} bytes in the pool's file, {held['arrays']:.0f} in the "
        f"arrays of tuners, and {held['search']:.0f} more in MERT's line search. Means of {seeds} "
        "seeds, one thread."
    )
    return note, lines, line


def run(quick: bool) -> list[Figure]:
    size = (models.QUICK, 30, 6, 1) if quick else (20_000, 30, 6, 3)
    line = measure(*size, ["mert"])[2]
    cost = {name: line["potential"] / line[name] for name in POOLS[:2]}
    return [
        Figure(f"MERT, cost of a candidate of bins to {name}", value, "x", most=BUDGET)
        for name, value in cost.items()
    ]


def full(*, sentences: int = 30, rounds: int = 6, seeds: int = 3, train: int = 20_000) -> None:
    note, lines, _ = measure(train, sentences, rounds, seeds, list(TUNERS))
    head = ["CPU seconds of optimising", *POOLS, "µs a candidate: off", *POOLS[1:],
            "potential to off", "to off, larger", "paper's minutes: off", "all bins"]  # fmt: skip
    print(f"{note}\n\n{markdown(head, lines)}")


if __name__ == "__main__":
    main(__doc__, run, full)
