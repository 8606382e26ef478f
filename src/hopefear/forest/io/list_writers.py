"""Writers of n-best lists: JSON lines, CSV, TSV, Parquet, or Moses's text, by the file's name.

Takes entries with the keys of JSON lines, one at a time. A table has the columns of its first
10,000 entries, since a feature that is 0 may be left out; Parquet is written in groups of rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from hopefear.base.errors import InputError
from hopefear.base.files import atomic_path, write_text
from hopefear.forest.io.lists.tables import FEATURES, RESERVED, SCORES, load_pyarrow

Kind = Literal["jsonl", "csv", "tsv", "parquet", "moses"]
Entries = Iterable[Mapping[str, Any]]
_GROUP = 50_000  # rows of a group of Parquet
_HEAD = 10_000  # entries that name the columns of a table


def kind_of(path: Path) -> Kind:
    """Return the format that a file's name asks for; JSON lines by default."""
    name = path.name.removesuffix(".gz")
    for suffix, kind in (
        (".csv", "csv"),
        (".tsv", "tsv"),
        (".nbest", "moses"),
        (".moses", "moses"),
    ):
        if name.endswith(suffix):
            return kind  # type: ignore[return-value]
    return "parquet" if path.name.endswith(".parquet") else "jsonl"


def write_entries(path: Path, entries: Entries, kind: Kind | None = None) -> None:
    """Write entries to a file, which appears when it is complete."""
    kind = kind or kind_of(path)
    if kind == "parquet":
        _write_parquet(path, entries)
        return
    lines = {"jsonl": _json_lines, "moses": _moses_lines}.get(kind)
    with write_text(path) as out:
        if lines is not None:
            out.writelines(lines(entries))
        else:
            out.writelines(_table_lines(entries, "," if kind == "csv" else "\t"))


def _json_lines(entries: Entries) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(entry, ensure_ascii=False) + "\n"


def _moses_lines(entries: Entries) -> Iterator[str]:
    for entry in entries:
        text = " ".join(entry["text"].split()).replace("|||", "&#124;&#124;&#124;")
        features = " ".join(f"{name}= {value!r}" for name, value in entry["features"].items())
        yield f"{entry['id']} ||| {text} ||| {features} ||| {entry.get('score', 0)!r}\n"


def _table_lines(entries: Entries, delimiter: str) -> Iterator[str]:
    columns, rows = _rows(entries)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([row.get(name, "") for name in columns])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def _write_parquet(path: Path, entries: Entries) -> None:
    pyarrow, parquet = load_pyarrow()
    columns, rows = _rows(entries)
    kinds = {"id": pyarrow.string(), "text": pyarrow.string()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in columns])
    with atomic_path(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        while group := list(islice(rows, _GROUP)):
            data = {
                name: [str(row[name]) if name == "id" else row.get(name) for row in group]
                for name in columns
            }
            writer.write_table(pyarrow.table(data, schema=schema))


def _rows(entries: Entries) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the columns of a table and its rows."""
    iterator = enumerate(entries, 1)
    head = [(number, _row(entry)) for number, entry in islice(iterator, _HEAD)]
    columns = list(dict.fromkeys(["id", "text", *(name for _, row in head for name in row)]))
    known = set(columns)

    def rows() -> Iterator[dict[str, Any]]:
        for number, row in chain(head, ((number, _row(entry)) for number, entry in iterator)):
            new = row.keys() - known
            if new:
                raise InputError(
                    f"entry {number}: {min(new)!r} is in none of the first {_HEAD:,} entries, and "
                    "a table has their columns only; write JSON lines (.jsonl)"
                )
            yield row

    return columns, rows()


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as a row of a table."""
    row: dict[str, Any] = {"id": entry["id"], "text": entry["text"]}
    if "score" in entry:
        row["score"] = entry["score"]
    for name, value in entry.get("scores", {}).items():
        row[SCORES + name] = value
    for name, value in entry["features"].items():
        row[FEATURES + name if name in row or name in RESERVED else name] = value
    return row
