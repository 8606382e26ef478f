"""Tuning on the bitext: how much of it, with the dev set, and judged by text of its own domain.

    python experiments/bitext.py sizes --run --write     # thesis, tables 3.16 and 3.17
    python experiments/bitext.py domains --run --write   # table 3.18
    python experiments/bitext.py leaving-out --run --write

`mira` learns dense and sparse weights from training pairs in folds; the dev set selects the
iteration. `domains` also has the corpora without their last training pairs, which are the test set
instead. `sizes-hiero` and so on have the same rows with hierarchical
models. Each command takes at most 40 minutes (--minutes) and resumes when called again.
"""

from __future__ import annotations

from dataclasses import replace

from harness import BEST_ITERATION, Setting, Study, main
from harness.corpora import with_in_domain_test

MODEL = ("--clusters", "200", "--folds", "5")
TEMPLATES = ("--templates", "rule-id", "word-edges", "rule-bigrams")
SEARCH = ("--beam", "30", "--pop-limit", "60")
MIRA = ("C=0.001",)
STEADY = ("--patience", "0", "--kbest", "100")
SIZES = (1_000, 5_000, 10_000, None)
HELD_OUT = 1_000  # pairs at the end of the training text
CORPORA = ("de-en", "zh-en")
IN_DOMAIN = tuple(with_in_domain_test(name, HELD_OUT) for name in CORPORA)

MERT = Setting("MERT, dev set", "mert", tune=BEST_ITERATION, decode=SEARCH, train=MODEL)
DEV = Setting("MIRA, dev set", "mira", MIRA, STEADY, (*SEARCH, *TEMPLATES), MERT, train=MODEL)


def from_pairs(label: str, *tune: str, pairs: int | None = None) -> Setting:
    """Returns a row of MIRA on training pairs, from MERT's dense weights."""
    limit = () if pairs is None else ("--max-examples", str(pairs))
    return replace(
        DEV, label=label, tune=(*STEADY, *(tune or ("--folds",)), *limit), learn_from="train"
    )


def named(pairs: int | None) -> str:
    """Returns the label of a number of pairs."""
    return f"MIRA, {'all' if pairs is None else f'{pairs:,}'} pairs"


def then_dev(setting: Setting) -> Setting:
    """Returns a row that learns from the dev set after another row."""
    return replace(DEV, label=f"{setting.label}, then the dev set", start=setting)


ALL = from_pairs(named(None))
ROWS = {
    "sizes": [MERT, DEV, *(from_pairs(named(pairs), pairs=pairs) for pairs in SIZES)],
    "domains": [
        MERT,
        DEV,
        ALL,
        from_pairs("MIRA, all pairs and the dev set", "--folds", "--with-dev"),
        then_dev(ALL),
    ],
    "leaving-out": [
        MERT,
        from_pairs("folds", pairs=5_000),
        from_pairs("own rules left out", "--leave-out", pairs=5_000),
        from_pairs("nothing left out", "--max-examples", "5000"),
    ],
}
TITLES = {
    "sizes": "Sizes of the tuning text (thesis, tables 3.16 and 3.17)",
    "domains": "Bitext and dev set together (thesis, table 3.18)",
    "leaving-out": "What is left out of the model of a pair",
}


def studies() -> list[Study]:
    """Returns every table with phrase models and with hierarchical ones."""
    every = []
    for name, rows in ROWS.items():
        plain = Study(
            name,
            TITLES[name],
            rows,
            corpora=(*CORPORA, *IN_DOMAIN) if name == "domains" else CORPORA,
            columns=("features", "CPU s"),
            text="All sparse rows begin with the dense weights of MERT.",
            page="bitext",
        )
        every += [
            plain,
            replace(
                plain,
                name=f"{name}-hiero",
                title=f"{plain.title}, hierarchical",
                systems=("hiero",),
            ),
        ]
    return every


if __name__ == "__main__":
    main(studies(), __doc__)
