"""The built-in world at scale: making, writing and counting 100,000 training pairs.

Budget: 100,000 pairs made and written in under 20 s, in one process.
"""

from __future__ import annotations

import tempfile
import time

from support.figures import Figure, main
from support.machine import memory

from hopefear.text.world import generate, statistics, write

PAIRS = 100_000


def measure(train: int = PAIRS) -> list[Figure]:
    start, cpu = time.perf_counter(), time.process_time()
    world = generate(train=train)
    made = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        write(world, folder)
    written, used = time.perf_counter(), time.process_time() - cpu
    words = statistics(world)["train"]["source_words"]
    counted = time.perf_counter()
    return [
        Figure(f"make and write {train:,} pairs", written - start, "s", most=20 * train / PAIRS),
        Figure("make", made - start, "s"),
        Figure("write", written - made, "s"),
        Figure("processor time", used, "s"),
        Figure(f"statistics of {words:,} source words", counted - written, "s"),
        Figure("peak memory", memory() / 2**20, "MB"),
    ]


def run(quick: bool) -> list[Figure]:
    return measure(PAIRS // 10)[:1] if quick else measure(PAIRS)


if __name__ == "__main__":
    main(__doc__, run, measure)
