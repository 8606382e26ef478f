"""BLEU of a sentence in the context of others, the cost of MIRA.  [watanabe2007, eidelman2013]

BLEU of one sentence says little about BLEU of a corpus, so a hypothesis is scored together with
other translations: with a decaying pseudo-document of what was chosen lately (`document`), or with
the previous iteration's 1-best translations of the whole set, the sentence's own one left out
(`previous`). The change that one sentence makes is small, so the score is multiplied by a scale;
step sizes and margins (C, B, D) belong to one scale, which is therefore an option and part of the
signature.

    metric = ContextBleu(context="previous", scale="sentences")
    context = metric.start(len(references))
    context.gains(rows, sentence)         # of the hypotheses of one sentence
    context.record(row, sentence)         # what was chosen for it
    context.end_iteration()

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
        help="a decayed document of what was chosen, or the previous iteration's 1-bests",
    )
    decay: float | None = option(
        None,
        min=0,
        max=1,
        help="of the document at each sentence; if not given 0.999 (the thesis's programs: 0.95)",
    )
    context_weight: float | None = option(
        None, min=0, help="of the previous 1-bests; if not given 1 (the thesis's programs: 0.5)"
    )
    scale: Literal["reference-length", "source-length", "sentences", "constant"] = option(
        "reference-length",
        help="what BLEU is multiplied with: the summed length of the references or of the source, "
        "the number of sentences, or 1",
    )
    factor: float = option(
        1.0, min=0, help="and with this (the thesis's scripts: scale constant, factor 1000)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        useless = "context_weight" if self.context == "document" else "decay"
        if getattr(self, useless) is not None:
            raise OptionError(
                f"{useless}: has no meaning with context {self.context}; leave it out"
            )
        if self.context == "document":
            self.decay = 0.999 if self.decay is None else self.decay
        else:
            self.context_weight = 1.0 if self.context_weight is None else self.context_weight

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        """Without any context: decayed smoothing (eq. 2.19), unscaled."""
        plain = BleuDecayed(
            order=self.order, reference_length=self.reference_length, unit=self.unit
        )
        return plain.sentence_scores(statistics)

    def start(self, sentences: int, source_lengths: ArrayLike | None = None) -> Context:
        """A context for a set of sentences; scale source-length needs their lengths."""
        if self.scale == "source-length" and source_lengths is None:
            raise OptionError("scale source-length: the lengths of the source sentences are needed")
        lengths = np.zeros(sentences) if source_lengths is None else source_lengths
        kind = DocumentContext if self.context == "document" else PreviousContext
        return kind(self, np.asarray(lengths, dtype=np.float64))


class Context(ABC):
    """What a hypothesis is scored together with. Its state belongs into a checkpoint."""

    def __init__(self, metric: ContextBleu, source_lengths: FloatArray) -> None:
        self.metric, self.source_lengths = metric, source_lengths

    @abstractmethod
    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        """Scaled gains of hypotheses of one sentence: (…, columns) -> (…)."""

    @abstractmethod
    def search_gain(self, sentence: int) -> NgramGain:
        """The same as a function of n-gram matches, for searching in forests."""

    @abstractmethod
    def record(self, statistics: ArrayLike, sentence: int) -> None:
        """The row of the hypothesis that was chosen for a sentence."""

    @abstractmethod
    def end_iteration(self) -> None:
        """All sentences have been visited."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint keeps."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a checkpoint."""

    def _scaled(
        self, rows: FloatArray, background: FloatArray, source: float, sentences: float
    ) -> FloatArray:
        together = rows + background
        score = self.metric.score(together)
        scale: FloatArray | float
        if self.metric.scale == "reference-length":
            scale = self.metric.parts(together)[2]
        elif self.metric.scale == "source-length":
            scale = source
        else:
            scale = sentences if self.metric.scale == "sentences" else 1.0
        return self.metric.factor * scale * score

    def _search(self, background: FloatArray, source: float, sentences: float) -> NgramGain:
        metric = self.metric
        matches, totals, reference = metric.parts(background)
        # An order without a match: the smallest hope that there will be one.
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
    """The pseudo-document: all statistics 1 at first, decayed whenever a sentence is added."""

    def __init__(self, metric: ContextBleu, source_lengths: FloatArray) -> None:
        super().__init__(metric, source_lengths)
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
        """Nothing ends: the document goes on."""

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "background": self.background.copy(),
            "counts": np.array([self.source, self.sentences]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.background = np.array(state["background"], dtype=np.float64)
        self.source, self.sentences = map(float, state["counts"])


class PreviousContext(Context):
    """The previous iteration's 1-bests; in the first iteration eq. 2.19 without context.

    So that both have the same size, the first iteration's score is multiplied with the sentence's
    share of the scale: its own length, or 1/N of the constant.
    """

    def __init__(self, metric: ContextBleu, source_lengths: FloatArray) -> None:
        super().__init__(metric, source_lengths)
        shape = (len(source_lengths), len(metric.columns))
        self.previous = np.zeros(shape, dtype=np.int64)
        self.next = np.zeros(shape, dtype=np.int64)
        self.total = np.zeros(len(metric.columns), dtype=np.int64)
        self.started = False

    def gains(self, statistics: ArrayLike, sentence: int) -> FloatArray:
        rows = np.asarray(statistics, dtype=np.float64)
        if not self.started:
            return self._share(rows, sentence) * self.metric.sentence_scores(rows)
        return self._scaled(rows, *self._others(sentence))

    def _others(self, sentence: int) -> tuple[FloatArray, float, float]:
        """The other sentences' statistics, and source length and number with this one."""
        weight = self.metric.context_weight
        assert weight is not None
        others = weight * (self.total - self.previous[sentence])
        lengths = self.source_lengths
        source = weight * (lengths.sum() - lengths[sentence]) + lengths[sentence]
        return others, float(source), weight * (len(lengths) - 1) + 1.0

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
        return self.metric.factor / len(self.source_lengths)

    def record(self, statistics: ArrayLike, sentence: int) -> None:
        self.next[sentence] = np.asarray(statistics)

    def end_iteration(self) -> None:
        self.previous = self.next.copy()
        self.total = self.previous.sum(axis=0)
        self.started = True

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "previous": self.previous.copy(),
            "next": self.next.copy(),
            "started": np.array(self.started),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.previous = np.array(state["previous"], dtype=np.int64)
        self.next = np.array(state["next"], dtype=np.int64)
        self.total = self.previous.sum(axis=0)
        self.started = bool(state["started"])
