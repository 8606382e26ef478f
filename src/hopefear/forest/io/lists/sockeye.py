"""The output of sockeye-translate --output-type json --nbest-size N.

One object per sentence with `translations` and `scores`, or with `translation` and `score` if
there is one translation. Sockeye's scores are costs: lower is better. The number of the line is the
id. Feature: `model`; the scores of target factors are `model-1`, `model-2` …
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, TokenFormat, json_lines, member, number


@register("list-format", "sockeye")
@dataclass(kw_only=True)
class Sockeye(TokenFormat):
    """JSON output of sockeye-translate."""

    def read(self, path: Path) -> Iterator[Entry]:
        for id, (place, value) in enumerate(json_lines(path)):
            if isinstance(value, dict) and "translations" in value:
                texts, scores = value["translations"], member(value, "scores", place)
            else:
                texts, scores = (
                    [member(value, "translation", place)],
                    [member(value, "score", place)],
                )
            if len(texts) != len(scores):
                raise InputError(f"{place}: {len(scores)} scores of {len(texts)} translations")
            for text, score in zip(texts, scores, strict=True):
                parts = score if isinstance(score, list) else [score]
                features = {
                    f"model-{i}" if i else "model": number(part, place, "a score")
                    for i, part in enumerate(parts)
                }
                yield {"id": id, "text": self.text(text, place), "features": features}
