"""`hopefear tune`: the weights of a model, learned on a development set or a bitext."""

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
    """Learn the weights of a model on a development set or a bitext.

    Batch tuners decode the development set, optimise the weights on all translations decoded so
    far, and repeat until the weights no longer change. Online tuners (mira, rm, violation) update
    the weights after each sentence or minibatch, which they decode with the current weights. With
    --train, online tuners learn from that bitext, and the development set decides only when to stop
    and which iteration is best; violation uses the sentence pairs that the decoder can derive.
    With --lattices, any tuner learns from forests or lattices of any system, without decoding
    (docs/guides/other-systems.md). With --decoder or --stream-decoder, the decoder is the command
    of another system; complete commands are in docs/guides/from-moses.md for Moses, in
    docs/guides/from-cdec.md for cdec and Mr. MIRA's learner.

    The run directory has the best weights (weights.tsv), the weights of every iteration, the scores
    (metrics.jsonl) and the complete configuration (config.toml); with a decoder that has a
    moses.ini, also a copy of it with the tuned weights. An interrupted run resumes with
    --resume and ends with the same weights. --set gives options of the tuner and the metric (--set
    restarts=5 metric.reference_length=average).
    """

    section = "Learn"
    examples = (
        "hopefear tune --model fr-en --dev dev.fr --refs dev.en --tuner mert -o run",
        "hopefear tune --model m --dev d.zh --refs d.en.? --tuner batch-mira -o run --set C=0.001",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mert -o run --runs 3 --resume",
        "hopefear tune --model m --dev d.fr --refs d.en --tuner mira -o run --set step=kbest",
        "hopefear tune --model m --train t.fr t.en --dev d.fr --refs d.en --tuner maxforce -o run",
        "hopefear tune --decoder 'moses -f {config} -i {input} -n-best-list {nbest} {k} distinct' "
        "--options config=moses.ini --tokenized --dev d.fr --refs d.en --tuner mert -o run",
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
