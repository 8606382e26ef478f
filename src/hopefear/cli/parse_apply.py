"""`hopefear parse apply`: the trees of a text."""

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
from hopefear.syntax.parser import ParseOptions


@register("command", "parse apply")
@dataclass(kw_only=True)
class ParseApply(ParseOptions, Command):
    """Parse a tokenised text with a parser of 'hopefear parse train'.

    Writes a tree in brackets for each line: () for an empty or too long one; a sentence for which
    the grammar has no tree gets a flat one, (TOP (FRAG ...)). With -o -, the report goes to stderr
    (with --json, to the last line of stdout).
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear parse apply parser -i train.en -o train.en.trees",
        "hopefear parse apply parser < test.en > test.trees",
    )

    parser: Path = argument(metavar="DIR", help="output directory of 'hopefear parse train'")
    input: Path = option(Path("-"), flags=("-i",), help="tokenised text, one sentence per line")
    output: Path = option(Path("-"), flags=("-o",), help="file for the trees")
    threads: int | None = option(
        None,
        min=1,
        max=256,
        help="number of threads (default: all cores); does not change the result",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.syntax.parser import Parser

        parser = Parser.load(self.parser, ParseOptions(**part_of(ParseOptions, self)))
        started = time.monotonic()
        report = parser.parse_file(
            self.input, self.output, threads=self.threads, display=console.display
        )
        return {**report, "seconds": round(time.monotonic() - started, 3)}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        line = f"{report['parsed']:,} of {report['sentences']:,} sentences parsed"
        if report["flat"]:
            line += f", {report['flat']:,} got a flat tree"
        if report["none"]:
            line += f", {report['none']:,} are empty or too long"
        rate = report["sentences"] / max(report["seconds"], 1e-3)
        tell = console.note if str(self.output) == "-" else console.print
        tell(f"{line}; {rate:,.0f} per second")
