"""The contract of a sub-command, and the console it talks to.

    @register("command", "lm estimate")
    @dataclass(kw_only=True)
    class Estimate(Command):
        '''Estimate a language model from text.

        Longer explanation, shown by --help.
        '''
        section = "Train"
        examples = ("hopefear lm estimate train.en -o lm.arpa.gz --order 5",)

        text: Path = argument(help="one sentence per line")

        def run(self, console): … return {"ngrams": …}
        def show(self, report, console): console.print(…)

A field may name a registered component (`tuner`, `metric`): `components` says so, and then the
component's own options come from `--set` and from a table of the config file with the component's
name (`[tune.mert]`); `self.component("tuner")` makes it.

`--json` prints the report as one JSON object instead of calling `show`. Modules of this package
import what does the work inside `run`, so that `hopefear --help` stays fast.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hopefear import config, registry
from hopefear.config import option
from hopefear.progress import Display, Mode, Progress

Section = Literal["Start here", "Train", "Learn", "Use and look"]
SECTIONS: tuple[Section, ...] = ("Start here", "Train", "Learn", "Use and look")


@dataclass(kw_only=True)
class Common:
    """The options that every command has."""

    progress: Mode = option("auto", help="how progress is shown on stderr")
    config: Path | None = option(None, help="TOML file with values for these options, by name")
    set: list[str] = option([], metavar="KEY=VALUE", help="set options by name, like the config")
    debug: bool = option(False, help="show the traceback of an error")


@dataclass(kw_only=True)
class Reporting(Common):
    """And those of commands that report something."""

    json: bool = option(False, help="print the report as one JSON object")


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


class Command:
    """Base of all commands; see the module's docstring."""

    section: ClassVar[Section] = "Use and look"
    examples: ClassVar[tuple[str, ...]] = ()
    reports: ClassVar[bool] = True  # has --json
    #: fields that name a component -> its kind
    components: ClassVar[Mapping[str, str]] = {}
    #: such a field -> the options given for its component
    settings: Mapping[str, Mapping[str, Any]] = {}

    def component(self, field: str) -> Any:
        """The component that a field names, with the options given for it."""
        kind, name = self.components[field], getattr(self, field)
        cls = registry.get(kind, name)
        return config.from_mapping(cls, self.settings.get(field, {}), f"{kind} {name}")

    def run(self, console: Console) -> Mapping[str, Any] | None:
        """Do the work; the return value is the report (JSON-able)."""
        raise NotImplementedError

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        """Print the report for a person."""
        console.print(table([(key, format_value(value)) for key, value in report.items()]))


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


def _numeric(cell: str) -> bool:
    return cell.strip(" -+%.,0123456789eE") == ""
