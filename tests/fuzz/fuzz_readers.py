"""All readers: `READERS`; and one of which all that can be wrong is wrong, to test the fuzzer."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import fuzz_consumers
import fuzz_directories
import fuzz_files
from fuzz_reader import READERS, reader

__all__ = ["CALLS", "READERS", "fuzz_consumers", "fuzz_directories", "fuzz_files"]

CALLS = "HOPEFEAR_FUZZ_CALLS"  # names a file that has a byte for each call


def fail_in_turn(path: Path) -> None:
    calls = Path(os.environ[CALLS])
    with calls.open("ab") as file:
        file.write(b".")
    number = calls.stat().st_size - 1
    if number == 1:
        _ = 1 // 0
    elif number == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    elif number == 3:
        time.sleep(60)
    elif number == 4:
        bytes(1 << 40)
    elif number == 5:
        raise OSError("two\nlines")


if CALLS in os.environ:
    reader("self-test", "x")(fail_in_turn)
