"""The output of commands: results on stdout, everything else on stderr; tables as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import Any

from hopefear.base.errors import escaped
from hopefear.base.progress import Display, Progress


class Console:
    """The output of a command: results go to stdout, everything else to stderr.

    If `json` is true, stdout is reserved for the JSON object of the report: commands must not call
    `print`.
    """

    def __init__(self, display: Display, *, json: bool = False) -> None:
        self.display = display
        self.json = json

    def print(self, text: str = "") -> None:
        """Print a line of the result to stdout."""
        self.display.clear()
        sys.stdout.write(text + "\n")
        if self.display.stream.isatty():  # keep the order of the two streams on a terminal
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Print a line to stderr."""
        self.display.clear()
        print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        self.note(f"warning: {escaped(text)}")

    def step(
        self, label: str, *, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Progress]:
        """A context manager that shows the progress of a step of work."""
        return self.display.step(label, total=total, unit=unit)


def format_value(value: Any) -> str:
    """A value of a report as text: 1,234, 0.57, yes, - (for None)."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


def table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None) -> str:
    """Rows as aligned columns of text; columns of numbers, except the first, are flush right."""
    lines = [list(header), *map(list, rows)] if header else [list(row) for row in rows]
    if not lines:
        return ""
    widths = [max(len(row[c]) for row in lines) for c in range(len(lines[0]))]
    right = [c > 0 and all(_numeric(row[c]) for row in rows) for c in range(len(lines[0]))]
    if header:
        lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in lines
    )


def html_table(rows: Sequence[Sequence[str]], header: Sequence[str], caption: str = "") -> str:
    """Rows as an HTML table, for notebooks."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f"<table>{title}<thead>{row(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _numeric(cell: str) -> bool:
    return cell.strip(" -+%.,0123456789eE") == ""
