"""Where data lie, how fast this machine is, and what a piece of work costs.

Recorded seconds of other tools and budgets were taken on a machine on which a certain loop takes
1.05 s; the same loop, timed here and now, says what they are worth on this one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", FOLDER.parents[1] / "shared"))
OUT = FOLDER / "out"
_THEIR_SECONDS = 1.05


class AbsentError(Exception):
    """Data that a benchmark needs are not there."""


def shared(name: str) -> Path:
    """A file or folder of the data."""
    path = SHARED / name
    if not path.exists():
        raise AbsentError(f"no {path}; set HOPEFEAR_SHARED")
    return path


def first_lines(path: Path, count: int | None, target: Path) -> Path:
    """The beginning of a text, packed or not, in a file of its own."""
    from hopefear.base.files import open_input

    target.parent.mkdir(parents=True, exist_ok=True)
    with open_input(path) as file:
        target.write_bytes(b"".join(islice(file, count)))
    return target


def slowness(repeat: int = 1) -> float:
    """CPU time that this machine takes now, as a share of the other one's; the least of some."""
    return best(repeat, lambda: sum(i * i for i in range(10**7))) / _THEIR_SECONDS


def best(repeat: int, work: Callable[[], object]) -> float:
    """CPU seconds of all threads, the least of several runs."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def memory(field: str = "VmHWM") -> int:
    """Bytes that this process has (VmRSS), or had at most (VmHWM); ru_maxrss counts its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024


@dataclass(frozen=True)
class Cost:
    """Of a piece of work in a process of its own, starting it included."""

    result: Any
    cpu: float
    wall: float
    peak_mb: float


def measured(work: Callable[..., Any], *arguments: Any, **options: Any) -> Cost:
    """Runs a function of a module in a new process."""
    begin = time.monotonic()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result, cpu, peak = pool.submit(_measured, work, arguments, options).result()
    return Cost(result, cpu, time.monotonic() - begin, peak / 2**20)


def _measured(work: Callable[..., Any], arguments: Any, options: Any) -> tuple[Any, float, int]:
    result = work(*arguments, **options)
    return result, time.process_time(), memory()
