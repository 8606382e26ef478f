"""How long `hopefear lm estimate` takes and how much memory it holds.

The first table is the whole command (start-up included) on the golden training texts, with the
seconds that lmplz needs, scaled to this machine. The second is a long generated text in little
memory: its peak must stay below --memory, and its output must be that of a run in large memory.
"""

from __future__ import annotations

import argparse
import bisect
import gzip
import hashlib
import itertools
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from support.machine import SHARED, slowness

# CPU seconds of lmplz -S 1G where the calibration loop takes 1.05 s: text, order, seconds.
LMPLZ = [("fr-en", 3, 0.72), ("fr-en", 5, 0.94), ("zh-en", 3, 0.95), ("zh-en", 5, 1.74)]


def run(*words: str | Path) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MB of one command."""
    begin = time.monotonic()
    arguments = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    pid = os.posix_spawn(
        sys.executable,
        arguments,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(arguments)}")
    scale = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in kB on Linux
    wall = time.monotonic() - begin
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * scale / 2**20


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
    print(f"{'text':6} {'order':>5} {'CPU s':>7} {'lmplz, scaled':>14} {'ratio':>6} {'peak MB':>8}")
    for name, order, seconds in LMPLZ:
        text = directory / f"{name}.txt"
        packed = SHARED / f"golden/aligned/{name}/train.en.gz"
        text.write_bytes(gzip.decompress(packed.read_bytes()))
        command = ("lm", "estimate", text, "-o", directory / "lm.arpa", "--order", str(order))
        ours, theirs, peak = [], [], 0.0
        for _ in range(repeat):  # the machine's speed right before each run
            theirs.append(seconds * slowness())
            cpu, _, megabytes = run(*command)
            ours.append(cpu)
            peak = max(peak, megabytes)
        best, limit = min(ours), min(theirs)
        print(f"{name:6} {order:5} {best:7.2f} {limit:14.2f} {best / limit:6.2f} {peak:8.0f}")


def memory_table(directory: Path, tokens: int) -> None:
    text = directory / "generated.txt"
    generate(text, tokens)
    print(f"\n{tokens:,} generated tokens, order 5")
    print(f"{'memory':>7} {'threads':>7} {'CPU s':>7} {'wall s':>7} {'peak MB':>8}  output")
    for memory, threads in (("4G", 1), ("4G", 2), ("64M", 1), ("64M", 2)):
        out = directory / "lm.arpa"
        cpu, wall, peak = run(
            *("lm", "estimate", text, "-o", out, "--order", "5"),
            *("--memory", memory, "--threads", str(threads), "--tmp", directory),
        )
        digest = hashlib.sha256()
        with out.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        name = digest.hexdigest()[:12]
        print(f"{memory:>7} {threads:7} {cpu:7.2f} {wall:7.2f} {peak:8.0f}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the best counts")
    parser.add_argument("--tokens", type=int, default=5_000_000, help="of the generated text; or 0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if (SHARED / "golden").is_dir():
            golden_table(Path(name), options.repeat)
        else:
            print(f"golden data absent (looked in {SHARED}; set HOPEFEAR_SHARED)")
        if options.tokens:
            memory_table(Path(name), options.tokens)


if __name__ == "__main__":
    main()
