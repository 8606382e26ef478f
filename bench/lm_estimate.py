"""How long estimating a language model takes and how much memory it holds.

The first table is a whole process (start-up included) on the golden training texts, with the
seconds that lmplz needs, scaled to this machine. The second is a long generated text in little
memory: its peak must stay below --memory, and its output must be that of a run in large memory.
Budget: the seconds of lmplz.
"""

from __future__ import annotations

import bisect
import gzip
import hashlib
import itertools
import random
import tempfile
from pathlib import Path

from support.figures import Columns, Figure, main
from support.machine import SHARED, measured, shared, slowness

from hopefear.base.config import Size
from hopefear.lm.estimate import estimate

# CPU seconds of lmplz -S 1G where the calibration loop takes 1.05 s: text, order, seconds.
LMPLZ = [("fr-en", 3, 0.72), ("fr-en", 5, 0.94), ("zh-en", 3, 0.95), ("zh-en", 5, 1.74)]


def compared(directory: Path, name: str, order: int, theirs: float, repeat: int) -> list[float]:
    """CPU seconds, those of lmplz here, peak MB: the best of some runs."""
    text = directory / f"{name}.txt"
    packed = shared(f"golden/aligned/{name}/train.en.gz")
    text.write_bytes(gzip.decompress(packed.read_bytes()))
    limits, costs = [], []
    for _ in range(repeat):  # the machine's speed right before each run
        limits.append(theirs * slowness())
        costs.append(measured(estimate, text, directory / "lm.arpa", order=order))
    peak = max(cost.peak_mb for cost in costs)
    return [min(cost.cpu for cost in costs), min(limits), peak]


def run(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        found = {
            (name, order): compared(Path(directory), name, order, theirs, 2 if quick else 5)
            for name, order, theirs in (LMPLZ[2:3] if quick else LMPLZ)
        }
    return [
        Figure(f"{name}, order {order}, CPU of lmplz's", cpu / theirs, "x", most=1)
        for (name, order), (cpu, theirs, _) in found.items()
    ]


def generate(path: Path, tokens: int, seed: int = 1) -> None:
    """A text with rare words and with phrases that come again."""
    r = random.Random(seed)
    weights = list(itertools.accumulate((i + 3) ** -1.15 for i in range(300_000)))
    with path.open("w", encoding="ascii") as file:
        while tokens > 0:
            word, line = 0, []
            for _ in range(r.randint(5, 40)):
                if r.random() < 0.5:
                    word = (word * 7919 + int(r.random() * r.random() * 40) * 104729) % 3000
                else:
                    word = bisect.bisect(weights, r.random() * weights[-1])
                line.append(f"w{word}")
            tokens -= len(line)
            file.write(" ".join(line) + "\n")


def golden_table(directory: Path, repeat: int) -> None:
    table = Columns(16, "CPU s", "lmplz, scaled", "ratio", "peak MB")
    for name, order, seconds in LMPLZ:
        cpu, theirs, peak = compared(directory, name, order, seconds, repeat)
        table.row(f"{name}, order {order}", cpu, theirs, cpu / theirs, peak)


def memory_table(directory: Path, tokens: int) -> None:
    text, out = directory / "generated.txt", directory / "lm.arpa"
    generate(text, tokens)
    print(f"\n{tokens:,} generated tokens, order 5")
    table = Columns(8, "threads", "CPU s", "wall s", "peak MB", "output")
    for memory, threads in (("4G", 1), ("4G", 2), ("64M", 1), ("64M", 2)):
        given = {"order": 5, "memory": Size.parse(memory), "threads": threads, "tmp": directory}
        cost = measured(estimate, text, out, **given)
        name = hashlib.sha256(out.read_bytes()).hexdigest()[:7]
        table.row(memory, threads, cost.cpu, cost.wall, cost.peak_mb, name)


def full(*, repeat: int = 5, tokens: int = 5_000_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        if (SHARED / "golden").is_dir():
            golden_table(Path(name), repeat)
        if tokens:
            memory_table(Path(name), tokens)


if __name__ == "__main__":
    main(__doc__, run, full)
