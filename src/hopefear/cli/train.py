"""`hopefear train`: two texts become a model directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option, part_of
from hopefear.base.console import Console, table
from hopefear.base.progress import duration
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.model.train_options import TrainOptions


@register("command", "train")
@dataclass(kw_only=True)
class Train(TrainOptions, Command):
    """Train a translation model from two texts that correspond line by line.

    Prepares the text, aligns the words, estimates the language model and extracts the rules; the
    model directory has all that translating needs. A run that was stopped goes on behind the last
    finished step when the command is given again, and with other options only what depends on
    them is done again. 'hopefear inspect DIR' describes the result.
    """

    section = "Train"
    examples = (
        "hopefear train train.fr train.en --model fr-en",
        "hopefear train train.zh train.en --model zh-en --tokenized --order 3",
        "hopefear train train.zh train.en --model zh-en --system hiero",
        "hopefear train train.fr train.en --model fr-en --align train.align --lm-text news.en.gz",
    )

    source: Path = argument(metavar="SRC", help="source text, one sentence per line")
    target: Path = argument(metavar="TGT", help="its translation, line by line")
    model: Path = option(metavar="DIR", help="the model directory to make")
    plugin: list[Path] = option([], metavar="FILE.py", help="Python files with taggers of your own")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.model.train import train

        options = TrainOptions(**part_of(TrainOptions, self))
        return train(
            self.source,
            self.target,
            self.model,
            options,
            display=console.display,
            tell=console.note,
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            (name, "done before" if step["reused"] else duration(step["seconds"]))
            for name, step in report["steps"].items()
        ]
        console.print(table(rows))
        console.print(
            f"\n{report['model']} is ready after {duration(report['seconds'])}; "
            f"look at it: hopefear inspect {report['model']}"
        )
