"""`hopefear report`: tuning runs side by side, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.errors import InputError, OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command

if TYPE_CHECKING:
    from hopefear.analysis.report.outputs import Outputs, TestSet
    from hopefear.analysis.report.runs import ComparedSystem


@register("command", "report")
@dataclass(kw_only=True)
class Report(Command):
    """Show tuning runs side by side, as one HTML file that needs no network.

    Learning curves, scores and their significance, the heaviest features, examples with their
    derivations, the configuration. Examples are translations of --test, or of the set that the runs
    were tuned on if it is still there, by each run's own model, settings and chosen weights. Runs
    of another system's decoder need --translations; --no-translations shows what the run
    directories have. A directory made by 'tune --runs N' is one system; --runs N takes N
    directories in a row as one.
    """

    section = "Use and look"
    examples = (
        "hopefear report run -o report.html",
        "hopefear report mert pro mira -o report.html --test test.zh --refs test.en.?",
        "hopefear report a1 a2 a3 b1 b2 b3 --runs 3 --names mert mira -o report.html",
        "hopefear report run --test t.fr --refs t.en --translations t.out -o report.html",
    )

    run_directories: list[Path] = argument(metavar="RUN", help="directories of 'hopefear tune'")
    output: Path = option(Path("report.html"), flags=("-o",), help="the HTML file")
    test: Path | None = option(None, metavar="SRC", help="text to translate; else the tuning set")
    refs: list[Path] = option([], metavar="REF", help="its references, one file each")
    model: list[Path] = option(
        [], metavar="DIR", help="where models are now, one for all or one for each system"
    )
    translations: list[Path] = option(
        [], metavar="FILE", help="translations of --test, one file for each run; else made here"
    )
    no_translations: bool = option(False, help="leave scores and examples of a text out")
    names: list[str] = option([], metavar="NAME", help="what the systems are called")
    runs: int = option(1, min=1, help="so many directories in a row are runs of one system")
    sentences: int = option(100, min=0, help="how many examples are shown")
    top: int = option(20, min=0, help="how many of the heaviest features")
    title: str = option("Tuning report", help="of the page")
    plugin: list[Path] = option(
        [],
        metavar="FILE.py",
        help="Python files with components that the runs used",
    )
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.analysis.report.runs import read_systems
        from hopefear.analysis.report.write import write_report
        from hopefear.base.files import check_writable

        self._check()
        if str(self.output) == "-" and console.json:
            raise OptionError("-o -: with --json, stdout has the JSON object; give a file")
        check_writable(self.output)
        systems = read_systems(self.run_directories, names=self.names, group=self.runs)
        outputs, notes = self._outputs(systems, console)
        return write_report(
            self.output,
            systems,
            outputs,
            notes=notes,
            top=self.top,
            sentences=self.sentences,
            title=self.title,
            display=console.display,
        )

    def _check(self) -> None:
        if (self.test is None) != (not self.refs):
            raise OptionError("--test and --refs belong together; give both")
        if self.translations and self.test is None:
            raise OptionError("--translations: of what? give --test SRC --refs REF too")
        if self.translations and self.model:
            raise OptionError("--model is for translating; --translations is done")
        if self.no_translations and (self.test or self.model):
            raise OptionError("--no-translations: then --test and --model have no use")

    def _outputs(
        self, systems: Sequence[ComparedSystem], console: Console
    ) -> tuple[Outputs | None, list[str]]:
        """Translations; without --test only if they can be had, and else why not."""
        from hopefear.analysis.report import outputs
        from hopefear.base.threads import all_cores

        if self.no_translations:
            return None, []
        try:
            text = self._text(systems)
            if self.translations:
                return outputs.read_translations(systems, text, self.translations), []
            made = outputs.translate(
                systems,
                text,
                models=self.model,
                threads=self.threads or all_cores(),
                display=console.display,
                warn=console.warn,
            )
            return made, []
        except InputError as error:
            if self.test is not None or self.model:
                raise
            note = f"no translations: {error}"
            console.warn(note)
            return None, [note]

    def _text(self, systems: Sequence[ComparedSystem]) -> TestSet:
        from hopefear.analysis.report.outputs import TestSet, tuning_set

        if self.test is None:
            return tuning_set(systems)
        return TestSet(self.test, self.refs, self.test.name)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        if str(self.output) != "-":
            console.print(f"{report['report']}: {report['megabytes']} MB; open it in a browser")
