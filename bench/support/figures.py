"""What every benchmark gives: figures with their budgets, and a command of its own.

A benchmark has a function `run(quick: bool) -> list[Figure]`, which takes seconds if it is to be
quick (`make bench`), and ends with `main(__doc__, run)`; one with a table of its own gives that and
its options, too.
"""

from __future__ import annotations

import argparse
import importlib
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


def figure_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for docs/results.md; columns after the first are numbers."""
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
    full: Callable[[argparse.Namespace], None] | None = None,
    options: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> None:
    """The command line of a benchmark: its full table, or with --quick the figures alone."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only what `make bench` shows")
    options(parser)
    a = parser.parse_args()
    try:
        if a.quick or full is None:
            print(figure_table([figure.cells() for figure in run(a.quick)]))
        else:
            full(a)
    except AbsentError as error:
        print(error)
