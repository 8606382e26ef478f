"""What commands write: results to stdout, everything else to stderr; tables of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import Any

from hopefear.base.progress import Display, Progress


class Console:
    """What a command writes to: results to stdout, everything else to stderr.

    `json` says that stdout belongs to the one JSON object; a command that tells its story while it
    runs keeps silent then.
    """

    def __init__(self, display: Display, *, json: bool = False) -> None:
        self.display = display
        self.json = json

    def print(self, text: str = "") -> None:
        """A line of the result."""
        self.display.clear()
        sys.stdout.write(text + "\n")
        if self.display.stream.isatty():  # keep the order of the two streams on a terminal
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """A line for the person at the terminal."""
        self.display.clear()
        print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        self.note(f"warning: {text}")

    def step(
        self, label: str, *, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Progress]:
        return self.display.step(label, total=total, unit=unit)


def format_value(value: Any) -> str:
    """A value of a report as people read it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


def table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None) -> str:
    """Columns of text: the first left, those that look like numbers right."""
    every = [list(header), *map(list, rows)] if header else [list(row) for row in rows]
    if not every:
        return ""
    widths = [max(len(row[c]) for row in every) for c in range(len(every[0]))]
    right = [c > 0 and all(_numeric(row[c]) for row in rows) for c in range(len(every[0]))]
    if header:
        every.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in every
    )


def html_table(rows: Sequence[Sequence[str]], header: Sequence[str], caption: str = "") -> str:
    """The same as HTML, for notebooks."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{title}<thead>{row(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _numeric(cell: str) -> bool:
    return cell.strip(" -+%.,0123456789eE") == ""
