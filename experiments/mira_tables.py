"""The tables of online learning: selection, learners, cutting plane, bound, and all tuners.

    python experiments/mira_tables.py selection --run --write     # thesis, tables 3.3 and 3.4
    python experiments/mira_tables.py learners --run --write      # table 3.9: 1, 5, 15 learners
    python experiments/mira_tables.py steps --run --write         # table 3.10: cutting plane, PA …
    python experiments/mira_tables.py bound --run --write         # table 4.7: B and k
    python experiments/mira_tables.py dense --run --write         # tables 4.3, 4.4: MERT, PRO, … RM
    python experiments/mira_tables.py contexts --run --write      # context of sentence BLEU
    python experiments/mira_tables.py units --run --write         # B, C and D as printed
    python experiments/mira_tables.py regimes --run --write       # rates, mixing, averages, forests

These use phrase models; `selection-hiero` and so on have the same rows with hierarchical models,
which are smaller and learn from fewer sentences, since their decoder takes ten times as long. Each
command takes 10 to 20 minutes on two cores and resumes where it was stopped. Rows that several
tables share are run once.
"""

from __future__ import annotations

from dataclasses import replace

from harness import BEST_ITERATION, Setting, Sizes, Study, main

MERT = Setting("mert", "mert", tune=BEST_ITERATION)
MIRA, RM = Setting("mira", "mira"), Setting("rm", "rm")

#: Contexts of sentence BLEU.
LAST_PASS = ("cost=bleu-context", "cost_options=bleu-context.context=previous")
DOCUMENT = (
    "cost=bleu-context",
    "cost_options=bleu-context.context=document bleu-context.scale=source-length "
    "bleu-context.decay=0.9",
)


def mira(label: str, *options: str) -> Setting:
    """Returns a row of a table: MIRA with these options."""
    return Setting(label, "mira", options)


def rm(label: str, *options: str, kbest: int | None = None) -> Setting:
    """Returns a row of a table: relative margin with these options."""
    return Setting(label, "rm", options, ("--kbest", str(kbest)) if kbest else ())


TABLES = [
    Study(
        "selection",
        "Derivations to learn towards and away from (thesis, tables 3.3 and 3.4)",
        [
            replace(MIRA, label="hope / fear"),
            *(
                mira(f"{towards} / {away}", f"towards={towards}", f"away={away}")
                for towards, away in (
                    ("hope", "max-cost"),
                    ("hope", "model-best"),
                    ("local", "fear"),
                    ("local", "max-cost"),
                    ("local", "model-best"),
                )
            ),
            mira(
                "max-bleu / model-best",
                "towards=max-bleu",
                "away=model-best",
                "oracle_kbest=5000",
            ),
        ],
        text="max-bleu: the best translation of a 5,000-best list.",
    ),
    Study(
        "learners",
        "Number of learners (thesis, table 3.9)",
        [replace(MIRA, label="1"), mira("5", "learners=5"), mira("15", "learners=15")],
        text="The learners ran one after the other; on n machines an iteration would take 1/n of "
        "the time.",
    ),
    Study(
        "steps",
        "Update rules (thesis, table 3.10)",
        [
            replace(MIRA, label="pa"),
            *(mira(step, f"step={step}") for step in ("cutting-plane", "kbest", "perceptron")),
            replace(RM, label="rm-pa"),
            rm("rm-cp", "step=rm-cp"),
        ],
    ),
    Study(
        "bound",
        "Relative margin: bound B and list size k (thesis, table 4.7)",
        [
            replace(RM, label="B 1, k 500"),
            rm("B 0.1, k 500", "B=0.1"),
            rm("B 0.5, k 500", "B=0.5"),
            rm("B 2, k 500", "B=2"),
            rm("B 5, k 500", "B=5"),
            rm("B 1, k 100", kbest=100),
            rm("B 1, k 2000", kbest=2000),
        ],
    ),
    Study(
        "contexts",
        "Context of sentence BLEU, by learners",
        [
            mira("1, last pass", *LAST_PASS),
            mira("1, document", *DOCUMENT),
            mira("5, last pass", *LAST_PASS, "learners=5"),
            mira("5, document", *DOCUMENT, "learners=5"),
            mira("15, last pass", *LAST_PASS, "learners=15"),
            mira("15, document", *DOCUMENT, "learners=15"),
        ],
        text="Last pass: the statistics of all 1-best translations of the last pass, of all "
        "learners. Document: Chiang's decaying sums, scaled by source length (decay 0.9), of the "
        "learner's own sentences.",
    ),
    Study(
        "units",
        "Relative margin in the units of the thesis",
        [
            replace(MIRA, label="mira, scale 10, C 0.01"),
            replace(RM, label="rm, scale 10, B 10, C 0.01, D 0.01 (ours)"),
            rm("rm, scale 10, B 1, C 0.01, D 0.01", "B=0.1"),
            mira("mira, scale 1, C 0.01", "scale=1"),
            rm("rm, scale 1, B 1, C 0.01, D 0.01", "scale=1"),
            rm("rm, scale 1, B 1, C 0.01, D 0.1", "scale=1", "D=0.1"),
        ],
        columns=("spread",),
        text="B, C and D as they are printed, in units of the model score; in our options B is "
        "multiplied by the scale of the cost. Spread: from the learned to the worst hypothesis of "
        "a list, in the last iteration.",
    ),
    Study(
        "regimes",
        "Rates, mixing, averages and spaces",
        [
            MIRA,
            mira("AdaGrad", "rate=adagrad"),
            mira("AROW", "rate=arow"),
            mira("5 learners, mixed after each iteration", "learners=5"),
            mira("5 learners, mixed at the end", "learners=5", "mixing=end"),
            mira("mean of iterations", "average=iterations"),
            mira("mean of learners' iterations", "learners=5", "average=learners"),
            mira("no mean", "average=none"),
            mira("whole forests", "space=forest"),
        ],
    ),
    Study(
        "dense",
        "Tuners with dense features (thesis, tables 4.3 and 4.4)",
        [MERT, *(Setting(name, name) for name in ("pro", "rampion", "batch-mira")), MIRA, RM],
        sizes=Sizes(train=20_000, dev=400, test=600),
        iterations=8,
    ),
]


def studies() -> list[Study]:
    """Returns every table with phrase models and with hierarchical models."""
    studies = []
    for table in TABLES:
        columns = (*table.columns, "iterations", "CPU s per iteration")
        sizes = table.sizes if table.sizes.dev else Sizes(train=20_000, dev=200, test=600)
        studies.append(replace(table, columns=columns, sizes=sizes, page="online"))
        studies.append(
            replace(
                studies[-1],
                name=f"{table.name}-hiero",
                title=f"{table.title}, hierarchical",
                settings=[
                    replace(s, train=("--min-hiero-count", "2"), decode=("--pop-limit", "60"))
                    for s in table.settings
                ],
                systems=("hiero",),
                sizes=Sizes(train=8_000, dev=100, test=300),
                iterations=5,
            )
        )
    return studies


if __name__ == "__main__":
    main(studies(), __doc__)
