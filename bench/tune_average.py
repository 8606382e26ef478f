"""Which weights of a MERT run to keep: the best iteration's, the last ones', or a mean of the last.

Runs are made once (`mert`, all of the development set, at most 15 iterations, 100-best lists, one
thread); the means are made of their iterations' weights as `--average-last` does it, and each of
them translates the test set. Multi30k de-en and the Bible es-en: texts that nothing else in MERT
was chosen by.

    python bench/tune_average.py --run                 about 20 CPU minutes; again: goes on
    python bench/tune_average.py --run --corpora de-en --seeds 2 --write
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from support.results import markdown, write_section
from support.study import (
    CORPORA,
    REPOSITORY,
    RESULTS,
    SHARED,
    Bench,
    Corpus,
    Finished,
    Scores,
    Setting,
    Sizes,
    Study,
    data_is_here,
)

from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.loop.mean import last_iterations, mean_weights
from hopefear.metrics.tokenizing import tokenized

SETTING = Setting("mert", "mert", tune=("--average-last", "0", "--kbest", "100"), iterations=15)
COUNTS = (2, 3, 5, 8)


def chosen(run: Path) -> dict[str, Weights]:
    """By the names of the rows; the mean of the last half is that of no fixed number."""
    state = json.loads((run / "checkpoint" / "state.json").read_text(encoding="utf-8"))
    last = len(state["records"]) - 1
    intern = FeatureNames().intern
    held = frozenset(intern(name) for names in state["useless"].values() for name in names)

    def weights(number: int) -> Weights:
        return Weights.load(run / "iterations" / f"{number:02d}.tsv")

    rows = {"best iteration": Weights.load(run / "weights.tsv"), "last iteration": weights(last)}
    for count in COUNTS:
        numbers = last_iterations(last, count)
        rows[f"mean of the last {count}"] = mean_weights(
            [weights(number) for number in numbers], frozenset(), held
        )
    return rows


def translated(bench: Bench, corpus: Corpus, run: Path, label: str, weights: Weights) -> Finished:
    """The test set with these weights, if it is not done."""
    place = run.parent / f"{run.name}.{label.replace(' ', '-')}"
    text, file = place.with_name(place.name + ".txt"), place.with_name(place.name + ".tsv")
    if not text.exists():
        weights.save(file)
        bench.hopefear(
            "translate", "--model", bench.model(corpus, "phrase", ()), "--weights", file,
            *(["--tokenized"] if corpus.tokenized else []),
            "-i", bench.part(corpus, "test")[0], "-o", text, "--threads", bench.jobs,
        )  # fmt: skip
    lines = text.read_text(encoding="utf-8").splitlines()
    return Finished(place, {}, list(tokenized(lines, corpus.tokenize)))


def table(bench: Bench, corpus: Corpus) -> str:
    score = Scores(corpus, bench.part(corpus, "test")[1:])
    rows: dict[str, list[Finished]] = {}
    lengths = []
    for seed in range(1, bench.study.seeds + 1):
        run = bench.run(corpus, "phrase", SETTING, seed)
        lengths.append(len(list((run / "iterations").iterdir())) - 1)
        for label, weights in chosen(run).items():
            rows.setdefault(label, []).append(translated(bench, corpus, run, label, weights))
    first = next(iter(rows.values()))
    lines = []
    for label, found in rows.items():
        shown = [score.shown("bleu", one) for one in found]
        p = "-" if found is first else score.p_value("bleu", found, first)
        each = ", ".join(f"{value:.2f}" for value in shown)
        lines.append([label, f"{np.mean(shown):.2f}", f"{np.std(shown):.2f}", p, each])
    title = f"{corpus.title}, {', '.join(map(str, lengths))} iterations"
    return markdown([title, "test BLEU", "deviation", "p", "each seed"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", action="store_true", help="run what is not finished")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    parser.add_argument("--corpora", nargs="+", default=["de-en", "es-en"], choices=CORPORA)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--minutes", type=float, default=60.0, help="when to stop")
    parser.add_argument("--dev", type=int, help="only so many sentences of the dev set")
    parser.add_argument("--test", type=int, help="only so many sentences of the test set")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench" / "out" / "study")
    a = parser.parse_args()
    if not data_is_here():
        print(f"no {SHARED / 'golden' / 'aligned'}; set HOPEFEAR_SHARED")
        return
    if not a.run:
        print("not measured: give --run")
        return
    sizes = Sizes(dev=a.dev, test=a.test)
    study = Study("average", "", [SETTING], a.corpora, sizes=sizes, seeds=a.seeds)
    bench = Bench(study, a.out, a.minutes, jobs=1)
    tables = "\n".join(table(bench, CORPORA[name]) for name in a.corpora)
    print(f"\n{tables}")
    if a.write:
        text = (
            "## The mean of MERT's last iterations\n\n`python bench/tune_average.py --run "
            f"--write`: {sizes}; {a.seeds} seeds. p-values against the best iteration, by "
            "stratified approximate randomisation over all seeds. Of the last iterations no more "
            "than half are taken.\n\n"
        )
        write_section(RESULTS, "average", text + tables)


if __name__ == "__main__":
    main()
