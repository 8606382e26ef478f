"""`hopefear rerank tune`: weights that rerank the n-best lists of any system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.config import option, parse_pairs, part_of
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import check_writable
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.learn.rerank_options import RerankOptions


@register("command", "rerank tune")
@dataclass(kw_only=True)
class RerankTune(RerankOptions, Command):
    """Learn weights that rerank the n-best lists of any system.

    Reads lists in the formats of Moses (id ||| words ||| A= 1 2 B= 3 ||| score), of cdec and Joshua
    (name=value), or as JSON lines for any other system:

        {"id": 0, "text": "a house", "features": {"nmt": -3.1}, "score": 0.8}

    Ids are line numbers of the references, from 0. With --metric given, the metric to optimise is
    the mean of the scores in the file, for instance of COMET or human judgements; references are
    then not needed, and ids may be any words.

    The report compares the reranked translations with the first candidate of each list. On the
    lists that the weights were tuned on, the gain is overestimated: --folds 5 tunes five times and
    scores each list with weights tuned on the other folds. The written weights are tuned on all
    lists.
    """

    section = "Learn"
    examples = (
        "hopefear rerank tune --nbest dev.nbest --refs dev.en --tuner mert -o weights.tsv",
        "hopefear rerank tune --nbest d.jsonl --refs d.en --tuner batch-mira -o w.tsv --folds 5",
        "hopefear rerank tune --nbest d.jsonl --metric given --tuner mert -o w.tsv",
    )
    components = {"tuner": "tuner"}  # noqa: RUF012

    output: Path = option(flags=("-o",), metavar="WEIGHTS", help="file for the weights")
    metric_set: list[str] = option([], metavar="KEY=VALUE", help="options of the metric")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.learn.rerank import rerank

        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        check_writable(self.output)
        self.reranker = rerank(
            RerankOptions(**part_of(RerankOptions, self)),
            self.settings.get("tuner"),
            self._metric_options(),
            display=console.display,
            tell=console.note,
            warn=console.warn,
        )
        self.reranker.save(self.output)
        return self.reranker.report

    def _metric_options(self) -> dict[str, Any]:
        if self.metric == "given":  # it has no options: `rerank` refuses the keys
            return dict.fromkeys(self.metric_set)
        return parse_pairs(registry.get("metric", self.metric), self.metric_set)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        tell = console.note if str(self.output) == "-" else console.print
        tell(repr(self.reranker))
