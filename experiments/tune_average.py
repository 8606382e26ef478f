"""Which weights of a MERT run to keep: the best iteration, the last one, or a mean of the last.

Runs are made once (`mert`, all of the development set, at most 15 iterations, 100-best lists, one
thread); the means are made of their iterations' weights as by `--average-last`, and each of them
translates the test set. Multi30k de-en and Bible es-en, which no other choice in MERT was based on.

    python experiments/tune_average.py --run            about 20 CPU minutes; call again to resume
    python experiments/tune_average.py --run --corpora de-en --seeds 2 --write
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from harness import (
    CORPORA,
    Corpus,
    Finished,
    Runner,
    Scores,
    Setting,
    Sizes,
    Study,
    data_folders,
    markdown,
    parser,
    write_section,
)
from harness.calls import translate

from hopefear.base.weights import FeatureNames, Weights
from hopefear.learn.loop.mean import last_iterations, mean_weights
from hopefear.metrics.tokenizing import tokenized

SETTING = Setting("mert", "mert", tune=("--average-last", "0", "--kbest", "100"), iterations=15)
COUNTS = (2, 3, 5, 8)


def chosen(run: Path) -> dict[str, Weights]:
    """Takes a run; returns the weights of each row by its label."""
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


def translated(runner: Runner, corpus: Corpus, run: Path, label: str, weights: Weights) -> Finished:
    """Translate the test set with some weights unless that is done; returns the output."""
    stem = run.parent / f"{run.name}.{label.replace(' ', '-')}"
    text, file = stem.with_name(stem.name + ".txt"), stem.with_name(stem.name + ".tsv")
    if not text.exists():
        weights.save(file)
        source = runner.part(corpus, "test")[0]
        model = runner.model(corpus, "phrase", ())
        runner.call(translate, text, corpus, model, file, source, threads=runner.jobs)
    lines = text.read_text(encoding="utf-8").splitlines()
    return Finished(stem, {}, list(tokenized(lines, corpus.tokenize)))


def table(runner: Runner, corpus: Corpus) -> str:
    """Returns the table of a corpus in Markdown."""
    score = Scores(corpus, runner.part(corpus, "test")[1:])
    rows: dict[str, list[Finished]] = {}
    lengths = []
    for seed in range(1, runner.study.seeds + 1):
        run = runner.run(corpus, "phrase", SETTING, seed)
        lengths.append(len(list((run / "iterations").iterdir())) - 1)
        for label, weights in chosen(run).items():
            rows.setdefault(label, []).append(translated(runner, corpus, run, label, weights))
    first = next(iter(rows.values()))
    lines = []
    for label, runs in rows.items():
        shown = [score.shown("bleu", run) for run in runs]
        p = "-" if runs is first else score.p_value("bleu", runs, first)
        each = ", ".join(f"{value:.2f}" for value in shown)
        lines.append([label, f"{np.mean(shown):.2f}", f"{np.std(shown):.2f}", p, each])
    title = f"{corpus.title}, {', '.join(map(str, lengths))} iterations"
    return markdown([title, "test BLEU", "deviation", "p", "each seed"], lines)


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    made.add_argument("--run", action="store_true", help="run what is not finished yet")
    made.add_argument("--corpora", nargs="+", default=["de-en", "es-en"], choices=CORPORA)
    made.add_argument("--seeds", type=int, default=3, help="number of seeds")
    made.add_argument("--minutes", type=float, default=60.0, help="time limit")
    made.add_argument("--dev", type=int, help="number of dev sentences; by default all")
    made.add_argument("--test", type=int, help="number of test sentences; by default all")
    a = made.parse_args()
    folders = data_folders(a)
    if not a.run:
        print("not measured: give --run")
        return
    sizes = Sizes(dev=a.dev, test=a.test)
    study = Study("average", "", [SETTING], a.corpora, sizes=sizes, seeds=a.seeds)
    runner = Runner(study, **folders, minutes=a.minutes, jobs=1)
    tables = "\n".join(table(runner, CORPORA[name]) for name in a.corpora)
    print(f"\n{tables}")
    if a.write:
        text = (
            "## The mean of MERT's last iterations\n\n`python experiments/tune_average.py --run "
            f"--write`\n\n{sizes}; {a.seeds} seeds. p-values against the best iteration. A mean "
            "takes at most half of all iterations.\n\n"
        )
        write_section("batch-tuners", "average", text + tables)


if __name__ == "__main__":
    main()
