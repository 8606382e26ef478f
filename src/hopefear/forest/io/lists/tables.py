"""Tables with a row for each candidate: CSV, TSV and Parquet.

Columns: `id`, `text`, `score`, `scores.NAME`, and features: all other columns whose values are
numbers; `features.NAME` is the feature NAME, if it is called like another column. Parquet needs
pyarrow (the extra `parquet`) and is read in batches of rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hopefear.base.errors import HopefearError, InputError
from hopefear.base.files import display_name
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, number, plain_lines

SCORES, FEATURES = "scores.", "features."
RESERVED = ("id", "text", "score")


@register("list-format", "csv")
@dataclass(kw_only=True)
class Csv(ListFormat):
    """Comma-separated values with a header."""

    name: ClassVar[str] = "csv"
    delimiter: ClassVar[str] = ","

    def read(self, path: Path) -> Iterator[Entry]:
        lines = (f"{line}\n" for line in plain_lines(path))
        rows = csv.DictReader(lines, delimiter=self.delimiter)
        try:
            _check(rows.fieldnames or [], path)
            features: list[str] | None = None
            for row in rows:
                place = f"{display_name(path)}:{rows.line_num}"
                if None in row or None in row.values():
                    raise InputError(f"{place}: not as many fields as the header has")
                if features is None:  # the first row says which columns are numbers
                    features = [name for name in row if _is_number(row[name])]
                yield _entry(row, features, place)
        except csv.Error as error:
            raise InputError(f"{display_name(path)}:{rows.line_num}: {error}") from None


@register("list-format", "tsv")
@dataclass(kw_only=True)
class Tsv(Csv):
    """Tab-separated values with a header."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[str] = "\t"


@register("list-format", "parquet")
@dataclass(kw_only=True)
class Parquet(ListFormat):
    """A Parquet file; needs pyarrow."""

    name: ClassVar[str] = "parquet"

    def read(self, path: Path) -> Iterator[Entry]:
        pyarrow, parquet = load_pyarrow()
        try:
            file = parquet.ParquetFile(path)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise InputError(f"{display_name(path)}: not a Parquet file ({error})") from None
        names = file.schema_arrow.names
        _check(names, path)
        types = {field.name: field.type for field in file.schema_arrow}
        numeric = [
            n
            for n in names
            if pyarrow.types.is_floating(types[n]) or pyarrow.types.is_integer(types[n])
        ]
        row = 0
        for batch in file.iter_batches():
            for record in batch.to_pylist():
                yield _entry(record, numeric, f"{display_name(path)}, row {row}")
                row += 1


def load_pyarrow() -> tuple[Any, Any]:
    """Return the modules `pyarrow` and `pyarrow.parquet`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise HopefearError(
            "Parquet needs pyarrow; install it with: pip install 'hopefear[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


def _check(names: Sequence[str], path: Path) -> None:
    missing = [name for name in ("id", "text") if name not in names]
    if missing:
        raise InputError(
            f"{display_name(path)}: no column {' and '.join(missing)}; expected a header with id, "
            "text and features"
        )
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"{display_name(path)}: two columns {twice[0]!r}; rename one of them")


def _entry(row: Mapping[str, Any], numeric: Iterable[str], place: str) -> Entry:
    id, text = row["id"], row["text"]
    if not isinstance(text, str) or id is None:
        raise InputError(f"{place}: id {id!r:.40} and text {text!r:.40}, expected both")
    features, scores = {}, {}
    for name in numeric:
        if name in ("id", "text") or row[name] in (None, ""):
            continue
        value = number(row[name], place, name)
        if name.startswith(SCORES):
            scores[name.removeprefix(SCORES)] = value
        elif name not in RESERVED:
            features[name.removeprefix(FEATURES)] = value
    entry: Entry = {"id": int(id) if str(id).isdigit() else str(id), "text": text}
    entry["features"] = features
    if row.get("score") not in (None, ""):
        entry["score"] = number(row["score"], place, "score")
    if scores:
        entry["scores"] = scores
    return entry


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == ""
    return True
