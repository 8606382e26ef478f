"""`hopefear rerank select`: how many candidates a reranker needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.config import option, parse_pairs, part_of
from hopefear.base.console import Console, table
from hopefear.base.files import check_writable, write_text
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.learn.rerank_options import RerankOptions


@register("command", "rerank select")
@dataclass(kw_only=True)
class RerankSelect(RerankOptions, Command):
    """Show how many candidates are enough: the gain by the length of the lists.

    For each size n, a reranker is tuned and applied on the first n candidates of each list, with
    cross-validation, and compared with that on all candidates. The curve of the oracle says what
    longer lists contain, that of the reranker what it finds there. 'Enough' is the smallest size
    that is not significantly worse than all candidates (p > 0.05).
    """

    section = "Learn"
    examples = (
        "hopefear rerank select --nbest dev.jsonl --refs dev.en --tuner mert",
        "hopefear rerank select --nbest d.jsonl --refs d.txt --metric wer --tuner mert --sizes 5 9",
    )
    components = {"tuner": "tuner"}  # noqa: RUF012

    sizes: list[int] = option(
        [], metavar="N", help="numbers of candidates (default: 1 2 5 10 20 50 …, and all)"
    )
    metric_set: list[str] = option([], metavar="KEY=VALUE", help="options of the metric")
    report: Path | None = option(
        None, metavar="FILE.json", help="file for the curve, which 'hopefear report' shows"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.errors import OptionError
        from hopefear.base.weights import Weights
        from hopefear.learn.rerank import RerankJob
        from hopefear.learn.rerank_metrics import is_text_metric, parse_terms
        from hopefear.learn.rerank_select import enough, selected, warnings_of

        if self.report is not None:
            check_writable(self.report)
        if self.ablation:
            raise OptionError("--ablation: is for 'rerank tune'; remove it")
        terms = [term.name for term in parse_terms(self.metric) if is_text_metric(term.name)]
        options = (
            parse_pairs(registry.get("metric", terms[0]), self.metric_set, "--metric-set")
            if terms
            else dict.fromkeys(self.metric_set)
        )
        job = RerankJob(
            RerankOptions(**part_of(RerankOptions, self)),
            self.settings.get("tuner"),
            options,
            display=console.display,
            tell=console.note,
            warn=console.warn,
        )
        start = Weights() if self.weights is None else Weights.load(self.weights)
        rows = selected(job, self.sizes, start)
        metric = job.lists.metric
        lower = metric.lower_is_better or bool(getattr(metric, "lower", False))
        report: dict[str, Any] = {
            "metric": " ".join(self.metric),
            "tuner": self.tuner,
            "lists": job.lists.candidates.groups,
            "sizes": rows,
            "enough": enough(rows, lower=lower),
            "warnings": [],
        }
        report["warnings"] = warnings_of(rows, report["lists"], report["enough"])
        for text in report["warnings"]:
            console.warn(text)
        if self.report is not None:
            with write_text(self.report) as file:
                file.write(json.dumps({"kind": "select", "report": report}, indent=1) + "\n")
        return report

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            [
                f"{row['candidates']:,}",
                f"{row['mean_candidates']:.1f}",
                f"{row['tuned']:.4g}",
                f"{row['difference']:+.4g}",
                f"{row['low']:+.4g} … {row['high']:+.4g}",
                f"{row['p_value']:.4f}",
                f"{row['oracle']:.4g}",
            ]
            for row in report["sizes"]
        ]
        tuned = f"{report['metric']}, tuned"
        header = ["candidates", "mean", tuned, "difference", "95 % interval", "p", "oracle"]
        console.print(table(rows, header))
        console.print(f"{report['enough']:,} candidates are enough (p > 0.05 against all)")
