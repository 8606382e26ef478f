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

import argparse
import time
from pathlib import Path
from typing import Any

from support import models
from support.figures import Figure, main
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
        for forest in decoder.decode_all(text, weights, threads=threads):
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


def row(corpus: str, scale: float, place: tuple[Path, Path, int], **arguments: Any) -> None:
    r = measured(measure, *place, **arguments).result
    options = arguments["options"]
    print(
        f"{corpus:<8}{options['beam']:>6}{options.get('pop_limit', 'stack'):>7}"
        f"{arguments['threads']:>8}{r['cpu']:>8.2f}{r['cpu'] * scale:>8.2f}{r['wall']:>8.2f}"
        f"{r['words'] / r['cpu']:>9.0f}{r['words'] / r['wall']:>9.0f}{r['score']:>12.2f}"
        f"{r['forest']:>10.2f}{r['peak']:>8.1f}{r['load']:>8.3f}",
        flush=True,
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beams", type=int, nargs="+", default=BEAMS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--corpora", nargs="+", choices=[GOLDEN, BIBLE], default=[GOLDEN, BIBLE])
    parser.add_argument("--lines", type=int, default=100, help="sentences of Bible zh-en")
    parser.add_argument("--repeat", type=int, default=2)


def full(a: argparse.Namespace) -> None:
    scale = 1 / slowness()
    print(f"this machine: {1 / scale:.2f} of the time of the figures' machine")
    print(
        f"{'corpus':<8}{'beam':>6}{'pops':>7}{'threads':>8}{'cpu s':>8}{'scaled':>8}{'wall s':>8}"
        f"{'w/cpu s':>9}{'w/wall s':>9}{'score':>12}{'forest MB':>10}{'peak MB':>8}{'load s':>8}"
    )
    for corpus in a.corpora:
        if corpus == GOLDEN:
            place = (models.golden(), golden_text(), 200)
        else:
            place = (models.bible(), shared("golden/aligned/zh-en/dev.zh"), a.lines)
        for threads in a.threads:
            for beam in a.beams:
                options = {"beam": beam, "pop_limit": max(30, 5 * beam)}
                row(corpus, scale, place, options=options, threads=threads, repeat=a.repeat)
        options = {"search": "stack", "beam": 30}
        row(corpus, scale, place, options=options, threads=1, repeat=a.repeat)


if __name__ == "__main__":
    main(__doc__, run, full, options)
