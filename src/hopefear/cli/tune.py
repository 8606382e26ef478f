"""`hopefear tune`: weights learned on a development set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopefear.base.config import part_of
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.cli.tune_shown import show_outcome
from hopefear.model.tune_options import TuneOptions


@register("command", "tune")
@dataclass(kw_only=True)
class Tune(TuneOptions, Command):
    """Learn the weights of a model on a development set, or on a bitext.

    Decodes the set, optimises the weights on everything decoded so far, and repeats, until nothing
    changes any more; online tuners (mira, rm, violation) learn from sentence after sentence
    instead, decoded with the weights of that moment. With --train they learn from that bitext, and
    the development set only says when to stop and which iteration is best; violation learns from
    those of its sentence pairs that the decoder can derive. The run directory then has the best
    weights (weights.tsv), those of every iteration, metrics.jsonl, and config.toml with all that is
    needed to repeat it. A run that was killed goes on with --resume and ends with the same weights.
    --set gives options of the tuner and of the metric (--set restarts=5
    metric.reference_length=average). With --lattices nothing is decoded: any tuner learns from
    forests or lattices of any system (docs/guides/other-systems.md).
    """

    section = "Learn"
    examples = (
        "hopefear tune --model fr-en --dev dev.fr --refs dev.en --tuner mert -o run",
        "hopefear tune --model m --dev d.zh --refs d.en.? --tuner batch-mira -o run --set C=0.001",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mert -o run --runs 3 --resume",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mira -o run --set step=kbest",
        "hopefear tune --model m --train t.fr t.en --dev d.fr --refs d.en --tuner maxforce -o run",
        "hopefear tune --lattices dev.plf --refs dev.en --tuner lattice-svm -o run",
    )
    components = {"tuner": "tuner", "metric": "metric"}  # noqa: RUF012

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.model.tuning import tune

        run = tune(
            TuneOptions(**part_of(TuneOptions, self)),
            self.settings.get("tuner"),
            self.settings.get("metric"),
            display=console.display,
            tell=console.note,
            warn=console.warn,
        )
        return run.report()

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        show_outcome(report, console)
