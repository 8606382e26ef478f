"""BLEU of a sentence in the context of others, the cost of MIRA.  [watanabe2007, eidelman2013]

Sentence BLEU is a poor approximation of corpus BLEU, so a hypothesis is scored together with other
translations: either a decaying pseudo-document of recently chosen hypotheses (`document`), or the
previous iteration's 1-best translations of all other sentences (`previous`). A single sentence
changes this score little, so it is multiplied by a scale. Step sizes and margins (C, B, D) depend
on the scale, which is therefore an option and part of the signature.

    metric = ContextBleu(context="previous", scale="sentences")
    context = metric.start(len(references))
    context.gains(rows, sentence)         # gains of a sentence's hypotheses
    context.record(row, sentence)         # the hypothesis chosen for the sentence
    context.end_iteration()

Where several learners divide the sentences, each has a context of its own. `recorded` returns the
sum of what it recorded in a pass, `receive` takes the sum of the others'; the previous 1-best
translations are then those of the whole set, as in the thesis. A document is that of one learner.

Differs: errata chapter 3: the sentence's own old 1-best is left out, and the score is scaled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear._engine import NgramGain
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_decayed import BleuDecayed
from hopefear.metrics.metric import FloatArray


@register("metric", "bleu-context")
@dataclass(kw_only=True)
class ContextBleu(Bleu):
    """BLEU in the context of other translations."""

    name: ClassVar[str] = "bleu-context"
    title: ClassVar[str] = "BLEU in context"

    context: Literal["document", "previous"] = option(
        "document",
        help="context of a sentence; document: a decayed document of the chosen hypotheses, "
        "previous: the previous iteration's 1-best translations",
    )
    decay: float | None = option(
        None,
        min=0,
        max=1,
        help="decay of the document per sentence (default 0.999; the thesis's programs: 0.95)",
    )
    context_weight: float | None = option(
        None,
        min=0,
        help="weight of the previous 1-best translations (default 1; the thesis's programs: 0.5)",
    )
    scale: Literal["reference-length", "source-length", "sentences", "constant"] = option(
        "reference-length",
        help="multiplier of BLEU: total reference length, total source length, number of "
        "sentences, or 1 (constant)",
    )
    factor: float = option(
        1.0,
        min=0,
        help="further multiplier of BLEU (the thesis's scripts: scale constant, factor 1000)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        unused = "context_weight" if self.context == "document" else "decay"
        if getattr(self, unused) is not None:
            raise OptionError(f"{unused}: has no effect with context {self.context}; leave it out")
        if self.context == "document":
            self.decay = 0.999 if self.decay is None else self.decay
        else:
            self.context_weight = 1.0 if self.context_weight is None else self.context_weight

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Return BLEU without context: decayed smoothing (eq. 2.19), not scaled."""
        plain = BleuDecayed(
            order=self.order, reference_length=self.reference_length, unit=self.unit
        )
        return plain.sentence_scores(statistics)

    def start(
        self,
        sentences: int,
        source_lengths: ArrayLike | None = None,
        *,
        elsewhere: tuple[int, float] = (0, 0.0),
    ) -> Context:
        """Take the number of sentences and return their initial context.

        The scale source-length needs the lengths of the source sentences. `elsewhere` has the
        number of sentences of other learners and their total source length.
        """
        if self.scale == "source-length" and source_lengths is None:
            raise OptionError("scale source-length: give the lengths of the source sentences")
        lengths = np.zeros(sentences) if source_lengths is None else source_lengths
        kind = DocumentContext if self.context == "document" else PreviousContext
        return kind(self, np.asarray(lengths, dtype=np.float64), *elsewhere)


class Context(ABC):
    """The translations that a hypothesis is scored together with; checkpoints keep its state."""

    def __init__(
        self,
        metric: ContextBleu,
        source_lengths: FloatArray,
        other_sentences: int = 0,
        other_source: float = 0.0,
    ) -> None:
        self.metric, self.source_lengths = metric, source_lengths
        self.all_sentences = len(source_lengths) + other_sentences
        self.all_source = float(source_lengths.sum()) + other_source

    @abstractmethod
    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        """Take rows of a sentence's hypotheses; return scaled gains: (…, columns) -> (…)."""

    @abstractmethod
    def search_gain(self, sentence: int) -> NgramGain:
        """Return the gain as a function of n-gram matches, for search in forests."""

    @abstractmethod
    def record(self, statistics: ArrayLike, sentence: int) -> None:
        """Add the row of the hypothesis chosen for a sentence."""

    @abstractmethod
    def end_iteration(self) -> None:
        """End a pass over all sentences."""

    def recorded(self) -> NDArray[np.int64]:
        """Return the sum of the rows recorded in the last pass, for the other learners."""
        return np.zeros(0, dtype=np.int64)

    def receive(self, others: NDArray[np.int64]) -> None:  # noqa: B027
        """Take the sum of `recorded` of the other learners, between two passes."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Set the state from a checkpoint."""

    def _scaled(
        self, rows: FloatArray, background: FloatArray, source: float, sentences: float
    ) -> FloatArray:
        total = rows + background
        score = self.metric.score(total)
        scale: FloatArray | float
        if self.metric.scale == "reference-length":
            scale = self.metric.parts(total)[2]
        elif self.metric.scale == "source-length":
            scale = source
        else:
            scale = sentences if self.metric.scale == "sentences" else 1.0
        return self.metric.factor * scale * score

    def _search(self, background: FloatArray, source: float, sentences: float) -> NgramGain:
        metric = self.metric
        matches, totals, reference = metric.parts(background)
        # For orders without matches in the background: small positive counts.
        low = 0.5 ** np.arange(1, metric.order + 1)
        by_length = metric.scale == "reference-length"
        constant = {"source-length": source, "sentences": sentences, "constant": 1.0}
        return NgramGain(
            np.where(matches > 0, matches, low).tolist(),
            np.where(totals > 0, totals, low).tolist(),
            length=float(totals[0]),
            reference=float(reference),
            constant=0.0 if by_length else metric.factor * constant[metric.scale],
            by_reference=metric.factor if by_length else 0.0,
        )


