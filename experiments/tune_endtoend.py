"""Tuning end to end compared with Moses: train, tune, translate, score; with two alignments.

Multi30k fr-en (one reference) and Bible zh-en (four), tokenised and lower-cased, with fast_align's
alignment (the one Moses had) or with ours, everything else equal. The phrase system has Moses's
settings: trigram model, phrases of 7 words, msd-bidirectional-fe reordering, distortion limit 6, 20
translations of a phrase; 100-best lists, two threads.

    python experiments/tune_endtoend.py                       MERT and batch MIRA, one seed
    python experiments/tune_endtoend.py --alignment fast_align ours --seeds 1 2 3

Finished runs are kept (--out); a run that was stopped resumes when the command is called again.
Moses's seconds are from a machine where `sum(i*i for i in range(10**7))` takes 1.05 s; they and the
budget are scaled to this machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

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
    parser,
)

PAIRS = ("fr-en", "zh-en")
# Test BLEU with all references and with the first, seconds of two threads.
MOSES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("fr-en", "mert"): (50.52, 50.52, 469),
    ("fr-en", "batch-mira"): (50.52, 50.52, 319),
    ("zh-en", "mert"): (30.76, 24.06, 1009),
    ("zh-en", "batch-mira"): (30.79, 23.77, 444),
}
COLUMNS = ("dev", "test", "first", "TER", "best/it", "wall s", "decode", "optim.", "CPU s")


def corpus_of(pair: str, alignment: str) -> Corpus:
    """Returns a corpus with the given alignment, or without one, to align it."""
    corpus = CORPORA[pair]
    if alignment == "fast_align":
        return corpus
    return replace(corpus, name=f"{pair}-{alignment}", align=None)


def row(name: str, score: Scores, run: Finished) -> None:
    """Print the scores and seconds of a run."""
    report = run.report
    numbers = [report["dev_bleu"], *(score.shown(kind, run) for kind in ("bleu", "first", "ter"))]
    cpu = sum(
        record.get(f"{phase}_cpu_seconds", 0.0)
        for record in run.records()
        for phase in ("decode", "optimise")
    )
    seconds = [report["seconds"], report["decode_seconds"], report["optimise_seconds"], cpu]
    cells = [f"{number:.2f}" for number in numbers]
    cells += [f"{report['best_iteration']}/{report['iterations']}", *(f"{s:.1f}" for s in seconds)]
    print(f"{name:<34}" + "".join(f"{cell:>9}" for cell in cells), flush=True)


def slowness() -> float:
    """Returns the seconds of this machine per second of the machine that Moses ran on."""
    start = time.process_time()
    sum(i * i for i in range(10**7))
    return (time.process_time() - start) / 1.05


def print_moses(pair: str, tuner: str, scale: float) -> None:
    """Print Moses's scores, its seconds scaled to this machine, and the budget."""
    if (pair, tuner) in MOSES:
        test, first, seconds = MOSES[pair, tuner]
        budget = 100.0 if pair == "fr-en" else seconds / 3
        print(
            f"{pair} {tuner}: Moses {test:.2f} ({first:.2f} with the first reference) in "
            f"{seconds * scale:.0f} s of this machine; budget: {budget * scale:.0f} s"
        )


def compare(pair: str, score: Scores, rows: dict[str, list[Finished]]) -> None:
    """Compare our alignments with fast_align's over seeds: means, deviations, p-value."""
    if len(rows) < 2:
        return
    for name, runs in rows.items():
        tests = [score.shown("bleu", run) for run in runs]
        spread = statistics.stdev(tests) if len(tests) > 1 else 0.0
        print(f"{pair} {name}: test {statistics.mean(tests):.2f} +- {spread:.2f}")
    p_value = score.p_value("bleu", rows["ours"], rows["fast_align"])
    print(f"{pair}: p = {p_value} for the difference between the alignments")


def measure(
    runner: Runner,
    pair: str,
    setting: Setting,
    alignments: Sequence[str],
    seeds: Sequence[int],
) -> None:
    """Print the rows of a tuner, Moses's results, and the comparison of alignments."""
    rows: dict[str, list[Finished]] = {}
    score = Scores(CORPORA[pair], runner.part(CORPORA[pair], "test")[1:])
    for alignment in alignments:
        corpus = corpus_of(pair, alignment)
        for seed in seeds:
            run = runner.result(corpus, runner.run(corpus, "phrase", setting, seed))
            row(f"{pair} {setting.tuner} {alignment} seed {seed}", score, run)
            rows.setdefault(alignment, []).append(run)
    print_moses(pair, setting.tuner, slowness())
    compare(pair, score, rows)


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    made.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=PAIRS)
    made.add_argument("--tuners", nargs="+", default=["mert", "batch-mira"])
    made.add_argument("--seeds", nargs="+", type=int, default=[1])
    made.add_argument(
        "--alignment", nargs="+", default=["fast_align"], choices=["fast_align", "ours"]
    )
    made.add_argument("--order", type=int, default=3, help="order of the language model")
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--iterations", type=int, default=15)
    made.add_argument("--minutes", type=float, default=240.0, help="time limit")
    for part in ("train", "dev", "test"):
        made.add_argument(f"--{part}", type=int, help=f"number of {part} sentences; by default all")
    made.add_argument("--more", nargs="*", default=[], help="options for tune, name=value")
    a = made.parse_args()
    folders = data_folders(a)
    tune = ("--kbest", "100", *(f"--{word}" for word in a.more))
    settings = [
        Setting(name, name, tune=tune, train=("--order", str(a.order)), threads=a.threads)
        for name in a.tuners
    ]
    sizes = Sizes(a.train, a.dev, a.test)
    study = Study("end to end", "", settings, a.pairs, sizes=sizes, iterations=a.iterations)
    runner = Runner(study, **folders, minutes=a.minutes, jobs=a.threads)
    print(f"{'':<34}" + "".join(f"{name:>9}" for name in COLUMNS))
    for pair in a.pairs:
        for setting in settings:
            measure(runner, pair, setting, a.alignment, a.seeds)


if __name__ == "__main__":
    main()
