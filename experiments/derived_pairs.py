"""Lengths of the training pairs that forced decoding derives, compared with all pairs.

    python experiments/derived_pairs.py --write

Uses the models of maxforce.py, folds, and the phrases that MAXFORCE has at weights of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import (
    CORPORA,
    Corpus,
    Runner,
    Sizes,
    Study,
    data_folders,
    markdown,
    parser,
    write_section,
)
from harness.calls import forced
from maxforce_rows import GOLD, MODEL, TASKS, ZERO

from hopefear.base.files import open_input

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, None))


def forced_report(runner: Runner, corpus: Corpus) -> Path:
    """Returns the report of forced decoding of the training text."""
    size = runner.study.sizes.of("train") or "all"
    report = runner.out / "text" / f"{corpus.name}-derived-{size}.tsv"
    if not report.exists():
        weights = report.with_suffix(".weights")
        weights.write_text(ZERO, encoding="utf-8")
        model = runner.model(corpus, "phrase", MODEL)
        files, limit = runner.part(corpus, "train")[:2], {"table_limit": int(GOLD[1])}
        runner.call(forced, model, corpus, files, limit, weights, folds=True, output=report)
    return report


def ratio(words: Sequence[tuple[int, int]]) -> str:
    """Returns target words per source word."""
    return f"{sum(t for _, t in words) / max(sum(s for s, _ in words), 1):.3f}"


def derived_lengths(runner: Runner) -> str:
    """Returns a table of all and derived pairs by source length."""
    rows = []
    for corpus, _ in runner.tasks():
        counts = []
        for path in runner.part(corpus, "train")[:2]:
            with open_input(path) as file:
                counts.append([len(line.split()) for line in file])
        text = forced_report(runner, corpus).read_text(encoding="utf-8")
        lines = [line.split("\t") for line in text.splitlines()]
        kinds = [line[2] for line in lines]
        pairs = list(zip(*counts, kinds, strict=True))
        for low, high in (*LENGTHS, (1, None)):
            name = f"{low} to {high} words" if high else f"from {low} words" if low > 1 else "all"
            some = [pair for pair in pairs if low <= pair[0] and (high is None or pair[0] <= high)]
            every = [(s, t) for s, t, _ in some]
            derived = [(s, t) for s, t, kind in some if kind == "full"]
            sizes = [f"{len(every):,}", f"{len(derived):,}"]
            rows.append([f"{corpus.title}, {name}", *sizes, ratio(every), ratio(derived)])
        prefixes = [(int(line[3]), int(line[4])) for line in lines if line[2] == "prefix"]
        name = f"{corpus.title}, prefixes"
        rows.append([name, "-", f"{len(prefixes):,}", "-", ratio(prefixes)])
    return markdown(["pairs", "all", "derived", "target / source words: all", "derived"], rows)


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    made.add_argument("--corpora", nargs="+", choices=CORPORA, default=TASKS)
    made.add_argument("--train", type=int, default=0, help="training pairs; 0: all")
    made.add_argument("--minutes", type=float, default=120.0, help="time limit")
    a = made.parse_args()
    study = Study("derived pairs", "", [], a.corpora, sizes=Sizes(train=a.train or None))
    text = derived_lengths(Runner(study, **data_folders(a), minutes=a.minutes))
    print(f"\n{text}")
    if a.write:
        section = (
            "## Which training pairs can be derived\n\n`python experiments/derived_pairs.py "
            "--write`\n\nTraining pairs by the number of source words; decoded in folds, with 20 "
            "phrases per source phrase. 'Prefixes' are those of pairs that cannot be derived as a "
            "whole.\n\n"
        )
        write_section("maxforce", "derived pairs", section + text)


if __name__ == "__main__":
    main()
