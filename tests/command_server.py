"""The command line in a process of its own, without the time it takes to import everything.

A server imports the package once and forks for each command; the child has its own directory and
streams, runs `hopefear.cli.main` and ends as any Python process does. Importing is half of what a
small command costs, and tests run hundreds of them. What depends on how an interpreter starts and
ends (closed streams, signals) is tested with real processes: `tests/cli/test_spine.py`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SECONDS = 300


class CommandServer:
    """Starts the server when the first command comes; `close` ends it."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="hopefear-commands-")

    def run(
        self, words: list[str], *, input: str | None, cwd: Path | None, env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        server = self._started()
        assert server.stdin is not None
        assert server.stdout is not None
        folder = Path(self._folder.name)
        files = {name: str(folder / name) for name in ("stdin", "stdout", "stderr")}
        Path(files["stdin"]).write_bytes((input or "").encode())
        task = {"words": words, "cwd": str(cwd or Path.cwd()), "environ": {**os.environ, **env}}
        task |= files
        server.stdin.write(json.dumps(task).encode() + b"\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], SECONDS)[0]:
            self._stop()
            raise subprocess.TimeoutExpired(words, SECONDS)
        answer = server.stdout.readline()
        assert answer, "the server of commands died"
        # As text=True reads a process: in the locale's encoding, with universal newlines.
        said = [Path(files[name]).read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(["hopefear", *words], int(answer), *said)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._server is None:
            self._server = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        return self._server

    def close(self) -> None:
        self._stop()
        self._folder.cleanup()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            for stream in (self._server.stdin, self._server.stdout):
                if stream is not None:
                    stream.close()
            self._server = None


def serve() -> None:
    """Read a task a line, fork, answer with the exit code; returns in each child."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    _import_everything()
    for line in tasks:
        child = os.fork()
        if child == 0:
            tasks.close()
            os.close(answers)
            _take(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _import_everything() -> None:
    from hopefear.base import registry
    from hopefear.cli import main  # noqa: F401

    for kind in registry.PACKAGES:
        registry.names(kind)


def _take(task: Mapping[str, Any]) -> None:
    """Become the process that the task asks for."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(task[name], flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["environ"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["hopefear", *task["words"]]


if __name__ == "__main__":
    serve()
    from hopefear.cli import main

    sys.exit(main())
