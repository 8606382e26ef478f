"""Progress of long work on stderr: a bar on a terminal, otherwise one line per step.

    with display("auto").step("align", total=29_000, unit="pairs") as step:
        for … : step.advance()

The command line chooses the `Display` (bar, lines or off) once and passes it on; a `Progress` is
independent of it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TextIO

Mode = Literal["auto", "bar", "lines", "off"]


class Progress:
    """The state of one step of work. `total` is None if it is unknown."""

    def __init__(self, display: Display, label: str, total: int | None, unit: str) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self.note = ""
        self._display = display
        self.started = display.clock()

    def advance(self, count: int = 1) -> None:
        """Add to the work done so far."""
        self.update(self.done + count)

    def update(self, done: int) -> None:
        """Set the work done so far. Cheap: redraws at most ten times a second."""
        self.done = done
        self._display.refresh(self)

    def say(self, note: str) -> None:
        """Set a short note that is shown after the numbers until the next note."""
        self.note = note
        self._display.refresh(self)

    @property
    def seconds(self) -> float:
        """Seconds since the start of the step."""
        return self._display.clock() - self.started

    def text(self) -> str:
        """The state as text: label, percentage, count, time and note."""
        parts = []
        if self.total:
            parts.append(f"{100 * self.done / self.total:3.0f}%")
        if self.done or self.total:
            parts.append(f"{self.done:,} {self.unit}".strip())
        seconds = self.seconds
        if self.total and 0 < self.done < self.total and seconds > 1:
            left = seconds * (self.total - self.done) / self.done
            parts.append(f"{duration(left)} left")
        else:
            parts.append(duration(seconds))
        if self.note:
            parts.append(self.note)
        return f"{self.label}: " + ", ".join(parts)


class Display:
    """A progress display; this base class shows nothing (`--progress off`)."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.clock = clock

    @contextmanager
    def step(self, label: str, *, total: int | None = None, unit: str = "") -> Iterator[Progress]:
        """A context manager for a step of work, which yields its `Progress`."""
        step = Progress(self, label, total, unit)
        try:
            yield step
        except BaseException:
            self.clear()
            raise
        self.finish(step)

    def refresh(self, step: Progress) -> None:
        """Show the state of a running step; called often."""

    def finish(self, step: Progress) -> None:
        """Show the final state of a step that succeeded; called once."""

    def clear(self) -> None:
        """Erase the display; called before other output to the same terminal."""


class Lines(Display):
    """Prints one line at the end of a step, and one every ten seconds while it runs."""

    interval = 10.0
    _last: float | None = None

    def refresh(self, step: Progress) -> None:
        now = self.clock()
        if now - max(self._last or 0.0, step.started) >= self.interval:
            self._last = now
            print(step.text(), file=self.stream, flush=True)

    def finish(self, step: Progress) -> None:
        print(step.text(), file=self.stream, flush=True)


class Bar(Display):
    """Redraws one line in place, cut to the width of the terminal."""

    interval = 0.1
    _last = float("-inf")
    _shown = 0

    def refresh(self, step: Progress) -> None:
        now = self.clock()
        if now - self._last >= self.interval:
            self._last = now
            self._draw(step)

    def finish(self, step: Progress) -> None:
        self.clear()
        print(step.text(), file=self.stream, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=self.stream, flush=True)
            self._shown = 0

    def _columns(self) -> int:
        """The width of the terminal of `stream`, or of $COLUMNS."""
        columns = os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        except (ValueError, OSError):  # not a terminal
            return 80

    def _draw(self, step: Progress) -> None:
        width = max(1, self._columns() - 1)
        text = step.text()
        room = min(30, width - len(text) - 3)
        if step.total and room >= 5:
            full = min(room, room * step.done // step.total)
            text += " [" + "=" * full + " " * (room - full) + "]"
        text = text[:width]
        print("\r" + text.ljust(self._shown), end="", file=self.stream, flush=True)
        self._shown = len(text)


def display(mode: Mode, stream: TextIO | None = None) -> Display:
    """The display for a mode; `auto` is a bar on a terminal, and lines otherwise."""
    stream = stream if stream is not None else sys.stderr
    if mode == "auto":
        mode = "bar" if stream.isatty() else "lines"
    return {"bar": Bar, "lines": Lines, "off": Display}[mode](stream)


def duration(seconds: float) -> str:
    """A duration as text: 0.3 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
