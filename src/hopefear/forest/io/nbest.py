"""N-best lists of any system as forests with one node and one edge per entry.

Text: `id ||| words ||| features ||| score`, with features as Moses writes them (`LM0= -3 TM0= 1 2`;
several values of a label become `TM0_1`, `TM0_2`), as cdec and Joshua do (`name=value`), or mixed.
JSON lines: `{"id": …, "text": …, "features": {…}, "score": …, "scores": {…}, "utilities": […]}`;
only id and text are required. Files (also .gz) are read list by list. The entries of a list must be
adjacent: an id that occurs again later starts another list.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest, JsonNbestStream, NbestStream, Vocabulary
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_input
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder
from hopefear.text.tokenizers.plain import split_words

Format = Literal["moses", "cdec", "jsonl"]

_LARGEST = float(np.finfo(np.float32).max)


class NbestList(NamedTuple):
    """An n-best list as a forest, whose edge i is entry i."""

    id: str
    forest: Forest
    scores: NDArray[np.float64]  # the file's score per entry; NaN if it has none
    named: Mapping[str, NDArray[np.float64]] = MappingProxyType({})  # "scores"; NaN: not given
    utilities: Sequence[NDArray[np.float64]] = ()  # of each entry against all; empty: not given


def read_nbest(
    path: PathLike,
    format: Format | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
    entries: Iterable[Mapping[str, Any]] | None = None,
) -> Iterator[NbestList]:
    """Take a file of n-best lists and yield its lists.

    By default, files named `.jsonl` or `.json` (also .gz) and those that begin with `{` are JSON
    lines. All lists share `vocabulary` and `names`. With `entries`, the objects of the JSON lines
    are taken from memory and `path` only appears in messages.
    """
    vocabulary = vocabulary if vocabulary is not None else Vocabulary()
    names = names if names is not None else FeatureNames()
    if entries is not None:
        parsed = _from_memory(entries, display_name(path))
        yield from _lists(parsed, ForestBuilder(vocabulary=vocabulary, names=names))
        return
    with open_input(path) as file:
        if format == "jsonl" or (format is None and _is_json(path, file)):
            yield from _read_json(file, path, vocabulary, names)
            return
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
    features: Mapping[str, float]
    score: float
    place: str
    named: Mapping[str, float]
    utilities: Sequence[float]


def _lists(parsed: Iterable[_Entry], builder: ForestBuilder) -> Iterator[NbestList]:
    for id, entries in groupby(parsed, key=lambda entry: entry.id):
        scores, named, utilities = [], [], []
        builder.node()
        for entry in entries:
            try:
                row = builder.row(entry.features, share=False)
                builder.edge(0, (), entry.words, row=row)
            except (ValueError, InputError) as error:  # for example an unpaired surrogate
                raise InputError(f"{entry.place}: {in_line(error)}") from None
            scores.append(entry.score)
            named.append(entry.named)
            utilities.append(np.array(entry.utilities, np.float64))
        try:
            forest = builder.finish(0, id=id)
        except ValueError as error:
            raise InputError(f"{entry.place}: {in_line(error)}") from None
        columns = {
            name: np.array([values.get(name, math.nan) for values in named], np.float64)
            for name in dict.fromkeys(name for values in named for name in values)
        }
        rows = utilities if any(map(len, utilities)) else []
        yield NbestList(id, forest, np.array(scores, np.float64), columns, rows)


def _is_json(path: PathLike, file: BinaryIO) -> bool:
    """Whether a file, of which nothing has been read, has JSON lines."""
    if str(path).removesuffix(".gz").endswith((".jsonl", ".json")):
        return True
    peek = getattr(file, "peek", lambda size: b"")  # of all files but those of raw streams
    return bool(peek(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"))


def _read_json(
    file: BinaryIO, path: PathLike, vocabulary: Vocabulary, names: FeatureNames
) -> Iterator[NbestList]:
    stream = JsonNbestStream(file, display_name(path), vocabulary, names)
    while (found := stream.next()) is not None:
        forest, scores, score_names, named, utilities = found
        columns = dict(zip(score_names, named, strict=True))
        yield NbestList(forest.id, forest, scores, columns, utilities)
    if stream.wrong_line:
        raise _wrong_line(stream.wrong_line, stream.place)


def _wrong_line(line: str, place: str) -> InputError:
    """Return what is wrong with a line that the engine does not accept."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return InputError(f"{place}: not a JSON object ({in_line(error)})")
    try:
        list(_lists([_entry(record, place)], ForestBuilder()))
    except InputError as error:
        return error
    return InputError(f"{place}: not an entry of an n-best list (a key twice, or deep nesting)")


def _from_memory(records: Iterable[Mapping[str, Any]], place: str) -> Iterator[_Entry]:
    for number, record in enumerate(records, 1):
        yield _entry(record, f"{place}:{number}")


def _entry(record: Any, place: str) -> _Entry:
    def refuse(key: str, value: object, expected: str) -> InputError:
        shown = json.dumps(value, default=repr)[:60]
        return InputError(f"{place}: {key} is {shown}, expected {expected}")

    def numbers(key: str, kind: str) -> Mapping[str, float]:
        given = record.get(key) or {}
        if not isinstance(given, Mapping):
            raise refuse(f'"{key}"', given, "an object of numbers")
        for name, value in given.items():
            if not _is_number(value):
                raise refuse(f"{kind} {name!r}", value, "a finite number")
        return given

    if not isinstance(record, Mapping):
        raise refuse("the line", record, 'an object {"id": …, "text": …, "features": {…}}')
    id, text = record.get("id"), record.get("text")
    if isinstance(id, bool) or not isinstance(id, str | int | np.integer):
        raise refuse('"id"', id, "a string or an integer")
    if not isinstance(text, str):
        raise refuse('"text"', text, "a string")
    features, named = numbers("features", "feature"), numbers("scores", "score")
    score = record.get("score")
    if score is not None and not _is_number(score):
        raise refuse('"score"', score, "a finite number")
    utilities = record.get("utilities") or ()
    if isinstance(utilities, str | Mapping) or not all(map(_is_number, utilities)):
        raise refuse('"utilities"', utilities, "a list of finite numbers")
    known = math.nan if score is None else float(score)
    return _Entry(str(id), split_words(text), features, known, place, named, utilities)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    try:
        return abs(float(value)) <= _LARGEST  # false for NaN
    except OverflowError:  # an integer of hundreds of digits
        return False
