"""Rerankers beside what people use instead: a grid, boosted trees, MBR, Moses's mert.

    pip install lightgbm scikit-learn
    python experiments/rerank_baselines.py             # about 15 CPU minutes
    python experiments/rerank_baselines.py --write     # also into docs/results/reranking.md

The lists are those of a small transformer for Multi30k de-en (`data/neural-nbest-de-en`).
Everything is learned from the lists of the dev set; dev scores are cross-validated with the same
five folds for every method. BLEU is that of 13a tokens. Moses's figures are recorded ones
(`golden/tuning`), on lists that our mert gets as they are, from the same initial weights.
"""

from __future__ import annotations

import gzip
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import CORPORA, data_folders, markdown, parser, write_section
from numpy.typing import NDArray

from hopefear.base.weights import Weights
from hopefear.forest.io.nbest import NbestList
from hopefear.learn.batch.mert import Mert
from hopefear.learn.list_features.agreement import Agreement
from hopefear.learn.list_features.base import CandidateList
from hopefear.learn.pool.candidates import Candidates, FeatureTable, from_arrays
from hopefear.learn.rerank import RerankJob
from hopefear.learn.rerank_mbr import ExpectedUtility
from hopefear.learn.rerank_options import RerankOptions
from hopefear.learn.rerank_tuning import best_rows, split, tune_reranker
from hopefear.learn.tuner import Pool, Task
from hopefear.metrics import create
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.significance import paired_bootstrap

FOLDS, SEED = 5, 1
GRID = np.arange(-20, 21) / 10  # of two weights; the third is 1, as scores have no scale
KINDS = {"beam": "lists of a beam of 50", "sample": "50 samples"}
MOSES = "51.04 / 50.90 / 50.94"  # BLEU of its mert with seeds 1, 2, 3

Rows = NDArray[np.int64]
#: takes training lists and lists to choose from, returns the chosen rows of the latter
Method = Callable[[Candidates, Candidates], Rows]


def job(data: Path, part: str, kind: str) -> RerankJob:
    """Reads the lists of a part."""
    corpus = CORPORA["de-en"]
    return RerankJob(
        RerankOptions(
            nbest=data / "data" / "neural-nbest-de-en" / f"{part}.{kind}.jsonl.gz",
            tuner="mert",
            refs=[data / corpus.files[part][1]],
            tokenize="13a",
        )
    )


def columns(candidates: Candidates, names: list[str]) -> Candidates:
    """Returns the candidates with some of their features only."""
    ids = candidates.features.ids.tolist()
    chosen = [ids.index(candidates.names.intern(name)) for name in names]
    table = FeatureTable(
        candidates.features.ids[chosen],
        np.ascontiguousarray(candidates.features.dense[:, chosen]),
    )
    return Candidates(
        candidates.begin, candidates.sentences, table, candidates.statistics, candidates.names
    )


def with_column(candidates: Candidates, name: str, values: NDArray[np.float64]) -> Candidates:
    """Returns the candidates with one more feature."""
    table = FeatureTable(
        np.append(candidates.features.ids, np.uint64(candidates.names.intern(name))),
        np.ascontiguousarray(
            np.column_stack([candidates.features.dense, values]).astype(np.float32)
        ),
    )
    return Candidates(
        candidates.begin, candidates.sentences, table, candidates.statistics, candidates.names
    )


def utilities(made: RerankJob, utility: Any) -> NDArray[np.float64]:
    """Returns the expected utility of every candidate, in the order of the candidates."""
    by_list = [utility(list_) for list_ in made.lists.read]
    return np.array([by_list[number][place] for number, place in made.lists.rows.tolist()])


def mert(train: Candidates, test: Candidates) -> Rows:
    """Chooses with the weights of mert."""
    tuned = tune_reranker(create("bleu"), train, Mert, Weights(), seed=SEED, threads=1)
    return best_rows(test, tuned.optimized.weights)


def grid(train: Candidates, test: Candidates) -> Rows:
    """Chooses with the best weights of an exhaustive grid over three features."""
    bleu = create("bleu")
    best, weights = -1.0, np.zeros(3)
    for second in GRID:
        for third in GRID:
            tried = np.array([1.0, second, third])
            score = train.corpus_score(bleu, tried)
            if score > best:
                best, weights = score, tried
    return test.best(test.scores(weights))


def trees(train: Candidates, test: Candidates) -> Rows:
    """Chooses with LightGBM's lambdarank, on features relative to the mean of each list."""
    import lightgbm

    def relative(c: Candidates) -> NDArray[np.float64]:
        sizes = np.diff(c.begin)
        means = np.add.reduceat(c.features.dense, c.begin[:-1], axis=0) / sizes[:, None]
        return np.hstack([c.features.dense - np.repeat(means, sizes, axis=0), c.features.dense])

    gains = BleuPlusOne().sentence_scores(train.statistics)
    labels = np.clip(np.round(30 * gains), 0, 30).astype(int)
    model = lightgbm.LGBMRanker(
        objective="lambdarank",
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=50,
        label_gain=list(range(31)),
        random_state=SEED,
        n_jobs=1,
        verbose=-1,
        deterministic=True,
    )
    model.fit(relative(train), labels, group=np.diff(train.begin))
    return test.best(np.asarray(model.predict(relative(test)), np.float64))


