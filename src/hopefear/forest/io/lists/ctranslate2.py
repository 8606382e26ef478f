"""The results of CTranslate2's Translator.translate_batch, as JSON lines.

    for result in results:
        print(json.dumps({"hypotheses": result.hypotheses, "scores": result.scores}))

One object per sentence; a hypothesis is a list of tokens (see `pieces`) or a text. The number of
the line is the id. Features: `model` (a log probability, normalised by length unless
length_penalty=0) and `tokens`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, TokenFormat, json_lines, member, number


@register("list-format", "ctranslate2")
@dataclass(kw_only=True)
class CTranslate2(TokenFormat):
    """Results of CTranslate2 as JSON lines."""

    def read(self, path: Path) -> Iterator[Entry]:
        for id, (place, value) in enumerate(json_lines(path)):
            hypotheses = member(value, "hypotheses", place)
            scores = value.get("scores") or []
            if scores and len(scores) != len(hypotheses):
                raise InputError(f"{place}: {len(scores)} scores of {len(hypotheses)} hypotheses")
            for rank, hypothesis in enumerate(hypotheses):
                features: dict[str, float] = {}
                if scores:
                    features["model"] = number(scores[rank], place, "a score")
                if isinstance(hypothesis, list):
                    features["tokens"] = len(hypothesis)
                yield {"id": id, "text": self.text(hypothesis, place), "features": features}
