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

        {"id": 0, "text": "a house", "features": {"nmt": -3}, "scores": {"x": 1}}

    Ids are line numbers of the references, from 0. The metric to optimise may also be the mean of
    scores in the file: "score" with --metric given, or one of "scores" by its name (x; COMET or
    human judgements, say); references are then not needed, and ids may be any words. --metric A=1
    B=0.5 optimises a weighted sum. All metrics are reported, with significance tests.

    The report compares the chosen candidates with the first candidate of each list. By default
    each list is scored with weights tuned on the other four of five folds, because the gain on
    lists that were tuned on is overestimated (--folds 1). The written weights are tuned on all
    lists. --report writes a file for 'hopefear report'.
    """

    section = "Learn"
    examples = (
        "hopefear rerank tune --nbest dev.nbest --refs dev.en --tuner mert -o weights.tsv",
        "hopefear rerank tune --nbest d.jsonl --refs d.txt --metric wer --tuner mert -o w.tsv",
        "hopefear rerank tune --nbest d.jsonl --metric comet=0.5 bleu=0.5 --refs d.en --tuner mert "
        "-o w.tsv --ablation --report rerank.json",
    )
    components = {"tuner": "tuner"}  # noqa: RUF012

    output: Path = option(flags=("-o",), metavar="WEIGHTS", help="file for the weights")
    metric_set: list[str] = option([], metavar="KEY=VALUE", help="options of the metric")
    report: Path | None = option(
        None, metavar="FILE.json", help="file for the report, which 'hopefear report' shows"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.learn.rerank import rerank

        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        check_writable(self.output)
        if self.report is not None:
            check_writable(self.report)
        self.reranker = rerank(
            RerankOptions(**part_of(RerankOptions, self)),
            self.settings.get("tuner"),
            self._metric_options(),
            display=console.display,
            tell=console.note,
            warn=console.warn,
        )
        self.reranker.save(self.output)
        if self.report is not None:
            self.reranker.save_report(self.report)
        return self.reranker.report

    def _metric_options(self) -> dict[str, Any]:
        from hopefear.learn.rerank_metrics import is_text_metric, parse_terms

        terms = [term.name for term in parse_terms(self.metric) if is_text_metric(term.name)]
        if not terms:  # given scores have no options: `rerank` refuses the keys
            return dict.fromkeys(self.metric_set)
        return parse_pairs(registry.get("metric", terms[0]), self.metric_set, "--metric-set")

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        tell = console.note if str(self.output) == "-" else console.print
        tell(repr(self.reranker))
