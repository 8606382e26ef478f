"""A weighted sum of metrics; by default (BLEU - TER) / 2, shown as (TER - BLEU) / 2.

Statistics: those of the parts side by side. An option of a part is given as PART.KEY=VALUE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hopefear.base import config, registry
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.metrics.metric import (
    FloatArray,
    IntArray,
    Metric,
    Prepared,
    References,
    Tokens,
    create,
)


@register("metric", "ter-bleu")
@dataclass(kw_only=True)
class Combined(Metric):
    """A weighted sum of metrics, by default (TER - BLEU) / 2."""

    name: ClassVar[str] = "ter-bleu"
    title: ClassVar[str] = "(TER-BLEU)/2"
    lower_is_better: ClassVar[bool] = True

    parts: list[str] = option(["bleu", "ter"], help="names of the summed metrics")
    weights: list[float] = option(
        [0.5, 0.5], help="weight of each part; error rates are negated before summing"
    )
    part_options: list[str] = option(
        [],
        metavar="PART.KEY=VALUE",
        help="options of the parts, such as bleu.reference_length=average",
    )

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.parts) or len(set(self.parts)) != len(self.parts):
            raise OptionError(
                f"weights: {len(self.weights)} for {len(self.parts)} parts; "
                "name each part once and give each a weight"
            )
        if self.name in self.parts:
            raise OptionError(f"parts: {self.name!r} cannot contain itself; name other metrics")
        pairs: dict[str, list[str]] = {part: [] for part in self.parts}
        for part_option in self.part_options:
            part, dot, pair = part_option.partition(".")
            if not dot or part not in pairs:
                raise OptionError(
                    f"part_options: {part_option!r}; expected PART.KEY=VALUE with PART one of "
                    + ", ".join(self.parts)
                )
            pairs[part].append(pair)
        self._metrics = [
            create(part, config.parse_pairs(registry.get("metric", part), pairs[part]))
            for part in self.parts
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{metric.name}.{name}" for metric in self._metrics for name in metric.columns)

    def prepare(self, references: References) -> Prepared:
        return PreparedParts([metric.prepare(references) for metric in self._metrics])

    def score(self, statistics: ArrayLike) -> FloatArray:
        return sum_of_parts(
            self._metrics, self.weights, statistics, lambda part, rows: part.score(rows)
        )

    def sentence_scores(self, statistics: ArrayLike) -> FloatArray:
        return sum_of_parts(
            self._metrics,
            self.weights,
            statistics,
            lambda part, rows: part.sentence_scores(rows),
        )

    def signature(self) -> str:
        parts = [metric.signature().rpartition("|version:")[0] for metric in self._metrics]
        return super().signature() + "".join(f" ({part})" for part in parts)


def sum_of_parts(
    parts: Sequence[Metric],
    weights: Sequence[float],
    statistics: ArrayLike,
    score: Callable[[Metric, ArrayLike], FloatArray],
) -> FloatArray:
    """Return the weighted sum of the scores of metrics whose statistics are side by side."""
    ends = np.cumsum([len(part.columns) for part in parts])[:-1]
    blocks = np.split(np.asarray(statistics), ends, axis=-1)
    values = [
        weight * score(part, block)
        for weight, part, block in zip(weights, parts, blocks, strict=True)
    ]
    result: FloatArray = np.sum(values, axis=0)
    return result


class PreparedParts(Prepared):
    """The parts' statistics side by side."""

    def __init__(self, parts: Sequence[Prepared]) -> None:
        self.parts = parts

    def statistics(
        self,
        hypotheses: Sequence[Tokens],
        sentences: ArrayLike | None = None,
        threads: int = 1,
    ) -> IntArray:
        return np.hstack([part.statistics(hypotheses, sentences, threads) for part in self.parts])
