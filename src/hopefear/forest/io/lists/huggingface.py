"""Candidates of Hugging Face's transformers, as JSON lines or one JSON array.

A line is what a pipeline returns for a sentence with num_return_sequences=N:

    [{"translation_text": "a house"}, {"translation_text": "the house"}]

(also `generated_text`, `summary_text`, `text`; numbers beside it become features), or the decoded
output of `generate(…, return_dict_in_generate=True, output_scores=True)`:

    {"sequences": ["a house", "the house"], "sequences_scores": [-0.4, -0.7]}

The number of the line is the id. Features: `model` for sequences_scores, and `rank` if there is no
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, json_lines, number

_TEXTS = ("translation_text", "generated_text", "summary_text", "text")


@register("list-format", "huggingface")
@dataclass(kw_only=True)
class HuggingFace(ListFormat):
    """Output of pipelines and of `generate` of transformers."""

    def read(self, path: Path) -> Iterator[Entry]:
        for id, (place, value) in enumerate(json_lines(path, _is_file)):
            if isinstance(value, dict) and "sequences" in value:
                candidates = list(_sequences(value, place))
            else:
                items = value if isinstance(value, list) else [value]
                candidates = [_candidate(item, place) for item in items]
            for rank, (text, features) in enumerate(candidates):
                yield {"id": id, "text": text, "features": features or {"rank": rank}}


def _is_file(items: list[Any]) -> bool:
    """Whether an array on one line has the lists of all sentences, and is not one list."""
    return all(isinstance(i, list) or (isinstance(i, dict) and "sequences" in i) for i in items)


def _sequences(value: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, float]]]:
    texts, scores = value["sequences"], value.get("sequences_scores") or []
    if scores and len(scores) != len(texts):
        raise InputError(f"{place}: {len(scores)} sequences_scores of {len(texts)} sequences")
    for rank, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{place}: sequence {text!r:.40}, expected a decoded text")
        yield text, {"model": number(scores[rank], place, "a score")} if scores else {}


def _candidate(item: Any, place: str) -> tuple[str, dict[str, float]]:
    keys = [key for key in _TEXTS if isinstance(item, dict) and key in item]
    if not keys or not isinstance(item[keys[0]], str):
        raise InputError(f"{place}: {item!r:.60}, expected an object with one of {_TEXTS}")
    features = {
        "model" if key == "score" else key: number(value, place, key)
        for key, value in item.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return item[keys[0]], features
