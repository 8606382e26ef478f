"""Where data and results lie, and how fast this machine is.

Recorded seconds of other tools and budgets were taken on a machine on which a certain loop takes
1.05 s; the same loop, timed here and now, says what they are worth on this one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))
OUT = REPOSITORY / "bench" / "out"
_THEIR_SECONDS = 1.05


def slowness(repeat: int = 1) -> float:
    """CPU time that this machine takes now, as a share of the other one's; the least of some."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        sum(i * i for i in range(10**7))
        times.append(time.process_time() - start)
    return min(times) / _THEIR_SECONDS
