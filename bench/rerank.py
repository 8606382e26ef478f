"""Reranking: tuning on 1,000 lists of 50, and choosing among lists that are read one by one.

Budgets: `mert` with 5 features and five folds in 3 s of wall time on two idle cores, reading
included; choosing from a million candidates in 4 s of CPU, in memory that does not grow with them.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.figures import Figure, main

LISTS, SIZE = 1000, 50


def write(folder: Path, lists: int, size: int) -> None:
    """Write lists with 5 features, of which two follow the quality."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(2000)]
    with (folder / "l.jsonl").open("w") as out, (folder / "refs").open("w") as refs:
        for number in range(lists):
            reference = chance.choices(words, k=chance.randint(8, 25))
            print(*reference, file=refs)
            for _ in range(size):
                text = [w if chance.random() > 0.25 else chance.choice(words) for w in reference]
                right = sum(a == b for a, b in zip(text, reference, strict=True))
                features = {
                    "a": round(-0.3 * (len(reference) - right) + chance.gauss(0, 1.5), 3),
                    "b": round(right + chance.gauss(0, 4), 3),
                    **{name: round(chance.gauss(0, 1), 3) for name in ("c", "d")},
                    "words": len(text),
                }
                entry = {"id": number, "text": " ".join(text), "features": features}
                print(json.dumps(entry), file=out)


def command(folder: Path, *words: str) -> tuple[float, float, float]:
    """Run a command; return wall time, CPU time in seconds, and its peak memory in MB."""
    start = time.perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-m", "hopefear", "rerank", *words, "--progress", "off"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"rerank {' '.join(words)}: exit code {done.returncode}")
    wall = time.perf_counter() - start
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(lists: int = LISTS, longer: int = 10) -> list[Figure]:
    share = lists / LISTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, lists, SIZE)
        tune = ("tune", "--nbest", "l.jsonl", "--refs", "refs", "--tuner", "mert", "-o", "w.tsv")
        wall, cpu, peak = command(folder, *tune, "--threads", "2")
        apply = ("apply", "--weights", "w.tsv", "-o", "out", "--ids", "--nbest")
        _, one_cpu, one_peak = command(folder, *apply, "l.jsonl")
        _, many_cpu, many_peak = command(folder, *renamed(folder, apply, longer))
    million = lists * SIZE * longer / 1e6
    return [
        Figure(f"tune, {lists:,} lists of {SIZE}, 5 folds", wall, "s", most=max(1.5, 3 * share)),
        Figure("processor time", cpu, "s"),
        Figure("peak memory", peak, "MB"),
        Figure("apply, per million candidates", (many_cpu - one_cpu) / million, "s", most=4),
        Figure("apply, peak memory", many_peak, "MB", most=max(80.0, 1.2 * one_peak)),
    ]


def renamed(folder: Path, apply: tuple[str, ...], longer: int) -> tuple[str, ...]:
    """Write the lists `longer` times with new ids; return the command on them."""
    lines = (folder / "l.jsonl").read_text().splitlines()
    with (folder / "many.jsonl").open("w") as many:
        for copy in range(longer):
            for line in lines:
                id, rest = line.removeprefix('{"id": ').split(",", 1)
                many.write(f'{{"id": "{copy}-{id}",{rest}\n')
    return (*apply, "many.jsonl")


def run(quick: bool) -> list[Figure]:
    return measure(200, 5) if quick else measure()


if __name__ == "__main__":
    main(__doc__, run, measure)
