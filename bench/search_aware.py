"""Search-aware tuning: the tables and the figure of Liu & Huang 2014, on our own data.

    python bench/search_aware.py beam-30 --run    # table 2: each tuner without bins and with all
    python bench/search_aware.py en-zh --run      # table 7: the same, BLEU of characters
    python bench/search_aware.py beam-4 --run     # table 2 with a beam of 4
    python bench/search_aware.py short --run      # PRO on sentences of less than 10 words
    python bench/search_aware.py analyses         # tables 3, 4, 5, figure 5: of beam-30's MERT runs
    python bench/search_aware.py seconds          # table 8: what optimising costs, per candidate

The first four go on where they were stopped, as all studies (--help). `analyses` is about Bible
zh-en and the first seed: 1-best BLEU of the final bin and of all bins on the dev set, the oracle
and the diversity of k-best lists, and BLEU against the beam that decodes, from 1 to 100. Without a
name: `seconds`, and what is finished of the others. --write puts it into docs/results.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from support.results import markdown, write_section
from support.study import (
    CORPORA,
    REPOSITORY,
    RESULTS,
    Bench,
    Setting,
    Sizes,
    Study,
    data_is_here,
    main,
)

from hopefear.analysis.plot import line_plot
from hopefear.base import config, registry
from hopefear.base.files import atomic_directory
from hopefear.base.weights import Weights
from hopefear.forest import kbest
from hopefear.learn.batch import mert
from hopefear.learn.batch.lbfgs import minimize
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.pool.store import BinStore, KbestStore, Store
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create
from hopefear.metrics.diversity import mean_diversity
from hopefear.metrics.metric import total
from hopefear.metrics.oracle import oracle
from hopefear.model.directory import Model

#: Parts of the corpora, so that a table takes about 25 minutes of two cores. A few seeds on a
#: smaller dev set differ by more than search-aware tuning changes.
SIZES = Sizes(train=20_000, dev=300, test=800)
HOWS = {
    "off": ("search_aware=off",),
    "partial": ("search_aware=partial",),
    "potential": ("search_aware=potential",),
    "potential and future": ("search_aware=potential", "future=true"),
}
TUNERS = {"mert": "MERT", "batch-mira": "batch MIRA", "pro": "PRO"}
BEAMS = (1, 2, 4, 8, 16, 30, 100)
SHORT = 10  # words
SEEDS = 3  # of `seconds`
OUT = REPOSITORY / "bench" / "out" / "study"
FIGURE = REPOSITORY / "docs" / "search-aware.svg"


def row(tuner: str, how: str, beam: int, *more: str) -> Setting:
    label = TUNERS[tuner] if how == "off" else f"{TUNERS[tuner]}, {how}"
    search = ("--beam", str(beam), "--pop-limit", str(max(30, 3 * beam)))
    # All iterations: on the dev set search-aware tuning need not rise over its start.
    tune = ("--kbest", "100", "--patience", "0")
    return Setting(label, tuner, (*HOWS[how], *more), tune, search, against=TUNERS[tuner])


def rows(
    beam: int, *more: str, hows: Sequence[str] = ("off", "partial", "potential")
) -> list[Setting]:
    return [row(tuner, how, beam, *more) for tuner in TUNERS for how in hows]


def with_short_dev(name: str) -> str:
    """A corpus like this one whose dev set has its short sentences only; its name."""
    corpus = CORPORA[name]
    folder = OUT / "text" / f"{name}-short"
    files = corpus.files["dev"]
    if data_is_here() and not folder.exists():
        lines = [path.read_text(encoding="utf-8").splitlines() for path in files]
        kept = [at for at, line in enumerate(lines[0]) if len(line.split()) < SHORT]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_directory(folder) as made:
            for path, column in zip(files, lines, strict=True):
                text = "".join(column[at] + "\n" for at in kept)
                (made / path.name).write_text(text, encoding="utf-8")
    short = {**corpus.files, "dev": tuple(folder / path.name for path in files)}
    title = f"{corpus.title}, tuned on short sentences"
    CORPORA[f"{name}-short"] = replace(corpus, name=f"{name}-short", title=title, files=short)
    return f"{name}-short"


COLUMNS = ("CPU s an iteration", "learning s")
ABOUT = (
    "Phrase-based, beam {beam}, pop limit {pops}, dense features, 100-best lists; partial and "
    "potential: and the beams of all other bins; future: candidates have the features of the best "
    "translation of what is open. Every tuner has its defaults otherwise. MERT's result is the "
    "mean of its last 3 iterations, that of the others the best one, both if their whole "
    "translations of the dev set are better than those of the start, else the start. Learning s: "
    "of all iterations of a run. "
)
GAINS = "{cite}`liu2014` has, with a beam of 30 on NIST, for potential +1.2 (MERT), +1.8 (MIRA)"
STUDIES = [
    Study(
        "beam-30",
        "Search-aware tuning",
        rows(30, hows=list(HOWS)),
        ("zh-en", "de-en"),
        text=ABOUT.format(beam=30, pops=90) + GAINS + ", +1.1 (PRO, on short sentences alone).",
    ),
    Study(
        "en-zh",
        "Search-aware tuning, characters",
        rows(30, "metric.unit=char"),
        ("en-zh",),
        text=ABOUT.format(beam=30, pops=90)
        + "Tuned for and tested by BLEU of characters. {cite}`liu2014` has +0.4 for MERT.",
    ),
    Study(
        "beam-4",
        "Search-aware tuning with a small beam",
        rows(4),
        ("zh-en", "de-en"),
        text=ABOUT.format(beam=4, pops=30) + "Tuned and tested with the small beam.",
    ),
    Study(
        "short",
        "Search-aware tuning of PRO on short sentences",
        [row("pro", how, 30) for how in HOWS],
        (with_short_dev("zh-en"), with_short_dev("de-en")),
        text=ABOUT.format(beam=30, pops=90)
        + f"Learned from sentences of less than {SHORT} words, tested on all.",
    ),
]
STUDIES = [replace(study, sizes=SIZES, iterations=6, columns=COLUMNS) for study in STUDIES]


# -- tables 3, 4, 5 and figure 5 --


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def bleu(lines: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    metric = create("bleu")
    return float(metric.shown(total(metric.statistics(lines, references))))


def store_for(how: str, decoder: Any, data: tuple[list[str], list[Any]], folder: Path) -> Store:
    sentences, references = data
    kind: Any = KbestStore
    if how != "off":
        tuner = registry.get("tuner", "mert")(search_aware=how)
        kind = partial(BinStore, tuner=tuner, decoder=decoder, sentences=sentences)
    folder.mkdir()
    made: Store = kind(
        directory=folder, metric=create("bleu"), references=references, names=decoder.names, k=100
    )
    return made


def all_bins(decoder: Any, weights: Weights, data: tuple[list[str], list[Any]]) -> float:
    """Potential BLEU of the best partial translations of all bins: what is optimised."""
    with TemporaryDirectory() as folder:
        store = store_for("potential", decoder, data, Path(folder) / "pool")
        store.add(0, decoder.decode_all(data[0], weights), weights)
        found = store.pool().candidates
        assert found is not None
        return 100 * found.corpus_score(store.metric, found.vector(weights))


def analyses(bench: Bench, write: bool) -> None:
    """Of MERT's first runs, as far as they are finished."""
    corpus = CORPORA["zh-en"]
    settings = [row("mert", how, 30) for how in HOWS]
    found = {s.label: bench.folder(corpus, "phrase", s, 1) for s in settings}
    found = {label: run for label, run in found.items() if (run / "weights.tsv").exists()}
    if not found:
        print("no finished run of mert; first: python bench/search_aware.py beam-30 --run")
        return
    model = Model.load(bench.model(corpus, "phrase", ()))
    parts = {}
    for part in ("dev", "test"):
        source, *references = bench.part(corpus, part)
        parts[part] = (lines_of(source), list(zip(*map(lines_of, references), strict=True)))
    decoder = model.decoder(beam=30, pop_limit=90)
    bins, lists, curves = [], [], {}
    for label, run in found.items():
        weights = Weights.load(run / "weights.tsv")
        best: dict[str, list[list[str]]] = {}
        for part, (sentences, _) in parts.items():
            forests = decoder.decode_all(sentences, weights)
            best[part] = [
                [d.text for d in kbest(forest, weights, 100, distinct=True)] or [""]
                for forest in forests
            ]
        final = bleu([some[0] for some in best["dev"]], parts["dev"][1])
        every = all_bins(decoder, weights, parts["dev"])
        bins.append([label, f"{final:.2f}", f"{every:.2f}"])
        cells = [label]
        for part, (_, references) in parts.items():
            texts = [text for some in best[part] for text in some]
            numbers = np.repeat(np.arange(len(references)), [len(some) for some in best[part]])
            counted = create("bleu").statistics(texts, references, sentences=numbers)
            top = bleu([some[0] for some in best[part]], references)
            cells += [f"{top:.2f}", f"{100 * oracle(counted, numbers).score:.2f}"]
            cells.append(f"{mean_diversity([some[:30] for some in best[part]]):.3f}")
        lists.append(cells)
        curves[label] = []
        for beam in BEAMS:
            other = model.decoder(beam=beam, pop_limit=max(30, 3 * beam))
            sentences, references = parts["test"]
            texts = []
            for forest in other.decode_all(sentences, weights):
                one = kbest(forest, weights, 1)
                texts.append(one[0].text if one else "")
            curves[label].append((float(beam), bleu(texts, references)))
    tables = "\n".join(
        [
            markdown(["dev BLEU", "final bin", "all bins"], bins),
            markdown(
                ["k-best lists", "dev 1-best", "oracle", "diversity",
                 "test 1-best", "oracle", "diversity"],
                lists,
            ),
            markdown(
                ["test BLEU with a beam of", *map(str, BEAMS)],
                [[label, *(f"{y:.2f}" for _, y in some)] for label, some in curves.items()],
            ),
        ]
    )  # fmt: skip
    print(f"\n{tables}")
    if write:
        values = [y for some in curves.values() for _, y in some]
        panels = {corpus.title: curves}
        around = (min(values) - 0.5, max(values) + 0.5)
        text = line_plot(panels, "beam", "test BLEU", y_range=around)
        FIGURE.write_text(text, encoding="utf-8")
        about = (
            "## Search-aware tuning: what changes\n\n`python bench/search_aware.py analyses "
            "--write`: MERT's weights, Bible zh-en, first seed, tuned with a beam of 30. All bins: "
            "potential BLEU of the best partial translation of each. Oracle of 100-best lists, "
            "diversity d' of bigrams in their first 30. Every beam decodes with the weights of "
            "beam 30; in figure 5 the paper seems to tune for each beam anew, which the section "
            f"with a small beam does for 4.\n\n![BLEU against beam]({FIGURE.name})\n\n"
        )
        write_section(RESULTS, "search-aware analyses", about + tables)


