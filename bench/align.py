"""Word alignment: CPU seconds and memory of `hopefear align` beside fast_align's, and how alike
the alignments are.

Aligns Multi30k fr-en and the Bible zh-en (both directions, grow-diag-final-and), each in its own
process. fast_align's seconds were taken where a loop of ten million squares took 1.05 s and are
scaled by what it takes here. Agreement is with fast_align's links: a check of sanity, not of
quality.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.machine import SHARED, slowness

from hopefear.align.pharaoh import read_alignments, sentence_lengths
from hopefear.base.console import table

FAST_ALIGN_SECONDS = {"fr-en": 20.0, "zh-en": 58.0}
HEADER = (
    *("text", "aligner", "cpu s", "of fast_align", "wall s", "peak MB", "links"),
    *("unaligned src %", "tgt %", "precision", "recall", "F1"),
)


def unaligned(alignments: list[set[tuple[int, int]]], lengths: list[tuple[int, int]]) -> list[str]:
    free = [0, 0]
    for points, sizes in zip(alignments, lengths, strict=True):
        for side in (0, 1):
            free[side] += sizes[side] - len({point[side] for point in points})
    return [f"{100 * free[s] / sum(sizes[s] for sizes in lengths):.1f}" for s in (0, 1)]


def run(pair: str, threads: int, extra: list[str], scale: float) -> list[list[str]]:
    folder = SHARED / "golden" / "aligned" / pair
    source, target = (folder / f"train.{side}.gz" for side in pair.split("-"))
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "align"
        words = ["align", source, target, "-o", output, "--threads", threads, *extra]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = [set(points) for points in read_alignments(output)]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    theirs = [set(points) for points in read_alignments(folder / "train.gdfa.gz")]
    lengths = list(sentence_lengths(source, target))
    common = sum(len(a & b) for a, b in zip(ours, theirs, strict=True))
    links, their_links = sum(map(len, ours)), sum(map(len, theirs))
    reference = FAST_ALIGN_SECONDS[pair] * scale
    agreement = [common / links, common / their_links, 2 * common / (links + their_links)]
    return [
        [
            *(pair, "hopefear", f"{cpu:.2f}", f"{100 * cpu / reference:.0f}%", f"{wall:.2f}"),
            *(f"{after.ru_maxrss / 1024:.0f}", str(links), *unaligned(ours, lengths)),
            *(f"{value:.3f}" for value in agreement),
        ],
        [
            *(pair, "fast_align", f"{reference:.2f}", "100%", "-", "-", str(their_links)),
            *(*unaligned(theirs, lengths), "-", "-", "-"),
        ],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pair", choices=sorted(FAST_ALIGN_SECONDS), action="append")
    parser.add_argument("extra", nargs="*", help="further options of hopefear align, after --")
    options = parser.parse_args()
    if not (SHARED / "golden" / "aligned").is_dir():
        print(f"no {SHARED}/golden/aligned; set HOPEFEAR_SHARED")
        return
    scale = slowness(3)
    rows = []
    for pair in options.pair or sorted(FAST_ALIGN_SECONDS):
        rows += run(pair, options.threads, options.extra, scale)
    print(table(rows, HEADER))


if __name__ == "__main__":
    main()
