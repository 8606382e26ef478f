"""`hopefear train`: a model directory from a parallel text."""

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
    """Train a translation model from a parallel text.

    SRC and TGT correspond line by line. Training preprocesses the text, aligns the words, estimates
    the language model and extracts the rules; the model directory contains everything that
    translation needs. If training is interrupted, the same command resumes after the last finished
    step; with changed options, only the steps that depend on them are repeated. 'hopefear inspect
    DIR' describes the model.
    """

    section = "Train"
    examples = (
        "hopefear train train.fr train.en --model fr-en",
        "hopefear train train.zh train.en --model zh-en --tokenized --order 3",
        "hopefear train train.zh train.en --model zh-en --system hiero",
        "hopefear train train.fr train.en --model fr-en --align train.align --lm-text news.en.gz",
        "hopefear train train.fr train.en --model fr-en --folds 10 --cluster auto",
    )

    source: Path = argument(metavar="SRC", help="source text, one sentence per line")
    target: Path = argument(metavar="TGT", help="target text, its translation line by line")
    model: Path = option(metavar="DIR", help="model directory to create")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define your own systems or taggers"
    )

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
            plugins=self.plugin,
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            (name, "done before" if step["reused"] else duration(step["seconds"]))
            for name, step in report["steps"].items()
        ]
        console.print(table(rows))
        console.print(
            f"\n{report['model']} is ready after {duration(report['seconds'])}; "
            f"to describe it: hopefear inspect {report['model']}"
        )
