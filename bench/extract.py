"""What rules cost: extracting them (CPU, peak memory, size of the table, time to open it), and
reading the grammars of single sentences.

The golden aligned texts, with the seconds that Moses needs for extraction, scoring and reordering
scaled to this machine; all memory and little of it, one thread and two, text export, significance
filtering; hierarchical rules, loose and tight. The tables of all runs of a text that should be
equal are compared. Reading is measured on cdec's golden grammars.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from support.machine import SHARED, slowness

from hopefear.rules.cdec import read_grammar
from hopefear.rules.table import RuleTable

# CPU seconds of Moses: measured for fr-en; for zh-en in proportion to its whole training.
MOSES = {"fr-en": 70.0, "zh-en": 128.0}

SYSTEMS = ["phrase", "hiero"]
# System, name, options, and whether the tables of the runs of a system are the same.
RUNS = [
    ("phrase", "1 thread", ("--threads", "1"), True),
    ("phrase", "2 threads", ("--threads", "2"), True),
    ("phrase", "memory 64M", ("--threads", "1", "--memory", "64M"), True),
    ("phrase", "export moses", ("--threads", "1", "--export", "moses"), True),
    ("phrase", "alpha+epsilon", ("--threads", "1", "--significance", "alpha+epsilon"), False),
    ("hiero", "1 thread", ("--threads", "1"), True),
    ("hiero", "2 threads", ("--threads", "2", "--memory", "256M"), True),
    ("hiero", "tight", ("--threads", "1", "--boundaries", "tight"), False),
    ("hiero", "twice", ("--threads", "1", "--min-hiero-count", "2"), False),
    (
        "hiero",
        "export cdec",
        ("--threads", "1", "--boundaries", "tight", "--export", "cdec"),
        False,
    ),
]


def run(*words: str | Path) -> tuple[float, float]:
    """CPU seconds and peak MB of one command, start-up included."""
    arguments = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(arguments)}")
    scale = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in kB on Linux
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 2**20


def digest(path: Path) -> str:
    """In pieces: what this process holds would count as the peak of the next command."""
    sums = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sums.update(piece)
    return sums.hexdigest()


def open_milliseconds(path: Path) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        RuleTable.open(path)
        times.append(time.perf_counter() - begin)
    return 1000 * min(times)


def read_grammars() -> None:
    """CPU milliseconds to read the grammar of a sentence into memory."""
    files = sorted((SHARED / "golden" / "cdec" / "grammars").glob("*.gz"))
    if not files:
        print(f"no {SHARED}/golden/cdec/grammars: no grammar to read")
        return
    rules, times = 0, []
    for _ in range(5):
        begin = time.process_time()
        rules = sum(len(read_grammar(path)) for path in files)
        times.append(time.process_time() - begin)
    print(
        f"read_grammar: {len(files)} grammars of {rules / len(files):,.0f} rules on average, "
        f"{1000 * min(times) / len(files):.2f} ms CPU each"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", nargs="+", choices=sorted(MOSES), default=sorted(MOSES))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    arguments = parser.parse_args()
    if not (SHARED / "golden" / "aligned").is_dir():
        print(f"no {SHARED}/golden/aligned: nothing to measure; set HOPEFEAR_SHARED")
        return
    read_grammars()
    header = ("text", "system", "run", "CPU s", "Moses", "ratio", "peak MB", "rules", "table MB")
    header = (*header, "open ms")
    widths = (6, 6, 14, 6, 6, 6, 8, 10, 9, 8)
    print(" ".join(f"{name:>{width}}" for name, width in zip(header, widths, strict=True)))
    for text, system in product(arguments.texts, arguments.systems):
        folder = SHARED / "golden" / "aligned" / text
        names = (f"train.{text[:2]}.gz", "train.en.gz", "train.gdfa.gz")
        files = [folder / name for name in names]
        digests = set()
        for _, label, options, same in (entry for entry in RUNS if entry[0] == system):
            with tempfile.TemporaryDirectory() as output:
                # Moses's seconds are those of phrase pairs.
                moses = MOSES[text] * slowness() if system == "phrase" else math.nan
                words = ("extract", *files, "--system", system, "-o", output, *options)
                cpu, peak = run(*words)
                path = Path(output) / "rules.bin"
                if same:
                    digests.add(digest(path))
                rules, size = len(RuleTable.open(path)), path.stat().st_size / 2**20
                compared = "" if math.isnan(moses) else f"{moses:.1f}"
                ratio = "" if math.isnan(moses) else f"{cpu / moses:.3f}"
                print(
                    f"{text:>6} {system:>6} {label:>14} {cpu:6.2f} {compared:>6} {ratio:>6} "
                    f"{peak:8.0f} {rules:10,} {size:9.1f} {open_milliseconds(path):8.2f}"
                )
        print(f"{text:>6} {system:>6} tables are {'equal' if len(digests) == 1 else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
