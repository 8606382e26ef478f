"""`hopefear parse train`: learn a parser from trees."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option, part_of
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.syntax.parser import ParserOptions


@register("command", "parse train")
@dataclass(kw_only=True)
class ParseTrain(ParserOptions, Command):
    """Learn a parser from trees in brackets, one per line.

    Function tags, indices and traces are removed; () is no tree. Labels are split in two, learnt by
    EM and merged again where the split does not help, for some cycles. The parser is for tokenised
    text like the words of the trees; with --lowercase it is for lowercased text, too.
    """

    section = "Train"
    examples = (
        "hopefear parse train treebank.mrg -o parser",
        "hopefear parse train news.mrg web.mrg.gz -o parser --cycles 3 --lowercase --json",
    )

    trees: list[Path] = argument(metavar="TREES", help="files with trees, one per line")
    output: Path = option(
        flags=("-o",), metavar="DIR", help="output directory, created if it does not exist"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.syntax.parser import train

        started = time.monotonic()
        options = ParserOptions(**part_of(ParserOptions, self))
        report = train(self.trees, self.output, options, display=console.display)
        seconds = round(time.monotonic() - started, 3)
        return {"directory": str(self.output), **report, "seconds": seconds}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(f"wrote {report['directory']}")
        console.print(
            f"{report['trees']:,} trees, {report['words']:,} words; {report['symbols']:,} labels "
            f"in {report['substates']:,} parts, {report['rules']:,} rules"
        )
