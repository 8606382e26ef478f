"""The command `hopefear`, also `python -m hopefear`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Run the command line; Ctrl-C is quiet also while modules are loaded and at the end."""
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listening:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing to clean up yet
    from hopefear.cli import main as run

    if listening:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:  # after the command
        return 130
    finally:
        if listening:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
