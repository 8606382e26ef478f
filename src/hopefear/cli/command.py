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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hopefear.base import registry
from hopefear.base.config import option
from hopefear.base.console import Console, format_value, table
from hopefear.base.progress import Mode

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
        return registry.create(
            self.components[field], getattr(self, field), self.settings.get(field)
        )

    def run(self, console: Console) -> Mapping[str, Any] | None:
        """Do the work; the return value is the report (JSON-able)."""
        raise NotImplementedError

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        """Print the report for a person."""
        console.print(table([(key, format_value(value)) for key, value in report.items()]))
