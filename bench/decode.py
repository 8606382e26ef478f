"""Phrase decoding: words per second, score and memory for growing beams.

Corpora: the 200 sentences of ../shared/golden/moses/decode with Moses's own model, and the first
sentences of Bible zh-en (dev) with a model that is trained once and kept in bench/out. The pop
limit is five times the beam, at least 30; `stack` expands every hypothesis with every option.

Budgets, one thread, 2,755 words: Moses with cube pruning 300 reaches -4201.88 in 4.0 s CPU, stack
search with 30 reaches -4201.83 in 5.5 s; ours 1.0 s and 2.0 s. On Bible zh-en Moses does 575
words/s with cube pruning 300. Those seconds are of a machine where the calibration loop takes
1.05 s; the column `scaled` is our CPU time on it. Times are without loading, the best of some runs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from support import models
from support.figures import Columns, Figure, main
from support.machine import measured, memory, shared, slowness

BEAMS = (5, 10, 20, 50, 100, 200, 500, 1000)
GOLDEN, BIBLE = "golden", "zh-en"
CUBE = (1.0, -4201.88)  # seconds and score
STACK = (2.0, -4201.83)


def measure(
    model: Path, source: Path, lines: int, options: dict[str, Any], threads: int, repeat: int
) -> dict[str, float]:
    """One row. Runs in a child, so that the peak is its own."""
    from hopefear.base.weights import Weights
    from hopefear.forest import viterbi
    from hopefear.model.directory import Model

    text = source.read_text(encoding="utf-8").splitlines()[:lines]
    start = time.process_time()
    decoder = Model.load(model).decoder(**options)
    weights = Weights.load(model / "weights.tsv")
    load = time.process_time() - start
    before = memory("VmRSS")
    best_cpu = best_wall = float("inf")
    score, size = 0.0, 0
    for _ in range(repeat):
        wall, cpu, score = time.monotonic(), time.process_time(), 0.0
        for forest in decoder.forests(text, weights, threads=threads):
            best = viterbi(forest, weights)
            assert best is not None
            score += best.score
            size = max(size, forest.bytes)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.monotonic() - wall)
    return {
        "words": sum(len(line.split()) for line in text),
        "load": load,
        "cpu": best_cpu,
        "wall": best_wall,
        "score": score,
        "forest": size / 2**20,
        "peak": (memory() - before) / 2**20,
    }


def golden_text() -> Path:
    return shared("golden/moses/decode/input.fr")


def run(quick: bool) -> list[Figure]:
    place = (models.golden(), golden_text(), 200)
    figures, scale = [], 1 / slowness()
    for name, options, (seconds, score) in (
        ("cube, beam 50", {"beam": 50, "pop_limit": 250}, CUBE),
        ("stack, beam 30", {"search": "stack", "beam": 30}, STACK),
    ):
        r = measured(measure, *place, options, threads=1, repeat=1).result
        cpu = r["cpu"] * scale
        figures.append(Figure(f"{name}, CPU of 2,755 words, scaled", cpu, "s", most=seconds))
        figures.append(Figure(f"{name}, score", round(r["score"], 2), least=score))
    return figures


def full(
    *,
    beams: tuple[int, ...] = BEAMS,
    threads: tuple[int, ...] = (1, 2),
    corpora: tuple[str, ...] = (GOLDEN, BIBLE),
    lines: int = 100,
    repeat: int = 2,
) -> None:
    scale = 1 / slowness()
    print(f"this machine: {1 / scale:.2f} of the time of the figures' machine")
    table = Columns(
        8, "beam", "pops", "threads", "cpu s", "scaled", "wall s", "w/cpu s", "w/wall s", "score",
        "forest MB", "peak MB", "load s",
    )  # fmt: skip
    places = {
        GOLDEN: lambda: (models.golden(), golden_text(), 200),
        BIBLE: lambda: (models.bible(), shared("golden/aligned/zh-en/dev.zh"), lines),
    }
    searches: list[tuple[int, dict[str, Any]]] = [
        (count, {"beam": beam, "pop_limit": max(30, 5 * beam)})
        for count in threads
        for beam in beams
    ]
    searches.append((1, {"search": "stack", "beam": 30}))
    for corpus in corpora:
        place = places[corpus]()
        for count, given in searches:
            r = measured(measure, *place, given, threads=count, repeat=repeat).result
            rates = [round(r["words"] / r[clock]) for clock in ("cpu", "wall")]
            table.row(
                corpus, given["beam"], given.get("pop_limit", "stack"), count, r["cpu"],
                r["cpu"] * scale, r["wall"], *rates, r["score"], r["forest"], r["peak"], r["load"],
            )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, run, full)
