"""N-best lists in memory as entries with the keys of JSON lines.

Takes a list, an iterator or a table (`pandas.DataFrame`) of candidates, or lists of candidates, and
yields mappings `{"id": …, "text": …, "features": {…}}` as they are needed. In a table, the columns
`id`, `text` and `score` are what they are called, a column `scores.NAME` is the score NAME, and all
other numeric columns are features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hopefear.base.errors import InputError

SCORES = "scores."


def entries_of(lists: Any) -> Iterator[Mapping[str, Any]]:
    """Take candidates in any of the forms above and yield entries."""
    if hasattr(lists, "columns") and hasattr(lists, "itertuples"):
        yield from _of_table(lists)
        return
    if not isinstance(lists, Iterable) or isinstance(lists, str | bytes | Mapping):
        raise InputError(
            f"lists: {type(lists).__name__}, expected a file, a table, or an iterable of "
            'candidates {"id": …, "text": …, "features": {…}} or of lists of these'
        )
    iterator = iter(lists)
    first = next(iterator, None)
    if first is None:
        return
    if isinstance(first, Mapping):
        yield first
        yield from iterator
        return
    for number, candidates in enumerate(chain([first], iterator)):
        if isinstance(candidates, str | Mapping) or not isinstance(candidates, Iterable):
            raise InputError(f"list {number}: {candidates!r:.60}, expected a list of candidates")
        for candidate in candidates:
            yield {**candidate, "id": number}


def numbered(entries: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield entries whose ids are the numbers of their lists, in order of appearance."""
    numbers: dict[Any, int] = {}
    for entry in entries:
        yield {**entry, "id": numbers.setdefault(entry.get("id"), len(numbers))}


def references_of(refs: Any) -> list[list[str]]:
    """Take a reference for each list, or several, and return as many columns as it takes.

    A list without as many references as others has its last one repeated.
    """
    rows = [[text] if isinstance(text, str) else list(text) for text in refs]
    if not rows or not all(rows):
        raise InputError("refs: empty; expected a reference, or several, for each list")
    for number, row in enumerate(rows):
        if not all(isinstance(text, str) for text in row):
            raise InputError(f"refs: {row!r:.60} of list {number}; expected texts")
    width = max(map(len, rows))
    return [[row[min(place, len(row) - 1)] for row in rows] for place in range(width)]


def _of_table(table: Any) -> Iterator[Mapping[str, Any]]:
    names = [str(name) for name in table.columns]
    if not {"id", "text"} <= set(names):
        raise InputError(f"columns {', '.join(names)}: expected id, text and features")
    columns: dict[str, Sequence[Any]] = {
        name: table[column].tolist()
        for name, column in zip(names, table.columns, strict=True)
        if name in ("id", "text") or np.issubdtype(np.asarray(table[column]).dtype, np.number)
    }
    features = [n for n in columns if n not in ("id", "text", "score") and not n.startswith(SCORES)]
    scores = [n for n in columns if n.startswith(SCORES)]
    for row in range(len(columns["id"])):
        entry = {
            "id": columns["id"][row],
            "text": columns["text"][row],
            "features": {name: columns[name][row] for name in features},
            "scores": {name.removeprefix(SCORES): columns[name][row] for name in scores},
        }
        if "score" in columns:
            entry["score"] = columns["score"][row]
        yield entry
