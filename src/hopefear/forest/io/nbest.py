"""N-best lists of any system as forests with one node and one edge per entry.

Text: `id ||| words ||| features ||| score`, with features as Moses writes them (`LM0= -3 TM0= 1 2`;
several values of a label become `TM0_1`, `TM0_2`), as cdec and Joshua do (`name=value`), or mixed.
JSON lines: `{"id": …, "text": …, "features": {…}, "score": …}`; features and score are optional.
Files (also .gz) are read list by list. The entries of a list must be adjacent: an id that occurs
again later starts another list.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest, NbestStream, Vocabulary
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_input, open_text
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder
from hopefear.text.tokenizers.plain import split_words

Format = Literal["moses", "cdec", "jsonl"]


class NbestList(NamedTuple):
    """An n-best list as a forest, whose edge i is entry i."""

    id: str
    forest: Forest
    scores: NDArray[np.float64]  # the file's score per entry; NaN if it has none


def read_nbest(
    path: PathLike,
    format: Format | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
    entries: Iterable[Mapping[str, Any]] | None = None,
) -> Iterator[NbestList]:
    """Take a file of n-best lists and yield its lists.

    By default, files named `.jsonl` or `.json` (also .gz) are JSON lines. All lists share
    `vocabulary` and `names`. With `entries`, the objects of the JSON lines are taken from memory
    and `path` only appears in messages.
    """
    if format is None:
        bare = str(path).removesuffix(".gz")
        format = "jsonl" if bare.endswith((".jsonl", ".json")) else "moses"
    vocabulary = vocabulary if vocabulary is not None else Vocabulary()
    names = names if names is not None else FeatureNames()
    if format == "jsonl" or entries is not None:
        parsed = _read_json(path) if entries is None else _from_memory(entries, display_name(path))
        yield from _lists(parsed, ForestBuilder(vocabulary=vocabulary, names=names))
        return
    with open_input(path) as file:
        stream = NbestStream(file, display_name(path), vocabulary, names)
        while (forest_and_scores := stream.next()) is not None:
            yield NbestList(forest_and_scores[0].id, *forest_and_scores)


def id_number(id: str) -> int | None:
    """Take the id of a list; return its number (10^18 for larger ones), or None if it is none."""
    if not (id.isascii() and id.isdigit()):
        return None
    return int(id) if len(id) < 19 else 10**18


class _Entry(NamedTuple):
    id: str
    words: list[str]
    features: dict[str, float]
    score: float
    place: str


def _lists(parsed: Iterable[_Entry], builder: ForestBuilder) -> Iterator[NbestList]:
    for id, entries in groupby(parsed, key=lambda entry: entry.id):
        scores = []
        builder.node()
        for entry in entries:
            try:
                row = builder.row(entry.features, share=False)
                builder.edge(0, (), entry.words, row=row)
            except (ValueError, InputError) as error:  # for example an unpaired surrogate
                raise InputError(f"{entry.place}: {in_line(error)}") from None
            scores.append(entry.score)
        try:
            forest = builder.finish(0, id=id)
        except ValueError as error:
            raise InputError(f"{entry.place}: {in_line(error)}") from None
        yield NbestList(id, forest, np.array(scores, np.float64))


def _read_json(path: PathLike) -> Iterator[_Entry]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{display_name(path)}:{number}"
            try:
                entry = _entry(json.loads(line), place)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{place}: not a JSON object ({in_line(error)})") from None
            yield entry


def _from_memory(records: Iterable[Mapping[str, Any]], place: str) -> Iterator[_Entry]:
    for number, record in enumerate(records, 1):
        yield _entry(record, f"{place}:{number}")


def _entry(record: Any, place: str) -> _Entry:
    def refuse(key: str, value: object, expected: str) -> InputError:
        shown = json.dumps(value, default=repr)[:60]
        return InputError(f"{place}: {key} is {shown}, expected {expected}")

    if not isinstance(record, dict):
        raise refuse("the line", record, 'an object {"id": …, "text": …, "features": {…}}')
    id, text = record.get("id"), record.get("text")
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise refuse('"id"', id, "a string or an integer")
    if not isinstance(text, str):
        raise refuse('"text"', text, "a string")
    features = record.get("features") or {}
    if not isinstance(features, dict):
        raise refuse('"features"', features, "an object of numbers")
    for name, value in features.items():
        if not _is_number(value):
            raise refuse(f"feature {name!r}", value, "a finite number")
    score = record.get("score")
    if score is not None and not _is_number(score):
        raise refuse('"score"', score, "a finite number")
    return _Entry(str(id), split_words(text), features, math.nan if score is None else score, place)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= float(np.finfo(np.float32).max)  # false for NaN
