"""`hopefear text clean`: remove sentence pairs that would harm training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option, part_of
from hopefear.base.console import Console, table
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.text.clean import CleanRules


@register("command", "text clean")
@dataclass(kw_only=True)
class Clean(CleanRules, Command):
    """Remove sentence pairs that are empty, too long or of very different lengths.

    The first two files are the tokenised source and target text. The same lines are removed from
    further parallel files (document names, alignments, references). The report counts the removed
    pairs by reason.
    """

    section = "Train"
    examples = (
        "hopefear text clean a.fr a.en -o b.fr b.en --max-words 60",
        "hopefear text clean a.fr a.en a.doc -o b.fr b.en b.doc --log dropped.tsv --json",
    )

    files: list[Path] = argument(help="source text, target text and further parallel files")
    output: list[Path] = option(flags=("-o",), help="output files, one for each input file")
    log: Path | None = option(
        None, help="file for the line number, reason and value of each removed pair"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.text.clean import clean_files

        if any(str(path) == "-" for path in [*self.output, self.log]):
            raise OptionError(
                "--output, --log: '-' is not valid; stdout has the report; give files"
            )
        rules = CleanRules(**part_of(CleanRules, self))
        with console.step("clean", unit="pairs") as step:
            report = clean_files(self.files, self.output, rules, log=self.log, step=step)
        return report.to_mapping()

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(f"kept {report['kept']:,} of {report['pairs']:,} pairs")
        rows = [
            (reason, f"{count:,}", " ".join(map(str, report["first_lines"][reason])))
            for reason, count in sorted(report["dropped"].items(), key=lambda item: -item[1])
        ]
        if rows:
            console.print(table(rows, ("dropped", "pairs", "first lines")))
