"""Processes of decoders: start and kill them, fill in their commands, describe their ends."""

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
# Takes the directory; reads the number of the command's process group, then waits for the end.
_GUARD = (
    'if read -r group; then read -r end; kill -s KILL -- "-$group"; fi; '
    'test -z "$1" || rm -rf -- "$1"'
)
_COMMAND = 'read -r start < "/dev/fd/$1" || exit 1; exec /bin/sh -c "$0"'
_IN_BRACES = re.compile(r"\{([a-z][a-z_-]*|)\}")


def placeholders(command: str, known: Iterable[str]) -> set[str]:
    """Return the known names in braces in a command; refuse a misspelt one.

    Other braces stay as they are: they may be part of the command (awk).
    """
    used = set(_IN_BRACES.findall(command))
    for name in sorted(used - set(known)):
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if close:
            raise OptionError(
                f"decoder {command!r}: unknown {{{name}}}; did you mean {{{close[0]}}}?"
            )
    return used & set(known)


def fill(command: str, values: Mapping[str, Any]) -> str:
    """Return the command with values in place of names, quoted for the shell."""
    return _IN_BRACES.sub(
        lambda match: shlex.quote(str(values[match[1]])) if match[1] in values else match[0],
        command,
    )


def write_weights(path: Path, weights: Weights, format: WeightsFormat) -> None:
    """Write all weights, with enough digits to restore every double exactly."""
    separator = "\t" if format == "tab" else " "
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}{separator}{value!r}\n" for name, value in weights.items())


class DecoderProcess(subprocess.Popen[bytes]):
    """A shell command with all that it starts, in a session of its own.

    A guard, a second small process, waits for the end of ours: if that comes before `stop`, even
    by SIGKILL, the guard kills the command and removes its directory of temporary files. The
    command waits until the guard knows it, and gives up if our process ends before: a signal may
    come at any moment, even before Python knows the number of the process that it has started.
    """

    def __init__(self, command: str, directory: Path | None = None, **options: Any) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        ready, start = os.pipe()  # a line in it starts the command, its end ends the command
        try:
            # The other end of the guard's input is held by our process alone.
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "guard", str(directory or "")],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            super().__init__(
                ["/bin/sh", "-c", _COMMAND, command, str(ready)],
                pass_fds=(ready,),
                start_new_session=True,
                **options,
            )
            assert self._guard.stdin is not None
            self._guard.stdin.write(b"%d\n" % self.pid)
            self._guard.stdin.flush()
            os.write(start, b"\n")
        except BaseException:
            if getattr(self, "pid", None) is not None:
                self.stop()
            raise
        finally:
            os.close(ready)
            os.close(start)

    def stop(self) -> None:
        """Kill the command with its children, if any still runs, and wait for its end."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()


def describe_exit(code: int) -> str:
    """Return a description of a process's exit code."""
    if code < 0:
        names = {int(number): number.name for number in signal.Signals}
        return f"was ended by {names.get(-code, f'signal {-code}')}"
    return f"ended with exit code {code}"


def last_line(output: bytes) -> str:
    """Return the last line that is not blank, shortened, without control characters."""
    text = output[-4096:].decode("utf-8", "replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    last = lines[-1][:300] if lines else ""
    return "".join(c if c.isprintable() else "\ufffd" for c in last)
