"""Progress displays: a bar on a terminal, otherwise one line per step."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from hopefear.base.progress import Bar, Display, Lines, display, duration


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_at_the_end_and_every_ten_seconds() -> None:
    out, clock = io.StringIO(), Clock()
    with Lines(out, clock).step("align", total=100, unit="pairs") as step:
        for _ in range(100):
            clock.now += 0.25
            step.advance()
    lines = out.getvalue().splitlines()
    assert lines == [
        "align:  40%, 40 pairs, 15 s left",
        "align:  80%, 80 pairs, 5.0 s left",
        "align: 100%, 100 pairs, 25 s",
    ]


def test_without_a_total() -> None:
    out, clock = io.StringIO(), Clock()
    with Lines(out, clock).step("read", unit="lines") as step:
        step.update(1234)
        step.say("3 skipped")
    assert out.getvalue() == "read: 1,234 lines, 0.0 s, 3 skipped\n"


def test_the_bar_is_redrawn_in_place_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out, clock = io.StringIO(), Clock()
    with Bar(out, clock).step("decode with a long label", total=1000, unit="sentences") as step:
        for _ in range(1000):
            clock.now += 0.01
            step.advance()
    drawn = out.getvalue().split("\r")
    assert 50 < len(drawn) < 150  # about ten times a second
    assert all(len(text) < 40 for text in drawn[:-1])
    assert drawn[-1] == "decode with a long label: 100%, 1,000 sentences, 10 s\n"


def test_the_width_is_that_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdout may be a file, or another terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    clock = Clock()
    with os.fdopen(theirs, "w") as out, Bar(out, clock).step("a long label", total=9) as step:
        clock.now += 1
        step.advance()
        drawn = os.read(ours, 1000).decode()
    os.close(ours)
    assert drawn.strip("\r") == "a long label:  11%,"


def test_a_failed_step_leaves_no_bar() -> None:
    out, clock = io.StringIO(), Clock()
    with pytest.raises(RuntimeError), Bar(out, clock).step("x", total=2) as step:  # noqa: PT012
        step.advance()
        raise RuntimeError
    assert out.getvalue().endswith("\r")


def test_modes() -> None:
    out = io.StringIO()
    assert isinstance(display("auto", out), Lines)  # no terminal
    assert isinstance(display("bar", out), Bar)
    assert type(display("off", out)) is Display
    with display("off", out).step("x") as step:
        step.advance()
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.34, "0.3 s"), (12.3, "12 s"), (99.7, "1 min 40 s"), (7800, "2 h 10 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
