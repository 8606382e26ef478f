"""N-best lists in memory as entries with the keys of JSON lines.

Takes a list, an iterator or a table (`pandas.DataFrame`) of candidates, or lists of candidates, and
yields mappings `{"id": …, "text": …, "features": {…}}` as they are needed. In a table, the columns
`id`, `text` and `score` are what they are called, a column `scores.NAME` is the score NAME, and all
other numeric columns are features. A missing number of a table (NaN, NA) is left out, as an empty
field of a CSV file is: a feature without a value is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from hopefear.base.errors import InputError

SCORES = "scores."


def entries_of(lists: Any) -> Iterator[Mapping[str, Any]]:
    """Take candidates in any of the forms above and yield entries."""
    if _is_table(lists):
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
        empty = True
        for candidate in candidates:
            if not isinstance(candidate, Mapping):
                raise InputError(
                    f'list {number}: {candidate!r:.60}, expected a candidate {{"text": …, '
                    '"features": {…}}'
                )
            empty = False
            yield {**candidate, "id": number}
        if empty:
            raise InputError(
                f'list {number} is empty, expected one candidate or more; give {{"text": ""}} for '
                "an empty translation"
            )


def grouped(lists: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of `entries_of`, those of a table with the rows of one id together."""
    if not _is_table(lists):
        yield from entries_of(lists)
        return
    lists_of: dict[Any, list[Mapping[str, Any]]] = {}
    for entry in entries_of(lists):
        lists_of.setdefault(entry["id"], []).append(entry)
    yield from chain.from_iterable(lists_of.values())


def numbered(entries: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield entries whose ids are the numbers of their lists, in order of appearance."""
    numbers: dict[Any, int] = {}
    for entry in entries:
        yield {**entry, "id": numbers.setdefault(entry.get("id"), len(numbers))}


def references_of(refs: Any) -> list[list[str]]:
    """Take a reference for each list, or several, and return as many columns as it takes.

    A list without as many references as others has its last one repeated.
    """
    rows = []
    for number, texts in enumerate(refs):
        if not isinstance(texts, Iterable):
            raise InputError(f"refs: {texts!r:.60} of list {number}; expected a text, or several")
        rows.append([texts] if isinstance(texts, str) else list(texts))
    if not rows or not all(rows):
        raise InputError("refs: empty; expected a reference, or several, for each list")
    for number, row in enumerate(rows):
        if not all(isinstance(text, str) for text in row):
            raise InputError(f"refs: {row!r:.60} of list {number}; expected texts")
    width = max(map(len, rows))
    return [[row[min(place, len(row) - 1)] for row in rows] for place in range(width)]


def _is_table(lists: Any) -> bool:
    return hasattr(lists, "columns") and hasattr(lists, "itertuples")


def _of_table(table: Any) -> Iterator[Mapping[str, Any]]:
    names = [str(name) for name in table.columns]
    if not {"id", "text"} <= set(names):
        raise InputError(f"columns {', '.join(names)}: expected id, text and features")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"columns: {twice} is there twice; expected each column once")
    columns = {name: table[column] for name, column in zip(names, table.columns, strict=True)}
    ids, texts = columns.pop("id").tolist(), columns.pop("text").tolist()
    # The kinds of numpy's types, which those of pandas and of Arrow have, too: i, u, f.
    numbers = {
        name: [None if missing else value for value, missing in zip(*values, strict=True)]
        for name, column in columns.items()
        if getattr(column.dtype, "kind", "O") in "iuf"
        for values in [(column.tolist(), column.isna().tolist())]
    }
    for row, (id, text) in enumerate(zip(ids, texts, strict=True)):
        if isinstance(id, float) and id.is_integer():  # pandas makes floats of ids now and then
            id = int(id)
        entry: dict[str, Any] = {"id": id, "text": text, "features": {}, "scores": {}}
        for name, values in numbers.items():
            value = values[row]
            if name == "score":
                entry["score"] = value
            elif value is not None and name.startswith(SCORES):
                entry["scores"][name.removeprefix(SCORES)] = value
            elif value is not None:
                entry["features"][name] = value
        yield entry
