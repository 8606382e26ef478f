"""`hopefear train`, step by step: CPU seconds and peak memory.

Corpora: Multi30k fr-en and Bible zh-en (tokenised, from ../shared or HOPEFEAR_SHARED), and worlds
of growing size, which show that the time grows linearly. Moses with fast_align takes 91 s CPU for
Multi30k fr-en and 167 s for Bible zh-en on a machine where the calibration loop takes 1.05 s; the
budget is a third of that, scaled to this machine, in under 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.machine import SHARED, slowness

MOSES = {"fr-en": ("fr", 91.0), "zh-en": ("zh", 167.0)}
STEPS = ("text", "alignment", "language model", "rules")


def measure(source: Path, target: Path, model: Path) -> tuple[dict, float, float]:
    """The report, the CPU seconds of the whole command, its peak memory in MB."""
    command = [sys.executable, "-m", "hopefear", "train", source, target, "--model", model]
    command += ["--tokenized", "--order", "3", "--json", "--progress", "off"]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.execv(sys.executable, [str(word) for word in command])
    os.close(write)
    with open(read, "rb") as pipe:  # noqa: PTH123
        report = json.loads(pipe.read())
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return report, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(name: str, report: dict, cpu: float, memory: float, budget: float | None) -> None:
    steps = "".join(f"{report['steps'][step]['cpu_seconds']:>10.2f}" for step in STEPS)
    limit = f"{budget:>10.1f}" if budget else " " * 10
    end = f"{cpu:>10.2f}{limit}{report['seconds']:>10.1f}{memory:>10.0f}"
    print(f"{name:<22}{steps}{end}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, nargs="*", default=[10_000, 30_000, 100_000])
    arguments = parser.parse_args()
    scale = slowness()
    print(f"calibration: this machine takes {scale:.2f} of the reference's time")
    head = "".join(f"{name:>10}" for name in ("text", "align", "lm", "rules", "CPU s", "budget"))
    print(f"{'':<22}{head}{'wall s':>10}{'peak MB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for pair, (language, moses) in MOSES.items():
            data = SHARED / "golden" / "aligned" / pair
            if not data.is_dir():
                print(f"{pair}: not measured, no {data}; set HOPEFEAR_SHARED")
                continue
            texts = data / f"train.{language}.gz", data / "train.en.gz"
            found = measure(*texts, Path(folder) / pair)
            row(pair, *found, budget=moses / 3 * scale)
        for size in arguments.worlds:
            place = Path(folder) / f"world{size}"
            command = [sys.executable, "-m", "hopefear", "world", "-o", place, "--train", str(size)]
            command += ["--dev", "1", "--test", "1", "--progress", "off"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            found = measure(place / "train.zh", place / "train.en", place / "model")
            row(f"world of {size:,}", *found, budget=None)


if __name__ == "__main__":
    main()
