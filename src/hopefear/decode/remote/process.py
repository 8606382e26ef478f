"""What is the same for every decoder that is another process.

Goes in: a command line for the shell with names in braces. Comes out: the command with their
values, weights in a file, and afterwards what a process did, in words.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights

WeightsFormat = Literal["tab", "blank"]
_IN_BRACES = re.compile(r"\{([a-z][a-z_-]*|)\}")


def placeholders(command: str, known: Iterable[str]) -> set[str]:
    """The names in braces; one that is nearly known is refused, awk's braces are not ours."""
    used = set(_IN_BRACES.findall(command))
    for name in sorted(used - set(known)):
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if close:
            raise OptionError(
                f"decoder {command!r}: unknown {{{name}}}; did you mean {{{close[0]}}}?"
            )
    return used & set(known)


def filled(command: str, values: Mapping[str, Any]) -> str:
    """The command with values for names, quoted for the shell."""
    return _IN_BRACES.sub(
        lambda match: shlex.quote(str(values[match[1]])) if match[1] in values else match[0],
        command,
    )


def write_weights(path: Path, weights: Weights, format: WeightsFormat) -> None:
    """All weights, each with so many digits that doubles are read back as they are here."""
    separator = "\t" if format == "tab" else " "
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}{separator}{value!r}\n" for name, value in weights.items())


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started; harmless where all have ended.

    It must have been started with a session of its own.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def how_it_ended(code: int) -> str:
    """The exit code of a process in words."""
    if code < 0:
        known = {int(one): one.name for one in signal.Signals}
        return f"was ended by {known.get(-code, f'signal {-code}')}"
    return f"ended with exit code {code}"


def last_line(output: bytes) -> str:
    """The last line with something in it, shortened; safe for a terminal."""
    text = output[-4096:].decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    last = lines[-1][:300] if lines else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in last)
