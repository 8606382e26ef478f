"""The bound of MERT's steps: BLEU of each iteration on small corpora, by `max_step`.

The lists of one decoding of a small corpus are narrow, and an unbounded step goes where they say
nothing. Multi30k fr-en and Bible es-en with few training pairs; a second table has dev BLEU of each
iteration.

    python experiments/mert_bound.py --run             about 5 CPU minutes; call again to resume
"""

from __future__ import annotations

from harness import Runner, Setting, Sizes, Study, main, markdown

STEPS = (2, 0.6, 0.3, 0.15)


def curves(runner: Runner, write: bool) -> None:
    """Print dev BLEU of each iteration, a row for each bound and seed."""
    tables = []
    for corpus, system in runner.tasks():
        rows = []
        for setting in runner.study.settings:
            for run in runner.finished(corpus, system, setting):
                scores = [f"{record['bleu']:.2f}" for record in run.records()]
                rows.append([setting.label, *scores[:7], *["-"] * (7 - len(scores))])
        if rows:
            tables.append(markdown([f"{corpus.title}, dev BLEU", *"0123456"], rows))
    print(*tables, sep="\n")


STUDY = Study(
    "bound",
    "The bound of MERT's steps",
    [Setting(f"`max_step` {n}", "mert", (f"max_step={n}",)) for n in STEPS],
    corpora=("es-en", "fr-en"),
    sizes=Sizes(train=1500, dev=300),
    iterations=5,
    seeds=2,
    against="`max_step` 2",
    after=curves,
    page="batch-tuners",
)

if __name__ == "__main__":
    main(STUDY, __doc__)
