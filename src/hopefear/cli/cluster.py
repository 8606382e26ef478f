"""`hopefear cluster`: Brown clusters from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.text.clusters import MOST_CLUSTERS


@register("command", "cluster")
@dataclass(kw_only=True)
class Cluster(Command):
    """Sort words into clusters by their neighbours (Brown et al. 1992).

    The text has one tokenised sentence per line; several texts count as one. The output has a line
    'path<TAB>word<TAB>count' for each word; words with the same path form a cluster, the first bits
    of a path name a coarser one.
    """

    section = "Train"
    examples = (
        "hopefear cluster train.en -o train.en.paths",
        "hopefear cluster train.zh news.zh.gz -o zh.paths.gz --clusters 500 --min-count 2",
    )

    text: list[Path] = argument(help="one sentence per line; '-' is stdin, .gz is unpacked")
    output: Path = option(flags=["-o"], help="file to write; '-' is stdout, .gz is packed")
    clusters: int = option(200, min=1, max=MOST_CLUSTERS, help="how many")
    min_count: int = option(1, min=1, help="leave out words that occur less often")

    def run(self, console: Console) -> Mapping[str, Any] | None:
        from hopefear.base.files import check_one_stdin
        from hopefear.text.clusters import cluster

        if not self.text:
            raise OptionError("TEXT is missing: one sentence per line; '-' is stdin")
        check_one_stdin(*self.text)
        to_stdout = str(self.output) == "-"
        if console.json and to_stdout:
            raise OptionError("--json: stdout is the clusters' already; give -o a file")
        with console.step("cluster", unit="words") as step:
            found, report = cluster(
                self.text,
                clusters=self.clusters,
                min_count=self.min_count,
                progress=step.update,
            )
        found.save(self.output)
        return None if to_stdout else asdict(report)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(
            f"{report['words']:,} words in {report['clusters']:,} clusters, of "
            f"{report['tokens']:,} tokens; mutual information of neighbours "
            f"{report['information']:.4f} nats"
        )
