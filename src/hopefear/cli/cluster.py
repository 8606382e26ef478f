"""`hopefear cluster`: Brown clusters of the words of a text."""

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
    """Cluster words by their neighbours (Brown et al. 1992).

    The text has one tokenised sentence per line; several files are read as one text. The output has
    a line 'path<TAB>word<TAB>count' for each word, where the path is a string of bits. Words with
    the same path form a cluster; the first bits of the path name a coarser cluster.
    """

    section = "Train"
    examples = (
        "hopefear cluster train.en -o train.en.paths",
        "hopefear cluster train.zh news.zh.gz -o zh.paths.gz --clusters 500 --min-count 2",
    )

    text: list[Path] = argument(
        help="tokenised text, one sentence per line ('-': stdin, .gz: compressed)"
    )
    output: Path = option(flags=["-o"], help="file for the clusters ('-': stdout, .gz: compressed)")
    clusters: int = option(200, min=1, max=MOST_CLUSTERS, help="number of clusters")
    min_count: int = option(1, min=1, help="least count of a word; rarer words are left out")

    def run(self, console: Console) -> Mapping[str, Any] | None:
        from hopefear.base.files import check_one_stdin
        from hopefear.text.clusters import cluster

        if not self.text:
            raise OptionError("TEXT is missing: give a file with one sentence per line, or '-'")
        check_one_stdin(*self.text)
        to_stdout = str(self.output) == "-"
        if console.json and to_stdout:
            raise OptionError("--json: the clusters are written to stdout; give -o a file")
        with console.step("cluster", unit="words") as step:
            clusters, report = cluster(
                self.text,
                clusters=self.clusters,
                min_count=self.min_count,
                progress=step.update,
            )
        clusters.save(self.output)
        return None if to_stdout else asdict(report)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(
            f"{report['words']:,} words in {report['clusters']:,} clusters, from "
            f"{report['tokens']:,} tokens; mutual information of neighbours "
            f"{report['information']:.4f} nats"
        )
