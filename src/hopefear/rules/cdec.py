"""Conversion between rule tables and the text grammars of cdec and Joshua.

A line is `[X] ||| source ||| target ||| name=value … ||| 0-0 1-2`. Nonterminals are `[X,1]`, on
the target side also `[1]`; the alignment may be absent. Features keep their names and units (cdec's
features are in log10); a number without a name becomes `PhraseModel_i`. A feature that few rules
have becomes a sparse score of these rules, not a column of the table.

    grammar = read_grammar("grammars/grammar.0.gz")     # for one sentence, in memory
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hopefear.base.files import PathLike, atomic_path, display_name, open_input, open_output
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.rules.extract import EXPORT_LEVEL
from hopefear.rules.table import RuleTable

_INFO = json.dumps({"made_by": "import of a cdec grammar", "system": "hiero"})
_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window


def read_grammar(*grammars: PathLike) -> RuleTable:
    """Read the rules of one or more files into memory; meant for the grammar of one sentence.

    A few thousand rules take milliseconds. Several threads may read grammars at once.
    """
    from hopefear import _engine

    texts = [(_content(path), display_name(path)) for path in grammars]
    return RuleTable(_engine.read_cdec(texts, _INFO))


def import_grammar(
    *grammars: PathLike,
    output: PathLike,
    memory: int = 1 << 30,
    threads: int | None = None,
    tmp: Path | None = None,
    display: Display | None = None,
) -> dict[str, Any]:
    """Write the rule table `output` from files of any size; return a report with counts."""
    from hopefear import _engine

    with ExitStack() as stack:
        path = stack.enter_context(atomic_path(output))
        files = [(stack.enter_context(open_input(name)), display_name(name)) for name in grammars]
        step = stack.enter_context((display or Display()).step("import", unit="lines"))
        report = _engine.import_cdec(
            path=str(path),
            grammars=files,
            memory=memory,
            threads=threads or all_cores(),
            scratch=os.fspath(tmp or ""),
            info=_INFO,
            progress=step.update,
        )
    return dict(report)


def write_grammar(table: RuleTable, grammar: PathLike, *, target_labels: bool = False) -> None:
    """Write the rules of a table as text, sorted by source side.

    `target_labels`: nonterminals of the target side are `[X,1]`, which Joshua needs, not `[1]`.
    """
    with open_output(grammar, level=EXPORT_LEVEL) as file:
        table.engine.write_cdec(file, target_labels)


def _content(path: PathLike) -> bytes:
    """Return the content of a file. Decompressing .gz at once takes half the time of streaming."""
    if os.fspath(path).endswith(".gz"):
        packed = Path(path).read_bytes()
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        try:
            content = unpacker.decompress(packed)
        except zlib.error:
            unpacker = zlib.decompressobj(_GZIP_WINDOW)
        if unpacker.eof and not unpacker.unused_data:
            return content
    with open_input(path) as file:  # several members, or a damaged file, for which this raises
        return file.read()
