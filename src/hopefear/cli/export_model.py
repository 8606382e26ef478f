"""`hopefear export`: a model for Moses, cdec or Joshua."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "export")
@dataclass(kw_only=True)
class Export(Command):
    """Export a model to Moses, cdec or Joshua.

    Writes tables, language models, weights and a configuration; the last line printed is the
    command to run in DIR. Weights are in the units of that system, so derivations have the same
    scores. Phrase models are for moses, hierarchical ones for cdec, joshua and moses (moses_chart).
    """

    section = "Train"
    examples = (
        "hopefear export fr-en --format moses -o fr-en.moses",
        "hopefear export fr-en --format cdec -o fr-en.cdec --weights run/weights.tsv",
    )

    model: Path = argument(help="model directory")
    format: Literal["moses", "cdec", "joshua"] = option(help="system to export to")
    output: Path = option(flags=("-o",), metavar="DIR", help="new directory to create")
    weights: Path | None = option(
        None, help="weights file, such as that of a tuning run (default: the model's weights)"
    )
    drop: bool = option(
        False, help="leave out features that the other system lacks, instead of an error"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.model.directory import Model
        from hopefear.model.exporting import export_model

        return export_model(
            Model.load(self.model),
            self.output,
            format=self.format,
            weights=self.weights,
            drop=self.drop,
            display=console.display,
            tell=console.note,
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [(name, f"{value:.6g}") for name, value in report["weights"].items()]
        console.print(table(rows, ("feature", "weight")))
        console.print(f"\ncd {report['directory']} && {report['command']}")
