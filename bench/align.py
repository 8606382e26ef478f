"""Word alignment: CPU seconds and memory beside fast_align's, and how alike the alignments are.

Aligns Multi30k fr-en and the Bible zh-en (both directions, grow-diag-final-and), each in its own
process. fast_align's seconds were taken where a loop of ten million squares took 1.05 s and are
scaled by what it takes here; budget: half of them. Agreement is with fast_align's links: a check of
sanity, not of quality.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.figures import Figure, main
from support.machine import Cost, first_lines, measured, shared, slowness

from hopefear.align import align_files
from hopefear.align.pharaoh import read_alignments, sentence_lengths
from hopefear.base.console import table

FAST_ALIGN_SECONDS = {"fr-en": 20.0, "zh-en": 58.0}
PAIRS = {"fr-en": 29_000, "zh-en": 27_698}  # of the whole texts
BUDGET = 0.5
HEADER = (
    *("text", "aligner", "cpu s", "of fast_align", "wall s", "peak MB", "links"),
    *("unaligned src %", "tgt %", "precision", "recall", "F1"),
)
Links = list[set[tuple[int, int]]]


def unaligned(alignments: Links, lengths: list[tuple[int, int]]) -> list[str]:
    free = [0, 0]
    for points, sizes in zip(alignments, lengths, strict=True):
        for side in (0, 1):
            free[side] += sizes[side] - len({point[side] for point in points})
    return [f"{100 * free[s] / sum(sizes[s] for sizes in lengths):.1f}" for s in (0, 1)]


def links(path: Path) -> Links:
    return [set(points) for points in read_alignments(path)]


def align(pair: str, lines: int | None, threads: int) -> tuple[Cost, Links]:
    with tempfile.TemporaryDirectory() as scratch:
        folder, output = shared(f"golden/aligned/{pair}"), Path(scratch) / "align"
        texts = [
            first_lines(folder / f"train.{side}.gz", lines, Path(scratch) / side)
            for side in pair.split("-")
        ]
        return measured(align_files, *texts, output, threads=threads), links(output)


def rows(pair: str, threads: int, scale: float) -> list[list[str]]:
    folder = shared(f"golden/aligned/{pair}")
    cost, ours = align(pair, None, threads)
    theirs = links(folder / "train.gdfa.gz")
    sides = (folder / f"train.{side}.gz" for side in pair.split("-"))
    lengths = list(sentence_lengths(*sides))
    common = sum(len(a & b) for a, b in zip(ours, theirs, strict=True))
    count, their_count = sum(map(len, ours)), sum(map(len, theirs))
    reference = FAST_ALIGN_SECONDS[pair] * scale
    agreement = [common / count, common / their_count, 2 * common / (count + their_count)]
    return [
        [
            *(pair, "hopefear", f"{cost.cpu:.2f}", f"{100 * cost.cpu / reference:.0f}%"),
            *(f"{cost.wall:.2f}", f"{cost.peak_mb:.0f}", str(count), *unaligned(ours, lengths)),
            *(f"{value:.3f}" for value in agreement),
        ],
        [
            *(pair, "fast_align", f"{reference:.2f}", "100%", "-", "-", str(their_count)),
            *(*unaligned(theirs, lengths), "-", "-", "-"),
        ],
    ]


def run(quick: bool) -> list[Figure]:
    lines = 10_000 if quick else None
    figures = []
    for pair in ("fr-en",) if quick else PAIRS:
        theirs = FAST_ALIGN_SECONDS[pair] * slowness() * (lines or PAIRS[pair]) / PAIRS[pair]
        cost, _ = align(pair, lines, 2)
        figures.append(Figure(f"{pair}, CPU of fast_align's", cost.cpu / theirs, "x", most=BUDGET))
    return figures


def full(*, threads: int = 2, pairs: tuple[str, ...] = tuple(PAIRS)) -> None:
    scale = slowness(3)
    print(table([row for pair in pairs for row in rows(pair, threads, scale)], HEADER))


if __name__ == "__main__":
    main(__doc__, run, full)