class DocumentContext(Context):
    """A pseudo-document: statistics that begin at 1 and decay whenever a sentence is added."""

    def __init__(self, metric: ContextBleu, source_lengths: FloatArray, *others: Any) -> None:
        super().__init__(metric, source_lengths, *others)
        self.background = np.ones(len(metric.columns))
        self.background[-1] = metric.length_unit
        self.source, self.sentences = 1.0, 0.0

    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        rows = np.asarray(statistics, dtype=np.float64)
        source = self.source + float(self.source_lengths[sentence])
        return self._scaled(rows, self.background, source, self.sentences + 1.0)

    def search_gain(self, sentence: int) -> NgramGain:
        source = self.source + float(self.source_lengths[sentence])
        return self._search(self.background, source, self.sentences + 1.0)

    def record(self, statistics: ArrayLike, sentence: int) -> None:
        decay = self.metric.decay
        assert decay is not None
        self.background = decay * self.background + np.asarray(statistics)
        self.source = decay * self.source + float(self.source_lengths[sentence])
        self.sentences = decay * self.sentences + 1.0

    def end_iteration(self) -> None:
        """Do nothing: the document continues over iterations."""

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "background": self.background.copy(),
            "counts": np.array([self.source, self.sentences]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.background = np.array(state["background"], dtype=np.float64)
        self.source, self.sentences = map(float, state["counts"])


class PreviousContext(Context):
    """The previous iteration's 1-best translations; in the first iteration, eq. 2.19 alone.

    For scores of similar size in all iterations, the first iteration's score is multiplied by the
    sentence's share of the scale: its own length, or 1/N of the constant.
    """

    def __init__(self, metric: ContextBleu, source_lengths: FloatArray, *others: Any) -> None:
        super().__init__(metric, source_lengths, *others)
        shape = (len(source_lengths), len(metric.columns))
        self.previous = np.zeros(shape, dtype=np.int64)
        self.next = np.zeros(shape, dtype=np.int64)
        self.total = np.zeros(len(metric.columns), dtype=np.int64)
        self.elsewhere = np.zeros(len(metric.columns), dtype=np.int64)  # of the other learners
        self.started = False

    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        rows = np.asarray(statistics, dtype=np.float64)
        if not self.started:
            return self._share(rows, sentence) * self.metric.sentence_scores(rows)
        return self._scaled(rows, *self._others(sentence))

    def _others(self, sentence: int) -> tuple[FloatArray, float, float]:
        """Return the other sentences' statistics, and the source length and number of all."""
        weight = self.metric.context_weight
        assert weight is not None
        others = weight * (self.total - self.previous[sentence] + self.elsewhere)
        own = float(self.source_lengths[sentence])
        source = weight * (self.all_source - own) + own
        return others, source, weight * (self.all_sentences - 1) + 1.0

    def search_gain(self, sentence: int) -> NgramGain:
        if self.started:
            return self._search(*self._others(sentence))
        added = [0.5**n for n in range(1, self.metric.order + 1)]
        share = self.metric.scale == "reference-length"
        constant = 0.0 if share else float(self._share(np.zeros(0), sentence))
        return NgramGain(
            added, added, constant=constant, by_reference=self.metric.factor if share else 0.0
        )

    def _share(self, rows: FloatArray, sentence: int) -> FloatArray | float:
        if self.metric.scale == "reference-length":
            return self.metric.factor * self.metric.parts(rows)[2]
        if self.metric.scale == "source-length":
            return self.metric.factor * float(self.source_lengths[sentence])
        if self.metric.scale == "sentences":
            return self.metric.factor
        return self.metric.factor / self.all_sentences

    def record(self, statistics: ArrayLike, sentence: int) -> None:
        self.next[sentence] = np.asarray(statistics)

    def recorded(self) -> NDArray[np.int64]:
        total: NDArray[np.int64] = self.next.sum(axis=0)
        return total

    def receive(self, others: NDArray[np.int64]) -> None:
        self.elsewhere = others

    def end_iteration(self) -> None:
        self.previous = self.next.copy()
        self.total = self.previous.sum(axis=0)
        self.started = True

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "previous": self.previous.copy(),
            "next": self.next.copy(),
            "elsewhere": self.elsewhere.copy(),
            "started": np.array(self.started),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.previous = np.array(state["previous"], dtype=np.int64)
        self.next = np.array(state["next"], dtype=np.int64)
        self.elsewhere = np.array(state["elsewhere"], dtype=np.int64)
        self.total = self.previous.sum(axis=0)
        self.started = bool(state["started"])
