"""A check of the limit of virtual memory, before numerical libraries are loaded."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from hopefear.base.errors import InputError

_NEEDED = 512 * 2**20  # bytes of address space that scipy, its OpenBLAS and their threads take


def check_address_space() -> None:
    """Raise an `InputError` if `ulimit -v` leaves too little for the numerical libraries.

    OpenBLAS repeats a failed allocation without end while it is loaded, so if there is a limit, it
    is loaded now, as long as other threads take no address space.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = limit - pages * os.sysconf("SC_PAGE_SIZE")
    if room < _NEEDED:
        raise InputError(
            f"the limit of virtual memory leaves {max(room, 0) >> 20} MB, learning needs "
            f"{_NEEDED >> 20} MB and more; raise the limit (ulimit -v)"
        )
    import scipy.optimize
    import scipy.sparse  # noqa: F401


def available_memory() -> int:
    """Return the bytes of memory that are free for use, 0 if the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(values.get("MemAvailable", "0 kB").split()[0]) * 1024
