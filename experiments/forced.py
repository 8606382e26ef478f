"""Reachability of Bible zh-en and es-en under forced decoding: table 3 and figures 6 and 7 of Yu et
al. 2013, with CPU seconds and memory.

    python experiments/forced.py --train 2000 --sentences 200      a try
    python experiments/forced.py --write                           all, into docs/results

Models have all phrases of the training text (`--limit 0`); they are made once and kept in
experiments/out. The figures use a sample of the training text, because wide distortion limits take
most of the time.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from harness import (
    CORPORA,
    RESULTS,
    Runner,
    Sizes,
    Study,
    data_folders,
    markdown,
    parser,
    write_section,
)
from harness.calls import forced

from hopefear.analysis.forced import draw
from hopefear.analysis.reachability import shares
from hopefear.base.files import open_input

LIMITS = (0, 2, 4, 6, 10, -1)
HEAD = ("pairs", "full", "words", "+prefix", "words", "gave up", "CPU s", "ms a pair", "peak MB")


def sample(paths: Sequence[Path], size: int, folder: Path) -> list[Path]:
    """Returns about `size` lines of parallel files, every k-th; 0: all."""
    if not size:
        return list(paths)
    with open_input(paths[0]) as file:
        step = max(1, sum(1 for _ in file) // size)
    folder.mkdir(parents=True, exist_ok=True)
    targets = []
    for path in paths:
        targets.append(folder / path.name.removesuffix(".gz"))
        with open_input(path) as file:
            targets[-1].write_bytes(b"".join(islice(file, 0, step * size, step)))
    return targets


def _limit(limit: int | str) -> str:
    return f"limit {limit}" if int(limit) >= 0 else "no limit"


def row(label: str, report: dict[str, Any]) -> list[str]:
    """Returns the cells of a row."""
    both = shares(report)
    cpu = report["cpu_seconds"]
    cells = [f"{share:.1%}" for name in ("full", "+prefix") for share in both[name]]
    each = f"{1000 * cpu / max(1, report['sentences']):.1f}"
    hits = f"{report['limit_hits']:,}"
    return [label, f"{report['sentences']:,}", *cells, hits, f"{cpu:.0f}", each,
            f"{report['peak_mb']:,}"]  # fmt: skip


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    made.add_argument("--corpora", nargs="+", choices=CORPORA, default=["zh-en", "es-en"])
    made.add_argument("--train", type=int, default=0, help="pairs to train on; 0: all")
    made.add_argument("--sentences", type=int, default=0, help="pairs for the table; 0: all")
    made.add_argument("--sample", type=int, default=2000, help="pairs for the figures")
    made.add_argument(
        "--max-states",
        type=int,
        default=100_000,
        help="limit of states in the searches for figures",
    )
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--minutes", type=float, default=120.0, help="time limit")
    a = made.parse_args()
    study = Study("forced", "What forced decoding reaches", [], sizes=Sizes(train=a.train or None))
    runner = Runner(study, **data_folders(a), minutes=a.minutes, jobs=a.threads)
    parts = []
    for name in a.corpora:
        corpus = CORPORA[name]
        model = runner.model(corpus, "phrase", ("--limit", "0"))
        train = runner.part(corpus, "train")[:2]
        texts = a.out / "text" / f"{name}-forced"
        some = sample(train, a.sentences, texts / f"train-{a.train}-{a.sentences}")
        dev = sample(runner.part(corpus, "dev"), a.sentences, texts / f"dev-{a.sentences}")
        rows = [
            row(label, runner.call(forced, model, corpus, files, limits, threads=a.threads, **more))
            for label, files, limits, more in (
                ("training text", some, {}, {}),
                ("without the pair's own rules", some, {"leave_out": True}, {}),
                ("20 phrases for a source phrase", some, {"table_limit": 20}, {}),
                ("dev set, one reference", dev[:2], {}, {}),
                ("dev set, a pair for each reference", dev, {}, {}),
                ("dev set, any reference", dev, {}, {"union": True}),
            )
        ]
        few = sample(train, a.sample, texts / f"figures-{a.train}-{a.sample}")
        plots = a.out / f"forced-{name}"
        limits = {"max_states": a.max_states}
        report = runner.call(forced, model, corpus, few, limits, limits=LIMITS, threads=a.threads)
        draw(report, plots)
        lengths = [
            [
                f"{here['from']}-{here['to']}",
                f"{here['sentences']:,}",
                *(f"{here['by_limit'][x]:.1%}" if x in here["by_limit"] else "-" for x in keys),
                "-" if here["derivations"] is None else f"{here['derivations']:.2g}",
            ]
            for keys in [[str(limit) for limit in LIMITS]]
            for here in report["lengths"]
        ]
        head = [_limit(limit) for limit in LIMITS]
        text = markdown([f"{corpus.title}, limit 6", *HEAD], rows)
        text += f"\n{report['sentences']:,} training pairs by number of source words"
        hits = [f"{n:,} at {_limit(x)}" for x, n in report["limit_hits_by_limit"].items() if n]
        text += f". Searches stopped at {a.max_states:,} states count as not reachable: "
        text += f"{', '.join(hits) or 'none'}.\n\n"
        text += markdown(["words", "pairs", *head, "derivations, limit 6"], lengths)
        for figure in ("reachability", "derivations"):
            picture = f"forced-{name}-{figure}.svg"
            text += f"\n![{corpus.title}: {figure} by length]({picture})\n"
            if a.write:
                shutil.copyfile(plots / f"{figure}.svg", RESULTS / picture)
        print("\n" + text, flush=True)
        parts.append(text)
    if a.write:
        train = f"the first {a.train:,}" if a.train else "all"
        command = "python experiments/forced.py --write"
        command += f" --sentences {a.sentences}" if a.sentences else ""
        write_section(
            "forced-decoding",
            "forced",
            f"## Reachability\n\n`{command}`\n\nPhrase models of {train} training pairs with all "
            "their phrases. 'full' and '+prefix' are shares of pairs, each followed by the share "
            "of source words (Yu et al. 2013, table 3, figures 6 and 7).\n\n" + "\n".join(parts),
        )


if __name__ == "__main__":
    main()
