"""The tables of sparse features: dense or sparse, by template, rates, selection, leave one out.

    python experiments/sparse_tables.py dense-sparse --run    # thesis, tables 3.5, 3.8, 4.3, 4.4
    python experiments/sparse_tables.py rates --run           # table 3.14: AdaGrad's lambda
    python experiments/sparse_tables.py top --run             # table 3.15: selection of features
    python experiments/sparse_tables.py leave-one-out --run   # without each template in turn

The first also shows the number of active features of each template (table 3.7). Each command takes
at most 40 minutes and resumes when called again. Sparse runs start from the weights of the dense
run of the same tuner, corpus and seed (thesis, 3.9).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from harness import COLUMNS, Finished, Runner, Setting, Sizes, Study, main, markdown, write_section

TEMPLATES = (
    "word-pairs",
    "word-context",
    "target-bigrams",
    "insertion",
    "deletion",
    "rule-id",
    "rule-shape",
    "structural-distortion",
    "count-discount",
)
ADAGRAD = ("rate=adagrad", "adagrad_lambda=0.01")
CORPORA = ("de-en", "zh-en")
SYSTEMS = ("phrase", "hiero")
#: Parts of the corpora, so that a table of two systems and three seeds takes about 15 minutes on
#: two cores; with fewer rules hierarchical search is fast enough.
SIZES = Sizes(train=10_000, dev=200, test=400)
SEARCH = ("--beam", "30", "--pop-limit", "60")


def dense(tuner: str) -> Setting:
    """Returns a row with dense features only."""
    return Setting(f"{tuner.upper()}, dense", tuner, (), ("--kbest", "100"), SEARCH)


def sparse(
    tuner: str, label: str, options: Sequence[str] = (), templates: Sequence[str] = TEMPLATES
) -> Setting:
    """Returns a row with all templates that starts from the weights of the dense run."""
    decode = (*SEARCH, "--templates", *templates)
    return Setting(label, tuner, tuple(options), ("--kbest", "100"), decode, dense(tuner))


def beside_dense(tuner: str, options: Sequence[str] = ()) -> list[Setting]:
    """Returns a dense and a sparse row; the sparse one is compared with the dense one."""
    first = dense(tuner)
    return [first, replace(sparse(tuner, f"{tuner.upper()}, sparse", options), against=first.label)]


def per_template(runs: Sequence[Finished]) -> dict[str, float]:
    """Returns the mean number of active features of each template over runs."""
    counts: Counter[str] = Counter()
    for run in runs:
        for line in (run.path / "weights.tsv").read_text(encoding="utf-8").splitlines():
            name, _, value = line.rpartition("\t")
            template = name.partition(":")[0]
            if float(value):
                counts[template if template in TEMPLATES else "dense"] += 1
    return {name: count / len(runs) for name, count in counts.items()}


def _at_start(runs: Sequence[Finished]) -> str:
    """Returns dev BLEU with the start weights."""
    first = np.mean([run.records()[0]["bleu"] for run in runs])
    return f"{first:.2f}"


COLUMNS["dev BLEU at the start"] = _at_start


def template_table(runner: Runner, write: bool) -> None:
    """Print the active features of sparse runs by template (thesis, table 3.7)."""
    rows = []
    for corpus, system in runner.tasks():
        for setting in runner.study.settings:
            runs = runner.finished(corpus, system, setting)
            if setting.start is None or not runs:
                continue
            counts = per_template(runs)
            label = f"{corpus.title}, {system}, {setting.label}"
            rows.append([label, *(f"{counts.get(name, 0):,.0f}" for name in TEMPLATES)])
    text = markdown(["active features", *TEMPLATES], rows)
    print(f"\n{text}")
    if write and rows:
        section = (
            "## Active features by template\n\nOf the sparse rows above (thesis, table 3.7).\n\n"
        )
        write_section("sparse", "active features", section + text)


LEARNERS = "learners=4"

STUDIES = [
    Study(
        "dense-sparse",
        "Dense and sparse features (thesis, tables 3.5, 3.8, 4.3, 4.4)",
        [
            *beside_dense("mira", ADAGRAD),
            *beside_dense("rm", (*ADAGRAD, "D=0.1")),  # as in the thesis, 4.3.1
            *beside_dense("pro"),
        ],
        text="Sparse rows use all templates, start from the dense weights of the row above and are "
        "compared with it.",
        after=template_table,
    ),
    Study(
        "rates",
        "Learning rates (thesis, table 3.14)",
        [
            sparse("mira", "one rate"),
            *(
                sparse("mira", f"AdaGrad, λ = {value}", ("rate=adagrad", f"adagrad_lambda={value}"))
                for value in ("0.001", "0.01", "0.1", "1")
            ),
        ],
        text="MIRA with all templates, from tuned dense weights.",
    ),
    Study(
        "top",
        "Feature selection (thesis, table 3.15)",
        [
            sparse("mira", "all", (*ADAGRAD, LEARNERS)),
            *(
                sparse("mira", f"top {k}", (*ADAGRAD, LEARNERS, f"top={k}"))
                for k in (300, 1000, 3000)
            ),
            *(
                replace(one, label=f"in {n} sentences", tune=(*one.tune, "--min-sentences", str(n)))
                for n in (2, 5)
                for one in [sparse("mira", "", (*ADAGRAD, LEARNERS))]
            ),
        ],
        text="MIRA with all templates and 4 learners. 'top k' keeps the k strongest features over "
        "all learners after each iteration; 'in n sentences' learns only features that occur in "
        "the translations of at least n sentences.",
    ),
    Study(
        "leave-one-out",
        "Leaving one template out",
        [
            sparse("mira", "all templates", ADAGRAD),
            *(
                sparse("mira", f"without `{out}`", ADAGRAD, [t for t in TEMPLATES if t != out])
                for out in TEMPLATES
            ),
        ],
        corpora=("zh-en",),
        text="MIRA, from tuned dense weights.",
    ),
]
STUDIES = [
    replace(
        study,
        sizes=SIZES,
        iterations=5,
        columns=("features", "dev BLEU at the start", "CPU s per iteration"),
        systems=SYSTEMS,
        page="sparse",
    )
    for study in STUDIES
]


if __name__ == "__main__":
    main(STUDIES, __doc__)
