"""`hopefear report`: a comparison of tuning runs as one HTML file."""

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
    """Compare tuning runs, or rerankers, in one HTML file, which needs no network.

    Shows learning curves, scores with significance tests, the features of largest weight, example
    translations with their derivations, and the configurations. The examples are from --test, or
    from the tuning set if its files still exist, translated with each run's model, settings and
    best weights. Runs of an external decoder need --translations; --no-translations leaves scores
    and examples out. A directory of 'tune --runs N' is one system; --runs N groups N directories
    into one system.

    Files of 'rerank tune --report' instead of directories give the report of rerankers: the gain in
    every metric, the oracle, the features, and the lists that change most.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear report run -o report.html",
        "hopefear report mert pro mira -o report.html --test test.zh --refs test.en.?",
        "hopefear report a1 a2 a3 b1 b2 b3 --runs 3 --names mert mira -o report.html",
        "hopefear report rerank.json -o rerank.html",
        "hopefear report run --test t.fr --refs t.en --translations t.out -o report.html",
    )

    run_directories: list[Path] = argument(
        metavar="RUN",
        help="directories of 'hopefear tune', or files of 'rerank tune|select --report'",
    )
    output: Path = option(Path("report.html"), flags=("-o",), help="HTML file to write")
    test: Path | None = option(
        None, metavar="SRC", help="source text of the comparison (default: the tuning set)"
    )
    refs: list[Path] = option([], metavar="REF", help="references of --test, one file each")
    model: list[Path] = option(
        [],
        metavar="DIR",
        help="model directory of all systems, or one for each (default: the path in each run)",
    )
    translations: list[Path] = option(
        [],
        metavar="FILE",
        help="existing translations of --test, one file per run (default: translate now)",
    )
    no_translations: bool = option(
        False, help="leave out the scores and examples that need translations"
    )
    names: list[str] = option(
        [], metavar="NAME", help="names of the systems (default: from the directories)"
    )
    runs: int = option(
        1, min=1, help="number of consecutive directories that are runs of one system"
    )
    sentences: int = option(100, min=0, help="number of examples")
    top: int = option(20, min=0, help="number of features to show, those of largest weight")
    title: str = option("Tuning report", help="title of the page")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define components of the runs"
    )
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.analysis.report.runs import read_systems
        from hopefear.analysis.report.write import write_report
        from hopefear.base.files import check_writable

        self._check()
        if str(self.output) == "-" and console.json:
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        check_writable(self.output)
        if any(path.suffix == ".json" and path.is_file() for path in self.run_directories):
            return self._rerankers()
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

    def _rerankers(self) -> Mapping[str, Any]:
        """Write the report of rerankers."""
        from hopefear.analysis.report.reranking import read_rerank_report, write_rerank_report
        from hopefear.base.files import display_name

        used = (self.test, self.model, self.translations, self.no_translations, self.runs != 1)
        if any(used):
            raise OptionError(
                "--test, --model, --translations, --no-translations and --runs: for directories of "
                "'hopefear tune' only; remove them"
            )
        names = self.names or [display_name(path) for path in self.run_directories]
        if len(names) != len(self.run_directories):
            raise OptionError(
                f"--names: {len(names)} names for {len(self.run_directories)} reports; name each"
            )
        reports = [read_rerank_report(path) for path in self.run_directories]
        title = "Reranking report" if self.title == "Tuning report" else self.title
        return write_rerank_report(
            self.output, reports, names, title=title, sentences=self.sentences
        )

    def _check(self) -> None:
        if (self.test is None) != (not self.refs):
            raise OptionError("--test and --refs belong together; give both")
        if self.translations and self.test is None:
            raise OptionError("--translations: needs the source text; give --test SRC --refs REF")
        if self.translations and self.model:
            raise OptionError("--model: has no effect with --translations; remove one")
        if self.no_translations and (self.test or self.model):
            raise OptionError("--no-translations: excludes --test and --model; remove them")

    def _outputs(
        self, systems: Sequence[ComparedSystem], console: Console
    ) -> tuple[Outputs | None, list[str]]:
        """The translations and no notes, or without --test a note why there are none."""
        from hopefear.analysis.report import outputs
        from hopefear.base.threads import all_cores

        if self.no_translations:
            return None, []
        try:
            text = self._text(systems)
            if self.translations:
                return outputs.read_translations(systems, text, self.translations), []
            translated = outputs.translate(
                systems,
                text,
                models=self.model,
                threads=self.threads or all_cores(),
                display=console.display,
                warn=console.warn,
            )
            return translated, []
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
