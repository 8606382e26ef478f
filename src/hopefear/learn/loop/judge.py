"""Tuning sets, and the scores of translations of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from hopefear.base.errors import InputError
from hopefear.decode.contract import Sentence, Tokens
from hopefear.learn.loop.run import Record
from hopefear.metrics import Metric, create
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.metric import total


@dataclass(frozen=True)
class TuningSet:
    """Input sentences of the decoder, and the references of each."""

    sentences: Sequence[Sentence | Tokens]
    references: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        if len(self.sentences) != len(self.references):
            raise InputError(
                f"{len(self.sentences)} sentences, but references for {len(self.references)}; "
                "give parallel files"
            )
        if not self.sentences:
            raise InputError("the set to learn from is empty; give at least one sentence")

    def joined(self, other: TuningSet) -> TuningSet:
        """Return both sets as one."""
        return TuningSet([*self.sentences, *other.sentences], [*self.references, *other.references])


class Judge:
    """Scores translations of a set by the metric, and by BLEU."""

    def __init__(self, metric: Metric, data: TuningSet, threads: int) -> None:
        self.metric, self.data, self.threads = metric, data, threads
        self.prepared = metric.prepare(data.references)
        bleu = metric if isinstance(metric, Bleu) else create("bleu")
        assert isinstance(bleu, Bleu)
        self.bleu = bleu
        self._bleu = self.prepared if bleu is metric else bleu.prepare(data.references)

    def scores(self, texts: Sequence[str]) -> Record:
        """Take one translation per sentence and return the scores as they are displayed."""
        rows = self.prepared.statistics(texts, threads=self.threads)
        counted = rows if self.bleu is self.metric else self._bleu.statistics(texts)
        summed = total(counted)
        return {
            "score": float(self.metric.shown(total(rows))),
            "bleu": float(self.bleu.shown(summed)),
            "length_ratio": float(self.bleu.length_ratio(summed)),
        }


def by_chance(sentences: int) -> float:
    """Return the difference in points (of BLEU, TER …) that chance explains on a sample.

    This is two standard deviations: with 250 sentences the difference in BLEU of two equally good
    weight vectors has a standard deviation of about 0.5 (Multi30k fr-en, bootstrap).
    """
    return 15.0 / sqrt(sentences)
