"""How many threads there are to use."""

from __future__ import annotations

import os


def all_cores() -> int:
    """The number of cores this process may use: those it is bound to, not all of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
