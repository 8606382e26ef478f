"""The scale of batch MIRA's start weights: BLEU of each iteration, by `stretch`.

Small development sets, where the first lists easily overwrite small start weights. Multi30k fr-en
and Bible zh-en; a second table has dev BLEU of each iteration.

    python experiments/tune_stretch.py --run             about 8 CPU minutes; call again to resume
"""

from __future__ import annotations

from harness import Runner, Setting, Sizes, Study, main, markdown, write_section

LENGTHS = (0, 2, 4, 10)


def curves(runner: Runner, write: bool) -> None:
    """Print dev BLEU of each iteration, a row for each scale."""
    tables = []
    for corpus, system in runner.tasks():
        rows = []
        for setting in runner.study.settings:
            for run in runner.finished(corpus, system, setting)[:1]:
                scores = [f"{record['bleu']:.2f}" for record in run.records()]
                rows.append([setting.label, *scores, *["-"] * (5 - len(scores))])
        if rows:
            tables.append(markdown([f"{corpus.title}, dev BLEU", *"01234"], rows))
    print(*tables, sep="\n")
    if write and tables:
        command = "python experiments/tune_stretch.py --run --write"
        text = f"Iterations 0 to 4, seed 1 (`{command}`).\n\n"
        write_section("batch-tuners", "stretch curves", text + "\n".join(tables))


STUDY = Study(
    "stretch",
    "The scale of batch MIRA's start weights",
    [Setting(f"`stretch` {n}", "batch-mira", (f"stretch={n}",)) for n in LENGTHS],
    corpora=("zh-en", "fr-en"),
    sizes=Sizes(dev=280),
    iterations=4,
    seeds=1,
    against="`stretch` 4",
    after=curves,
    page="batch-tuners",
)

if __name__ == "__main__":
    main(STUDY, __doc__)
