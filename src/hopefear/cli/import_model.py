"""`hopefear import`: a model directory from a model of Moses or cdec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "import")
@dataclass(kw_only=True)
class Import(Command):
    """Import a model of Moses or cdec.

    FILE is moses.ini or cdec.ini; paths in it are relative to its directory. The new model
    directory has copies of all files and can be moved. Features keep their names, units and
    weights, so scores equal those of the original system.
    """

    section = "Train"
    examples = (
        "hopefear import moses.ini --model fr-en",
        "hopefear import cdec.ini --model fr-en --weights weights.txt",
    )

    file: Path = argument(help="moses.ini or cdec.ini")
    model: Path = option(metavar="DIR", help="model directory to create")
    format: Literal["moses", "cdec"] | None = option(
        None, help="format of FILE (default: detected from its content)"
    )
    weights: Path | None = option(
        None,
        help="weights file that replaces the weights of FILE",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.model.importing import import_model

        return import_model(
            self.file,
            self.model,
            format=self.format,
            weights=self.weights,
            display=console.display,
            tell=console.note,
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rules = report.get("rules")
        size = f"{rules['rules']:,} rules" if rules else "a grammar for each sentence"
        lms = ", ".join(f"{name} (order {lm['order']})" for name, lm in report["lms"].items())
        console.print(
            f"{report['model']}: a {report['system']} model of {report['format']}, {size}, "
            f"language models: {lms or 'none'}\n"
        )
        rows = [(name, f"{value:.6g}") for name, value in report["weights"].items()]
        console.print(table(rows, ("feature", "weight")))
