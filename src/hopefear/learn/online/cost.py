"""The cost of translations in online learning: BLEU in context, sentence scores, weighted sums.

Takes names of metrics and their weights and a learner's share of the sentences, and returns the
gains (minus the cost) of the hypotheses of a sentence, times `scale`.

Gains are in units of the sentence score: the best and the worst translation of a sentence differ by
about 1. Sentence scores (BLEU+1, minus TER) are of that size; BLEU in context is multiplied by the
number of sentences of its context. The defaults C = 0.01, D = 0.01 and B = 1 are for the default
scale of 10. B is in the unit before scaling, so that no required margin exceeds the bound.

Only the ratio of costs and scores matters: scale 1 with C = 0.001 and a tenth of the weights is the
same learner. With scale 1 and C = 0.01, which is close to the thesis's programs (a factor of 1000
and sets of 1,000 to 1,800 sentences), a single step is as long as weights whose scores differ by 1,
and relative margin first falls far behind the start (Multi30k fr-en, 200 sentences, dev BLEU: start
49.8, then 37.4, 38.1, 40.4; with scale 10: 49.2, 49.6, 50.5). Chiang's C = 0.01 is for BLEU times
the length of the document, which corresponds to scale 10 to 20. [eidelman2013, chiang2009]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base import config, registry
from hopefear.base.errors import OptionError
from hopefear.forest import Objective
from hopefear.learn.pool.search_aware import shared_out
from hopefear.learn.tuner import Share
from hopefear.metrics import Metric, create
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.context_bleu import Context, ContextBleu
from hopefear.metrics.metric import FloatArray, Prepared
from hopefear.metrics.prepared import PreparedReferences

#: Default options of BLEU in context, before `cost_options`.
CONTEXT = {"context": "previous", "scale": "sentences"}


@dataclass
class Part:
    """A metric of the cost and its weight, with a learner's references."""

    weight: float
    metric: Metric
    prepared: Prepared = field(init=False)
    context: Context | None = field(init=False, default=None)

    def begin(self, share: Share) -> None:
        """Take the learner's share and prepare its references."""
        self.prepared = self.metric.prepare(share.references)
        if isinstance(self.metric, ContextBleu):
            lengths = share.source_lengths or None
            self.context = self.metric.start(
                len(share.sentences), lengths, elsewhere=share.elsewhere
            )


def parts_of(names: Sequence[str], weights: Sequence[float], options: Sequence[str]) -> list[Part]:
    """Take names, weights and options (PART.KEY=VALUE) of metrics and return the parts."""
    if len(weights) != len(names) or len(set(names)) != len(names):
        raise OptionError(
            f"cost_weights: {len(weights)} for {len(names)} costs; name each cost once and give "
            "each a weight"
        )
    pairs: dict[str, list[str]] = {name: [] for name in names}
    for text in options:
        part, dot, pair = text.partition(".")
        if not dot or part not in pairs:
            raise OptionError(
                f"cost_options: {text!r}; expected PART.KEY=VALUE with a part of "
                + (", ".join(names) or "'cost', which is not given")
            )
        pairs[part].append(pair)
    return [
        Part(weight, _metric(name, pairs[name]))
        for name, weight in zip(names, weights, strict=True)
    ]


def _metric(name: str, pairs: Sequence[str]) -> Metric:
    cls = registry.get("metric", name)
    given = config.parse_pairs(cls, pairs)
    if issubclass(cls, ContextBleu):
        given = {**CONTEXT, **given}
    return create(name, given)


def default_parts(metric: Metric) -> list[Part]:
    """The cost that belongs to a metric: of BLEU itself BLEU in context, of others their own."""
    if type(metric) is not Bleu:
        return [Part(1.0, metric)]
    same = config.part_of(ContextBleu, metric, ["context", "decay", "context_weight", "scale",
                                                "factor"])  # fmt: skip
    return [Part(1.0, create("bleu-context", {**same, **CONTEXT}))]


class Cost:
    """The cost of one learner; its state are the contexts."""

    def __init__(self, parts: Sequence[Part], scale: float, share: Share) -> None:
        self.parts, self.scale = list(parts), scale
        self._local = {number: at for at, number in enumerate(share.sentences)}
        self._iteration = 0
        for part in self.parts:
            part.begin(share)

    @property
    def searchable(self) -> bool:
        """Whether forests can be searched by this cost: it is a single n-gram metric."""
        part = self.parts[0]
        return len(self.parts) == 1 and (
            part.context is not None or hasattr(part.metric, "search_gain")
        )

    def objective(self, sentence: int) -> Objective:
        """Return the objective for searching a sentence's forest; its gains lack the `factor`."""
        (part,) = self.parts
        at = self._local[sentence]
        assert isinstance(part.prepared, PreparedReferences)
        if part.context is not None:
            return Objective.in_context(part.context, part.prepared, at)
        return Objective.of(part.metric, part.prepared, at)  # type: ignore[arg-type]

    @property
    def factor(self) -> float:
        """The factor of the gains of `objective`."""
        return self.scale * self.parts[0].weight

    def gains(self, texts: Sequence[Any], sentence: int, share: float | None = None) -> FloatArray:
        """Return the gains of translations of a sentence, or of a `share` of its length."""
        at = self._local[sentence]
        total = np.zeros(len(texts))
        for part in self.parts:
            rows = part.prepared.statistics(texts, np.full(len(texts), at, np.int32))
            if share is not None:
                rows = shared_out(rows, np.full(len(texts), share))
            if part.context is not None:
                total += part.weight * part.context.gains(rows, at)
            else:
                total += part.weight * part.metric.sentence_scores(rows)
        return self.scale * total

    def begin_iteration(self, iteration: int) -> None:
        """Update the contexts if a new pass begins."""
        if iteration != self._iteration:
            self._iteration = iteration
            for context in self._contexts():
                context.end_iteration()

    def record(self, text: Any, sentence: int) -> None:
        """Add the model's best translation of a sentence to the contexts."""
        at = self._local[sentence]
        for part in self.parts:
            if part.context is not None:
                rows = part.prepared.statistics([text], np.array([at], np.int32))
                part.context.record(rows[0], at)

    def recorded(self) -> list[NDArray[np.int64]]:
        """Return what the contexts recorded in the last pass, for the other learners."""
        return [context.recorded() for context in self._contexts()]

    def receive(self, others: Sequence[NDArray[np.int64]]) -> None:
        """Take what the contexts of the other learners recorded."""
        for context, rows in zip(self._contexts(), others, strict=True):
            context.receive(rows)

    def _contexts(self) -> list[Context]:
        return [part.context for part in self.parts if part.context is not None]

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        states: list[dict[str, NDArray[Any]]] = [c.state() for c in self._contexts()]
        return {"iteration": self._iteration, "contexts": states}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._iteration = int(state["iteration"])
        for context, saved in zip(self._contexts(), state["contexts"], strict=True):
            context.restore(saved)

    def signature(self) -> str:
        """Return the formula of the cost with all metrics and their options."""
        terms = [
            f"{part.weight:g} * {part.metric.signature().rpartition('|version:')[0]}"
            for part in self.parts
        ]
        return f"{self.scale:g} * (" + " + ".join(terms) + ")"
