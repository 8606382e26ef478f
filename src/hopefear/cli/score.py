"""`hopefear score`: BLEU, chrF, TER and length of translations, and what a difference means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopefear.base.config import part_of
from hopefear.base.console import Console
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.metrics.score_options import ScoreOptions


@register("command", "score")
@dataclass(kw_only=True)
class Score(ScoreOptions, Command):
    """Score translations against references: BLEU, chrF, TER, length; compare systems.

    BLEU on the same tokens equals sacreBLEU's. --versus adds other systems, each
    compared with the first one by a paired test. Systems that were tuned several
    times: give all runs of the first, then with --versus all runs of the second,
    and so on, and --runs N says how many there are of each; then the table has
    means, deviations over runs and over resampled test sets, and the test is
    stratified approximate randomisation.

    With --tokenize 13a, chrF and TER see the lines as they are, as in sacreBLEU;
    TER sees the tokens of zh and char, since the lines have no words.
    """

    section = "Use and look"
    examples = (
        "hopefear score test.out --refs test.en.0 test.en.1 test.en.2 test.en.3",
        "hopefear score mira.out --refs test.en --versus mert.out pro.out",
        "hopefear score mira.1 mira.2 mira.3 --refs test.en --versus mert.1 mert.2 mert.3 --runs 3",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.metrics.score import score

        options = ScoreOptions(**part_of(ScoreOptions, self))
        self.scores = score(options, display=console.display)
        return self.scores.to_mapping()

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        from hopefear.metrics.score import METRICS, shown

        console.print(repr(self.scores))
        for number, scores in enumerate(self.scores.sentences or (), 1):
            values = [f"{title} {shown(key, scores[key])}" for key, title in METRICS.items()]
            console.print(f"{number}: " + ", ".join(values))
        console.print()
        for signature in self.scores.signatures.values():
            console.print(signature)
