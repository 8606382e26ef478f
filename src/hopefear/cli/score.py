"""`hopefear score`: BLEU, chrF, TER and length of translations, with significance tests."""

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
    """Score translations against references with BLEU, chrF, TER and length; compare systems.

    BLEU on the same tokens equals sacreBLEU's. --versus adds other systems, each
    compared with the first one by a paired significance test. For systems that
    were tuned several times, give all N runs of the first system, then with
    --versus all N runs of each other system, and --runs N. The table then shows
    means and standard deviations over runs and over resampled test sets, and the
    test is stratified approximate randomisation.

    --metric names other metrics to report, for instance wer and cer for
    transcripts; --json then has their names instead of bleu, chrf, ter and
    length_ratio.

    With --tokenize 13a, chrF and TER are computed on the untokenised lines, as in
    sacreBLEU; with zh and char, TER is computed on the tokens.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear score test.out --refs test.en.0 test.en.1 test.en.2 test.en.3",
        "hopefear score mira.out --refs test.en --versus mert.out pro.out",
        "hopefear score mira.1 mira.2 mira.3 --refs test.en --versus mert.1 mert.2 mert.3 --runs 3",
        "hopefear score test.hyp --refs test.txt --metric wer cer",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.metrics.score import score

        options = ScoreOptions(**part_of(ScoreOptions, self))
        self.scores = score(options, display=console.display, warn=console.warn)
        return self.scores.to_mapping()

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        from hopefear.metrics.score import shown, title

        console.print(repr(self.scores))
        for number, scores in enumerate(self.scores.sentences or (), 1):
            values = [f"{title(key)} {shown(key, value)}" for key, value in scores.items()]
            console.print(f"{number}: " + ", ".join(values))
        console.print()
        for signature in self.scores.signatures.values():
            console.print(signature)
