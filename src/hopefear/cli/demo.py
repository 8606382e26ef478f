"""`hopefear demo`: the product's story on the built-in world, step by step.

Goes in: a directory and a seed. Comes out: what each step made, on disk, and what it means, in
plain words. A chapter is two functions in `CHAPTERS`: one does the work, gets the `Stage` (where
things are, what earlier chapters found) and returns its part of the report; one tells it. What is
made is kept: a demo that was stopped goes on where it was, and one that was finished tells its
story again from what is there.
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
#: name, the work (its docstring is the title), how it is told; in the order of the story
CHAPTERS: tuple[tuple[str, Make, Tell], ...] = (
    ("world", make_world, tell_world),
    ("train", train_models, tell_training),
    ("tune", tune_models, tell_tuning),
    ("compare", compare_systems, tell_comparison),
    ("report", make_report, tell_report),
)
#: In the directory: which demo it is of.
MARK = "demo.json"


@register("command", "demo")
@dataclass(kw_only=True)
class Demo(Command):
    """Tell the whole story on the built-in world: train, tune, translate, compare.

    Makes a small bilingual corpus, trains a phrase-based and a hierarchical model on it, learns
    their weights in several ways, translates a test set and compares the results. Everything stays
    in the directory, so that you can go on from there. A demo that was stopped goes on when the
    command is given again.
    """

    section = "Start here"
    examples = ("hopefear demo", "hopefear demo -o story --json")

    output: Path = option(
        Path("hopefear-demo"),
        flags=("-o",),
        metavar="DIR",
        help="directory for everything the demo makes",
    )
    seed: int = option(1, min=0, help="another seed, another world")

    def run(self, console: Console) -> Mapping[str, Any]:
        self._claim()
        stage = Stage(self.output, self.seed, console)
        try:
            for number, (name, make, tell) in enumerate(CHAPTERS, 1):
                title = f"{number}. {make.__doc__}"
                if not console.json:
                    console.print(f"{title}\n{'=' * len(title)}\n")
                stage.found[name] = make(stage)
                if not console.json:
                    tell(stage.found[name], console)
                    console.print()
        except KeyboardInterrupt:
            console.note("stopped; the same command goes on from here")
            raise
        seconds = round(stage.seconds, 1)
        return {"directory": str(self.output), "seconds": seconds, "steps": stage.found}

    def _claim(self) -> None:
        """Take a new directory, or that of a demo that was the same."""
        from hopefear.base.files import check_directory, write_text

        check_directory(self.output)
        mark = self.output / MARK
        mine = {"version": hopefear.__version__, "seed": self.seed}
        if mark.is_file():
            try:
                there = json.loads(mark.read_text(encoding="utf-8"))
            except ValueError:
                raise InputError(
                    f"{mark}: damaged; remove {self.output}, or give another directory with -o"
                ) from None
            if there != mine:
                raise OptionError(
                    f"{self.output}: has a demo with {_in_words(there)}, this one has "
                    f"{_in_words(mine)}; remove it, or give another directory with -o"
                )
            return
        if self.output.is_dir() and any(self.output.iterdir()):
            raise OptionError(
                f"{self.output}: is not empty and no demo; give another directory with -o"
            )
        self.output.mkdir(parents=True, exist_ok=True)
        with write_text(mark) as file:
            json.dump(mine, file)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        place = report["directory"]
        console.print(f"That was it, in {duration(report['seconds'])}. All of it is in {place}:\n")
        console.print(f"  {place}/world        the texts")
        console.print(f"  {place}/models       the two models")
        console.print(f"  {place}/runs         what each way of learning did, and its weights")
        console.print(f"  {place}/report.html  all of it on one page\n")
        console.print("Next: docs/start/world.md does the same by hand, docs/guides/own-data.md")
        console.print("with texts of your own, and 'hopefear --help' lists what there is.")


def _in_words(mark: Any) -> str:
    if not isinstance(mark, dict):
        return "another format"
    return f"seed {mark.get('seed')} of version {mark.get('version')}"
