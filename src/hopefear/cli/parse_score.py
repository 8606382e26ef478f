"""`hopefear parse score`: labelled bracketing scores of trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command

PERCENT = ("precision", "recall", "f1", "exact", "tags")


@register("command", "parse score")
@dataclass(kw_only=True)
class ParseScore(Command):
    """Compare trees with gold trees of the same sentences.

    Both files have a tree in brackets per line, () where there is none. Prints precision, recall
    and F1 of labelled brackets, the share of sentences without a wrong bracket and of words with
    the right tag, all in per cent. As in evalb, preterminals and a root called TOP, ROOT or S1 are
    no brackets, punctuation does not count, and PRT is ADVP; function tags, traces and indices are
    removed first. A missing tree has no brackets; a sentence without gold tree is left out.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear parse score test.trees --gold gold.trees",
        "hopefear parse score test.trees --gold gold.trees --punctuation --json",
    )

    trees: Path = argument(metavar="TREES", help="trees to score ('-': stdin)")
    gold: Path = option(metavar="FILE", help="gold trees of the same sentences")
    punctuation: bool = option(False, help="count punctuation like other words")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_one_stdin
        from hopefear.syntax.score import score_files

        check_one_stdin(self.trees, self.gold)
        with console.step("score"):
            score = asdict(score_files(self.trees, self.gold, punctuation=self.punctuation))
        return {key: 100 * value if key in PERCENT else value for key, value in score.items()}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        for key in PERCENT:
            console.print(f"{key:<10} {report[key]:6.2f}")
        console.print(
            f"{report['sentences']:,} sentences, {report['missing']:,} without a tree; "
            f"{report['brackets']:,} brackets, {report['gold_brackets']:,} in the gold trees"
        )
