"""`hopefear world`: write the built-in bilingual corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import option
from hopefear.base.console import Console, table
from hopefear.base.registry import register
from hopefear.cli.command import Command

PARTS = ("train", "dev", "test")


@register("command", "world")
@dataclass(kw_only=True)
class WriteWorld(Command):
    """Write the built-in bilingual corpus: Mandarin in pinyin, and English.

    Writes {train,dev,test}.zh, train.en, {dev,test}.en.0 to .en.3 (four references) and
    {train,dev,test}.doc (the document name of each line, which ends in the topic) into a directory;
    with --trees also train.en.trees and {dev,test}.en.0.trees to .en.3.trees, a tree in brackets
    for each line of English. The same seed gives the same bytes; dev and test do not depend on the
    size of train.
    """

    section = "Start here"
    examples = (
        "hopefear world -o world",
        "hopefear world -o big --train 100000 --seed 7 --json",
        "hopefear world -o world --trees",
    )

    output: Path = option(
        flags=("-o",), metavar="DIR", help="output directory, created if it does not exist"
    )
    train: int = option(8000, min=0, help="number of training pairs")
    dev: int = option(300, min=0, help="number of development sentences")
    test: int = option(500, min=0, help="number of test sentences")
    seed: int = option(1, help="random seed of the corpus")
    trees: bool = option(False, help="also write the phrase-structure trees of the English texts")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_directory
        from hopefear.text import world

        check_directory(self.output)
        size = self.train + self.dev + self.test
        with console.step("make the world", total=size, unit="sentences") as step:
            made = world.generate(
                train=self.train,
                dev=self.dev,
                test=self.test,
                seed=self.seed,
                trees=self.trees,
                progress=step.advance,
            )
        with console.step("write the world"):
            world.write(made, self.output)
        return {"directory": str(self.output), **world.statistics(made)}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(f"wrote {report['directory']}\n")
        console.print(describe(report))


def describe(report: Mapping[str, Any]) -> str:
    """The statistics of a corpus as text: a table of its parts, its topics and its noise."""
    rows = [
        ("sentences", "sentences"),
        ("documents", "documents"),
        ("references each", "references"),
        ("source words", "source_words"),
        ("source types", "source_types"),
        ("words per sentence", "mean_source_length"),
        ("longest sentence", "longest_source"),
        ("words not in train", "unseen_words"),
    ]
    lines = []
    for label, key in rows:
        cells = [report[part].get(key) for part in PARTS]
        lines.append([label, *(_cell(cell) for cell in cells)])
    topics = ", ".join(f"{topic} {count:,}" for topic, count in report["topics"].items())
    noise = report["noise"]
    return (
        f"{table(lines, ('', *PARTS))}\n\n"
        f"sentences by topic: {topics}\n"
        f"noise in train: {noise['bad_pairs']:,} pairs with a wrong translation, "
        f"{noise['missing_words']:,} with missing words"
    )


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
