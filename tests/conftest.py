"""What all tests share: where golden data is, the command line as a function, the last count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command_server import CommandServer
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent
# Where a failure must come from the change at hand, the same examples are tried each time;
# elsewhere new ones are, and what they find is worth a test of its own. Slow machines are no fault.
settings.register_profile("new examples", deadline=None)
settings.register_profile("same examples", deadline=None, derandomize=True)
settings.load_profile("same examples" if os.environ.get("CI") else "new examples")

# A shell without job control starts background jobs with Ctrl-C ignored; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(os.environ.get("HOPEFEAR_SHARED", REPOSITORY.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with golden outputs of other tools and real corpora; skips where it is absent."""
    if not (SHARED / "golden").is_dir():
        pytest.skip(f"GOLDEN DATA ABSENT: no {SHARED}/golden; set HOPEFEAR_SHARED")
    return SHARED


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def hopefear() -> Iterator[Run]:
    """Run the installed command line in a process of its own (`command_server.py`)."""
    server = CommandServer()

    def run(
        *words: str | Path,
        input: str | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return server.run([str(word) for word in words], input=input, cwd=cwd, env=env or {})

    yield run
    server.close()


@pytest.fixture(scope="session")
def hopefear_process() -> Run:
    """The same in a new interpreter, for what depends on how it starts."""

    def run(
        *words: str | Path,
        input: str | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hopefear", *map(str, words)],
            input=input,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL if input is None else None,
        )

    return run


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a process that a test will send signals to; what is left of it ends with the test.

    It listens to SIGINT and SIGHUP also where the tests themselves were started in the background.
    """
    with ExitStack() as stack:

        def run(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [str(word) for word in command],
                preexec_fn=_heed_signals,
                **options,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in tests/golden is a golden test."""
    for item in items:
        if "golden" in item.path.relative_to(REPOSITORY).parts:
            item.add_marker(pytest.mark.golden)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many golden tests ran; nobody should believe in a comparison that was skipped."""
    golden = {"ran": 0, "skipped": 0}
    for outcome, key in (("passed", "ran"), ("failed", "ran"), ("skipped", "skipped")):
        for report in terminalreporter.stats.get(outcome, []):
            if "golden" in getattr(report, "keywords", {}):
                golden[key] += 1
    line = f"golden tests: {golden['ran']} ran, {golden['skipped']} skipped"
    if golden["skipped"]:
        line += f" (looked in {SHARED}; set HOPEFEAR_SHARED)"
    terminalreporter.write_sep("=", line, bold=True, yellow=bool(golden["skipped"]))