def table(data: Path, kind: str) -> str:
    """Returns the table of one kind of lists."""
    bleu = create("bleu")
    dev, test = job(data, "dev", kind), job(data, "test", kind)
    lists = {"dev": dev.lists.candidates, "test": test.lists.candidates}
    three = ["forward", "backward", "lm"]
    agree = Agreement(metric="chrf", tokenize="none")

    def agreed(list_: NbestList) -> NDArray[np.float64]:
        return np.asarray(agree.columns(CandidateList(list_))["agreement.chrf"], np.float64)

    extended = {
        name: with_column(
            made.lists.candidates,
            "agreement",
            utilities(made, agreed),
        )
        for name, made in (("dev", dev), ("test", test))
    }

    def first(_: Candidates, c: Candidates) -> Rows:
        return np.asarray(c.begin[:-1])

    def largest(name: str) -> Method:
        return lambda _, c: c.best(columns(c, [name]).features.dense[:, 0].astype(np.float64))

    posterior = Weights({"forward": 1.0})
    mbr = {
        name: with_column(
            made.lists.candidates,
            "mbr",
            utilities(made, ExpectedUtility("bleu", posterior, tokenize="13a").expected),
        )
        for name, made in (("dev", dev), ("test", test))
    }
    small = {name: columns(c, three) for name, c in lists.items()}
    # Each with the lists that have its features.
    methods: dict[str, tuple[dict[str, Candidates], Method]] = {
        "first best": (lists, first),
        "grid of 1,681 points, 3 features": (small, grid),
        "`mert`, the same 3 features": (small, mert),
        "`mert`, 5 features": (lists, mert),
        "LightGBM lambdarank, 5 features": (lists, trees),
        "MBR, chrF, equal weights": (extended, largest("agreement")),
        "MBR, BLEU, posterior of `forward`": (mbr, largest("mbr")),
        "`mert`, 5 features and agreement (chrF)": (extended, mert),
    }
    rows, kept = [], {}
    for label, (parts, method) in methods.items():
        start = time.process_time()
        train, new = parts["dev"], parts["test"]
        on_dev = method(train, train)
        on_test = method(train, new)
        held_out = np.zeros(train.groups, np.int64)
        for learned, tested in split(train, FOLDS, SEED):
            part = train.part(tested)
            chosen = method(train.part(learned), part)
            held_out[tested] = chosen - part.begin[:-1] + train.begin[:-1][tested]
        seconds = time.process_time() - start
        kept[label] = new.statistics[on_test]

        def p(other: str, label: str = label) -> str:
            if other not in kept or other == label or label == "first best":
                return "-"
            return f"{paired_bootstrap(bleu, [kept[label]], [kept[other]]).p_value:.3f}"

        rows.append(
            [
                label,
                f"{float(bleu.shown(train.total(on_dev))):.2f}",
                f"{float(bleu.shown(train.total(held_out))):.2f}",
                f"{float(bleu.shown(new.total(on_test))):.2f}",
                p("first best"),
                p("`mert`, 5 features"),
                f"{seconds:.1f}",
            ]
        )
        print(kind, *rows[-1], flush=True)
    head = [f"Multi30k de-en, {KINDS[kind]}", "dev, tuned on it", "dev, 5 folds", "test"]
    return markdown([*head, "p, first best", "p, `mert`", "CPU s"], rows)


def beside_moses(data: Path) -> str:
    """Returns the table of our mert on the lists of Moses's."""
    with gzip.open(data / "golden" / "tuning" / "pool.tsv.gz", "rt") as file:
        names = file.readline().split()[1:15]
        numbers = np.loadtxt(file)
    made = from_arrays(numbers[:, 0], numbers[:, 1:15], numbers[:, 15:].astype(int), names)
    start = dict(zip(names, [0.3] * 7 + [0.5, -1.0] + [0.2] * 5, strict=True))
    pool = Pool(metric=create("bleu"), candidates=made)
    scores, seconds = [], []
    for seed in (1, 2, 3):
        begin = time.process_time()
        task = Task(random=np.random.default_rng(seed), threads=1)
        scores.append(100 * Mert().optimize(pool, Weights(start), task).objective)
        seconds.append(time.process_time() - begin)
    rows = [
        ["Moses, `mert`, 20 restarts", MOSES, "19 to 25 (recorded, another machine)"],
        [
            "`mert`",
            " / ".join(f"{score:.2f}" for score in scores),
            f"{min(seconds):.1f} to {max(seconds):.1f}",
        ],
    ]
    return markdown(["55,722 candidates of 400 sentences, 14 features", "BLEU", "CPU s"], rows)


def main() -> None:
    """Runs the command line."""
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    arguments = parser(__doc__)
    arguments.add_argument("--lists", nargs="+", choices=KINDS, default=[*KINDS])
    a = arguments.parse_args()
    data = data_folders(a)["data"]
    if not (data / "data" / "neural-nbest-de-en").is_dir():
        print(f"no {data / 'data' / 'neural-nbest-de-en'}")
        return
    tables = [table(data, kind) for kind in a.lists]
    if (data / "golden" / "tuning").is_dir():
        tables.append(beside_moses(data))
    print("", *tables, sep="\n")
    if a.write:
        text = (
            "## Beside a grid, boosted trees and minimum Bayes risk\n\n"
            "`python experiments/rerank_baselines.py --write`\n\n"
            "The grid has 41 values for each of two weights, relative to that of `forward`. "
            "LightGBM has 200 trees of 15 leaves on the features and their differences from the "
            "mean of the list, and BLEU+1 in 31 steps as relevance. Folds and seed are the same "
            "for all. "
            "Seconds are those of tuning and choosing six times, without the utilities of MBR. "
            "p-values: paired bootstrap on the test set.\n\n"
        )
        write_section("reranking", "baselines", text + "\n".join(tables))


if __name__ == "__main__":
    main()
