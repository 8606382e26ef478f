"""How long the weights are that batch MIRA starts from: BLEU of each iteration, by `stretch`.

On the beginning of the development sets, where short start weights are lost most easily beside the
first lists. Multi30k fr-en and the Bible zh-en; the tables have what `support/study.py` gives all
of them, and the one below them the development set iteration by iteration.

    python bench/tune_stretch.py --run             about 8 CPU minutes; again: goes on
"""

from __future__ import annotations

from support.results import markdown, write_section
from support.study import RESULTS, Bench, Setting, Sizes, Study, main

LENGTHS = (0, 2, 4, 10)
STUDY = Study(
    "stretch",
    "The length of batch MIRA's start weights",
    [Setting(f"`stretch` {n}", "batch-mira", (f"stretch={n}",)) for n in LENGTHS],
    corpora=("zh-en", "fr-en"),
    sizes=Sizes(dev=280),
    iterations=4,
    seeds=1,
    against="`stretch` 4",
)


def curves(bench: Bench) -> str:
    """Development BLEU of iterations, a row for each length."""
    tables = []
    for corpus, system in bench.tasks():
        rows = []
        for setting in bench.study.settings:
            for run in bench.finished(corpus, system, setting)[:1]:
                scores = [f"{record['bleu']:.2f}" for record in run.records()]
                rows.append([setting.label, *scores, *["-"] * (5 - len(scores))])
        tables.append(markdown([f"{corpus.title}, dev BLEU", *"01234"], rows))
    return "\n".join(tables)


if __name__ == "__main__":
    import sys

    for bench in main(STUDY, __doc__, "tune_stretch.py"):
        tables = curves(bench)
        print(tables)
        if "--write" in sys.argv:
            text = "Iterations 0 to 4, seed 1 (`python bench/tune_stretch.py --run --write`).\n\n"
            write_section(RESULTS, "stretch curves", text + tables)
