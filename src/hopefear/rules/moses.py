"""Conversion between rule tables and Moses's text tables.

Phrase table: `source ||| target ||| scores ||| alignment ||| c(e) c(f) c(f,e) ||| |||`.
Reordering table: `source ||| target ||| scores`, or without the target. Scores are
probabilities in the text and natural logs in the rule table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, atomic_path, display_name, open_input, open_output
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.rules.extract import EXPORT_LEVEL
from hopefear.rules.table import RuleTable


def read_table(
    phrase_table: PathLike,
    reordering_table: PathLike | None = None,
    *,
    output: PathLike,
    columns: Sequence[str] = (),
    reordering_columns: Sequence[str] = (),
    reordering_by_source: bool = False,
    limit: int = 0,
    longest_source: int = 255,
    memory: int = 1 << 30,
    threads: int | None = None,
    tmp: Path | None = None,
    display: Display | None = None,
) -> dict[str, Any]:
    """Write the rule table `output` from Moses's files; return a report with counts.

    Lines may be in any order. The columns have the names of our models' columns unless names are
    given. A score of 0 becomes -100, Moses's lowest; a pair that the reordering table lacks gets
    reordering scores of 0, as in Moses. With `reordering_by_source` the reordering table has no
    target phrases. Without a `limit` all pairs are kept: decoders sort and limit them by their
    weights. Pairs of more than `longest_source` source words are dropped.
    """
    from hopefear import _engine

    for name in (*columns, *reordering_columns):
        if not name or any(c.isspace() for c in name):
            raise OptionError(f"columns: {name!r} is not a feature name; give names without blanks")
    with ExitStack() as stack:
        path = stack.enter_context(atomic_path(output))
        phrases = stack.enter_context(open_input(phrase_table))
        reordering = None
        if reordering_table is not None:
            reordering = stack.enter_context(open_input(reordering_table))
        step = stack.enter_context((display or Display()).step("import", unit="lines"))
        report = _engine.import_moses(
            path=str(path),
            phrases=phrases,
            phrase_name=display_name(phrase_table),
            reordering=reordering,
            reordering_name=display_name(reordering_table or ""),
            columns=list(columns),
            reordering_columns=list(reordering_columns),
            reordering_by_source=reordering_by_source,
            limit=limit,
            longest_source=longest_source,
            memory=memory,
            threads=threads or all_cores(),
            scratch=os.fspath(tmp or ""),
            info=json.dumps({"made_by": "import of a Moses phrase table", "system": "phrase"}),
            progress=step.update,
        )
    return dict(report)


def write_table(
    table: RuleTable,
    phrase_table: PathLike,
    reordering_table: PathLike | None = None,
    *,
    all_columns: bool = False,
) -> None:
    """Write the rules of a table as text, in the order that Moses writes.

    Of our hierarchical rules, only the columns that Moses's training computes are written, unless
    `all_columns` is set.
    """
    if reordering_table is not None and not table.reordering_columns:
        raise OptionError(
            "the table has no reordering scores; extract with reordering=msd-bidirectional-fe"
        )
    with ExitStack() as stack:
        phrases = stack.enter_context(open_output(phrase_table, level=EXPORT_LEVEL))
        reordering = None
        if reordering_table is not None:
            reordering = stack.enter_context(open_output(reordering_table, level=EXPORT_LEVEL))
        table.engine.write_moses(phrases, reordering, all_columns)
