"""Writers of n-best lists: JSON lines, CSV, TSV, Parquet, or Moses's text, by the file's name.

Takes entries with the keys of JSON lines, one at a time. A table has the columns of the first
entry; Parquet is written in groups of rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hopefear.base.errors import InputError
from hopefear.base.files import atomic_path, write_text
from hopefear.forest.io.lists.tables import FEATURES, RESERVED, SCORES, load_pyarrow

Kind = Literal["jsonl", "csv", "tsv", "parquet", "moses"]
Entries = Iterable[Mapping[str, Any]]
_GROUP = 50_000  # rows of a group of Parquet


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
        text = entry["text"].replace("|||", "&#124;&#124;&#124;")
        features = " ".join(f"{name}= {value!r}" for name, value in entry["features"].items())
        yield f"{entry['id']} ||| {text} ||| {features} ||| {entry.get('score', 0)!r}\n"


def _table_lines(entries: Entries, delimiter: str) -> Iterator[str]:
    columns: list[str] | None = None
    for number, entry in enumerate(entries, 1):
        row = _row(entry)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        if columns is None:
            columns = list(row)
            writer.writerow(columns)
        _check_columns(row, columns, number)
        writer.writerow([row.get(name, "") for name in columns])
        yield out.getvalue()


def _write_parquet(path: Path, entries: Entries) -> None:
    pyarrow, parquet = load_pyarrow()
    writer: Any = None
    columns: list[str] = []
    rows: list[dict[str, Any]] = []

    with atomic_path(path) as temporary:

        def write() -> None:
            nonlocal writer
            data = {name: [row.get(name) for row in rows] for name in columns}
            table = pyarrow.table(data) if writer is None else None
            if writer is None:
                writer = parquet.ParquetWriter(temporary, table.schema)
            writer.write_table(table or pyarrow.table(data, schema=writer.schema))
            rows.clear()

        try:
            for number, entry in enumerate(entries, 1):
                row = _row(entry)
                row["id"] = str(row["id"])
                columns = columns or list(row)
                _check_columns(row, columns, number)
                rows.append(
                    {
                        name: float(value) if isinstance(value, int) else value
                        for name, value in row.items()
                    }
                )
                if len(rows) == _GROUP:
                    write()
            if rows or writer is None:
                write()
        finally:
            if writer is not None:
                writer.close()


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


def _check_columns(row: Mapping[str, Any], columns: list[str], number: int) -> None:
    new = row.keys() - set(columns)
    if new:
        raise InputError(
            f"entry {number}: {min(new)!r} is not in the first entry, and a table has its columns "
            "only; write JSON lines (.jsonl)"
        )