# -- table 8 --


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
    source, *references = CORPORA["zh-en"].files["dev"]
    texts = [lines_of(path)[:size] for path in (source, *references)]
    data = (texts[0], list(zip(*texts[1:], strict=True)))
    decoder = model.decoder(beam=30, pop_limit=90)
    start = Weights.load(model.directory / "weights.tsv")
    store = store_for(how, decoder, data, folder)
    random = np.random.default_rng(1)
    spent = 0.0
    for number in range(rounds):
        weights = start.copy()
        for name, value in start.items():
            weights[name] = value * float(np.exp(0.3 * number * random.normal()))
        forests = list(decoder.decode_all(data[0], weights))
        begin = time.process_time()
        store.add(number, iter(forests), weights)
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


def seconds(bench: Bench, dev: int, rounds: int, write: bool) -> None:
    """CPU seconds of optimising on pools of a few decodings, with and without bins."""
    model = Model.load(bench.model(CORPORA["zh-en"], "phrase", ()))
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
        for tuner, label in TUNERS.items():
            spent = dict.fromkeys(POOLS, 0.0)
            # By turns, so that a busy machine slows all down.
            for seed, name in product(range(1, SEEDS + 1), POOLS):
                cls = registry.get("tuner", tuner)
                made = config.from_mapping(cls, {"search_aware": name.partition(",")[0]})
                begin = time.process_time()
                with counted_lines() as more:
                    made.optimize(pools[name], start, Task(random=np.random.default_rng(seed)))
                spent[name] += (time.process_time() - begin) / SEEDS
                searches[name] += np.array(more) / SEEDS
            each = {name: 1e6 * spent[name] / counts[name] for name in POOLS}
            ours = [f"{value:.1f}" for some in (spent, each) for value in some.values()]
            ours += [f"{each['potential'] / each[name]:.2f}" for name in POOLS[:2]]
            paper = {"mert": ("3", "50"), "batch-mira": ("2", "7"), "pro": ("2", "6")}[tuner]
            lines.append([label, *ours, *paper])
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
        f"arrays of tuners, and {held['search']:.0f} more in MERT's line search. Means of {SEEDS} "
        "seeds, one thread."
    )
    head = ["CPU seconds of optimising", *POOLS, "µs a candidate: off", *POOLS[1:],
            "potential to off", "to off, larger", "paper's minutes: off", "all bins"]  # fmt: skip
    table = markdown(head, lines)
    print(f"{note}\n\n{table}")
    if write:
        about = "## What search-aware tuning costs\n\n`python bench/search_aware.py seconds`: "
        write_section(RESULTS, "search-aware seconds", f"{about}{note}\n\n{table}")


def own_command() -> argparse.Namespace | None:
    """What is asked for, if it is none of the studies."""
    names = sys.argv[1:2]
    if names and names[0] not in ("analyses", "seconds"):
        return None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("analyses", "seconds"))
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--sentences", type=int, default=30, help="of `seconds`")
    parser.add_argument("--rounds", type=int, default=6, help="decodings, of `seconds`")
    parser.add_argument("--train", type=int, default=SIZES.train)
    parser.add_argument("--dev", type=int, default=SIZES.dev)
    parser.add_argument("--test", type=int, default=SIZES.test)
    parser.add_argument("--iterations", type=int, default=6, help="of the runs for `analyses`")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


if __name__ == "__main__":
    asked = own_command()
    if asked is not None and data_is_here():
        sizes = Sizes(asked.train, asked.dev, asked.test)
        study = replace(STUDIES[0], sizes=sizes, iterations=asked.iterations)
        if asked.what != "analyses":
            seconds(Bench(study, asked.out), asked.sentences, asked.rounds, asked.write)
        if asked.what != "seconds":
            analyses(Bench(study, asked.out), asked.write)
    if asked is None or asked.what is None:
        main(STUDIES, __doc__, "search_aware.py")
