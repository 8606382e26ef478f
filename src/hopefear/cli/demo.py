"""`hopefear demo`: training, tuning and evaluation on the built-in corpus, step by step.

Takes a directory and a seed, writes the files of each step into the directory, and explains them. A
chapter is a pair of functions in `CHAPTERS`: the first takes the `Stage` (paths and the results of
earlier chapters), does the work and returns its part of the report; the second prints that part.
Results are kept: an interrupted demo resumes, and a finished one prints its text again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hopefear
from hopefear.base.config import option
from hopefear.base.console import Console
from hopefear.base.errors import InputError, OptionError
from hopefear.base.progress import duration
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.cli.demo_compare import compare_systems, tell_comparison
from hopefear.cli.demo_models import make_world, tell_training, tell_world, train_models
from hopefear.cli.demo_report import make_report, tell_report
from hopefear.cli.demo_stage import Stage
from hopefear.cli.demo_tune import tell_tuning, tune_models

Make = Callable[[Stage], dict[str, Any]]
Tell = Callable[[Mapping[str, Any], Console], None]
#: name, function that does the work (its docstring is the title), function that prints the result
CHAPTERS: tuple[tuple[str, Make, Tell], ...] = (
    ("world", make_world, tell_world),
    ("train", train_models, tell_training),
    ("tune", tune_models, tell_tuning),
    ("compare", compare_systems, tell_comparison),
    ("report", make_report, tell_report),
)
#: File in the demo's directory with the version and the seed of the demo.
MARK = "demo.json"


@register("command", "demo")
@dataclass(kw_only=True)
class Demo(Command):
    """Demonstrate training, tuning and evaluation on the built-in corpus.

    Generates a small bilingual corpus, trains a phrase-based and a hierarchical model on it, learns
    their weights with several methods, translates a test set and compares the results. All files
    are kept in the directory for further experiments. If the demo is interrupted, the same command
    resumes it.
    """

    section = "Start here"
    examples = ("hopefear demo", "hopefear demo -o story --json")

    output: Path = option(
        Path("hopefear-demo"),
        flags=("-o",),
        metavar="DIR",
        help="output directory",
    )
    seed: int = option(1, min=0, help="random seed of the corpus and of tuning")

    def run(self, console: Console) -> Mapping[str, Any]:
        self._claim()
        stage = Stage(self.output, self.seed, console)
        try:
            for number, (name, make, tell) in enumerate(CHAPTERS, 1):
                title = f"{number}. {make.__doc__}"
                if not console.json:
                    console.print(f"{title}\n{'=' * len(title)}\n")
                stage.reports[name] = make(stage)
                if not console.json:
                    tell(stage.reports[name], console)
                    console.print()
        except KeyboardInterrupt:
            console.note("interrupted; the same command resumes the demo")
            raise
        seconds = round(stage.seconds, 1)
        return {"directory": str(self.output), "seconds": seconds, "steps": stage.reports}

    def _claim(self) -> None:
        """Create the directory, or check that it is of a demo with this version and seed."""
        from hopefear.base.files import check_directory, write_text

        check_directory(self.output)
        mark = self.output / MARK
        expected = {"version": hopefear.__version__, "seed": self.seed}
        if mark.is_file():
            try:
                existing = json.loads(mark.read_text(encoding="utf-8"))
            except ValueError:
                raise InputError(
                    f"{mark}: damaged; remove {self.output}, or give another directory with -o"
                ) from None
            if existing != expected:
                raise OptionError(
                    f"{self.output}: has a demo with {_describe(existing)}, expected "
                    f"{_describe(expected)}; remove it, or give another directory with -o"
                )
            return
        if self.output.is_dir() and any(self.output.iterdir()):
            raise OptionError(
                f"{self.output}: neither empty nor a demo; give another directory with -o"
            )
        self.output.mkdir(parents=True, exist_ok=True)
        with write_text(mark) as file:
            json.dump(expected, file)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        place = report["directory"]
        console.print(f"The demo took {duration(report['seconds'])}. Its files are in {place}:\n")
        console.print(f"  {place}/world        the corpus")
        console.print(f"  {place}/models       the two models")
        console.print(f"  {place}/runs         the tuning runs and their weights")
        console.print(f"  {place}/report.html  the comparison of the runs on one page\n")
        console.print("Next: docs/start/world.md takes the same steps one by one,")
        console.print(
            "docs/guides/own-data.md uses your own texts, and 'hopefear --help' lists all"
        )
        console.print("commands.")


def _describe(mark: Any) -> str:
    if not isinstance(mark, dict):
        return "another format"
    return f"seed {mark.get('seed')} of version {mark.get('version')}"
