"""Whether the pairs that forced decoding derives are like all others, by their lengths.

    python experiments/derived_pairs.py --write

Of the training text, with the models of maxforce.py, in folds, with the phrases that MAXFORCE has
at weights of 0. A command that was stopped makes no model again.
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
    markdown,
    parser,
    place,
    write_section,
)
from harness.calls import forced
from maxforce_rows import GOLD, MODEL, TASKS, ZERO

from hopefear.base.files import open_input

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, None))


def forced_report(runner: Runner, corpus: Corpus) -> Path:
    """What forced decoding says of the training text, with the phrases that MAXFORCE has at 0."""
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
    """Target words for a source word."""
    return f"{sum(t for _, t in words) / max(sum(s for s, _ in words), 1):.3f}"


def derived_lengths(runner: Runner) -> str:
    """Whether pairs that can be derived are like all others, by the length of their sources."""
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
    made = parser(__doc__)
    made.add_argument("--corpora", nargs="+", choices=CORPORA, default=TASKS)
    made.add_argument("--train", type=int, default=0, help="training pairs; 0: all")
    made.add_argument("--minutes", type=float, default=120.0, help="when to stop")
    a = made.parse_args()
    study = Study("derived pairs", "", [], a.corpora, sizes=Sizes(train=a.train or None))
    text = derived_lengths(Runner(study, **place(a), minutes=a.minutes))
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
