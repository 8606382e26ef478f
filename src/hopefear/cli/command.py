"""The contract of a subcommand: its options, its report and its help.

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

A field may name a registered component (`tuner`, `metric`). It is then listed in `components`, and
the component's own options come from `--set` and from the component's table in the config file
(`[tune.mert]`). `self.component("tuner")` creates the component.

`--json` prints the report as one JSON object instead of calling `show`. Commands import the modules
that do the work inside `run`, which keeps `hopefear --help` fast.
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

Section = Literal["Start here", "Train", "Learn", "Apply and evaluate"]
SECTIONS: tuple[Section, ...] = ("Start here", "Train", "Learn", "Apply and evaluate")

#: Fields of commands that name files to write; the other paths are inputs or directories.
OUTPUTS = ("output", "nbest_out", "gold_out", "stats", "log")


@dataclass(kw_only=True)
class Common:
    """The options of every command."""

    progress: Mode = option(
        "auto", help="progress display on stderr; auto: a bar on a terminal, else lines"
    )
    config: Path | None = option(None, help="TOML file with values for these options")
    set: list[str] = option(
        [], metavar="KEY=VALUE", help="set options by their names in the config file"
    )
    debug: bool = option(False, help="print the traceback of an error")


@dataclass(kw_only=True)
class Reporting(Common):
    """The options of every command that returns a report."""

    json: bool = option(False, help="print the report as one JSON object")


class Command:
    """Base class of all commands; see the module's docstring."""

    section: ClassVar[Section] = "Apply and evaluate"
    examples: ClassVar[tuple[str, ...]] = ()
    reports: ClassVar[bool] = True  # the command has --json
    #: field that names a component -> kind of the component
    components: ClassVar[Mapping[str, str]] = {}
    #: field that names a component -> options of the component
    settings: Mapping[str, Mapping[str, Any]] = {}

    def component(self, field: str) -> Any:
        """Create the component that `field` names, with its options."""
        return registry.create(
            self.components[field], getattr(self, field), self.settings.get(field)
        )

    def run(self, console: Console) -> Mapping[str, Any] | None:
        """Do the work and return the report (values that JSON can represent)."""
        raise NotImplementedError

    def exit_code(self, report: Mapping[str, Any]) -> int:
        """Return the exit code after a report was printed: 2 if it has faults to mend."""
        return 0

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        """Print the report as text."""
        console.print(table([(key, format_value(value)) for key, value in report.items()]))
