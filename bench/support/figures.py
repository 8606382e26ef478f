"""What every benchmark gives: figures with their budgets, and a command of its own.

A benchmark has a function `run(quick: bool) -> list[Figure]`, which takes seconds if it is to be
quick (`make bench`), and ends with `main(__doc__, run)`, or `main(__doc__, run, full)` if it has a
table of its own.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.machine import AbsentError


@dataclass(frozen=True)
class Figure:
    """A number, and what it may be: at most, or at least."""

    name: str
    value: float
    unit: str = ""
    most: float | None = None
    least: float | None = None

    def cells(self) -> tuple[str, str, str, str]:
        over = (self.most is not None and self.value > self.most) or (
            self.least is not None and self.value < self.least
        )
        limits = (("≤", self.most), ("≥", self.least))
        budget = " ".join(f"{sign} {shown(x)}" for sign, x in limits if x is not None)
        verdict = "OVER" if over else "ok" if budget else ""
        return self.name, f"{shown(self.value)} {self.unit}".rstrip(), budget, verdict


def shown(value: float) -> str:
    """Three digits, or all of a large number."""
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.2f}".removesuffix(".00")
    return f"{value:.3g}"


class Columns:
    """A table that is printed row by row, as its rows are measured."""

    def __init__(self, first: int, *names: str) -> None:
        self.widths = [first, *(max(9, len(name) + 2) for name in names)]
        self.row("", *names)

    def row(self, name: str, *values: object) -> None:
        cells = [
            shown(value) if isinstance(value, float)
            else f"{value:,}" if isinstance(value, int) else str(value)
            for value in values
        ]  # fmt: skip
        rest = "".join(f"{c:>{w}}" for c, w in zip(cells, self.widths[1:], strict=True))
        print(f"{name:{self.widths[0]}}{rest}", flush=True)


def figure_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for docs/results; columns after the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def quick_rows(name: str) -> tuple[list[tuple[str, ...]], float]:
    """Rows of a benchmark, or one that says why there are none; its seconds."""
    begin = time.monotonic()
    try:
        rows = [figure.cells() for figure in importlib.import_module(name).run(True)]
    except AbsentError as error:
        rows = [(str(error), "-", "", "")]
    except Exception as error:  # the others are run all the same
        traceback.print_exc()
        rows = [(f"{type(error).__name__}: {error}", "-", "", "FAILED")]
    return rows, time.monotonic() - begin


def main(
    doc: str | None,
    run: Callable[[bool], list[Figure]],
    full: Callable[..., list[Figure] | None] | None = None,
) -> None:
    """The command line of a benchmark: its full table, or with --quick the figures alone.

    Keyword arguments of `full` are options. A default of several words is a choice: some of these.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only what `make bench` shows")
    for name, parameter in inspect.signature(full or (lambda: None)).parameters.items():
        default = parameter.default
        more: dict[str, Any] = {"default": default, "help": "default %(default)s"}
        if isinstance(default, bool):
            more |= {"action": "store_true", "help": None}
        elif isinstance(default, tuple):
            kind = type(default[0]) if default else str
            more |= {"nargs": "+", "type": kind, "choices": default if kind is str else None}
            more["choices"] = more["choices"] or None
        else:
            more["type"] = Path if default is None else type(default)
        parser.add_argument("--" + name.replace("_", "-"), **more)
    options = vars(parser.parse_args())
    quick = options.pop("quick")
    try:
        figures = run(quick) if quick or full is None else full(**options)
        if figures is not None:
            print(figure_table([figure.cells() for figure in figures]))
    except AbsentError as error:
        print(error)
