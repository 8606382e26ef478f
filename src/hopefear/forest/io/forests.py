"""A reader for all supported forest and lattice formats, which recognises the format of a file.

Most formats hold the forests of many sentences; OpenFst, Moses hypergraphs and cdec have one file
per sentence. Formats with a single weight per arc (PLF, OpenFst) get a second feature, `words` (the
number of words), so that they can be tuned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from hopefear._engine import Forest, Vocabulary
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.files import COMPILED, PathLike, display_name, is_device, open_text
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest_file import ForestFile
from hopefear.forest.io.cdec import check_readable, read_cdec_forest
from hopefear.forest.io.json import read_json
from hopefear.forest.io.lattice import read_openfst, read_plf
from hopefear.forest.io.moses import (
    check_no_chart_graph,
    read_moses_graph,
    read_moses_hypergraph,
)
from hopefear.forest.io.nbest import read_nbest

Format = Literal[
    "pool",
    "json",
    "plf",
    "plf-log",
    "openfst",
    "moses-graph",
    "moses-hypergraph",
    "cdec",
    "nbest",
    "nbest-jsonl",
]
FORMATS: tuple[Format, ...] = get_args(Format)


def read_forests(
    path: PathLike,
    format: str | None = None,
    *,
    core_names: Sequence[str] | None = None,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Iterator[Forest]:
    """Take a file and yield its forests.

    By default the format is recognised; `plf-log`, and formats mistaken for others, must be given.
    `core_names`: see `read_moses_graph`, for which it is.
    """
    if format is not None and format not in FORMATS:
        raise OptionError(f"lattice format {format!r}: {suggestion(format, FORMATS)}")
    if str(path) == "-" or is_device(path):
        raise InputError(
            f"{display_name(path)}: lattices cannot be read from a stream; give a real file"
        )
    kind = format or recognise(path)
    if core_names and kind != "moses-graph":
        raise OptionError(
            f"{display_name(path)}: names of scores are for search graphs of Moses, but the file "
            f"is {kind}, which has names; leave them out"
        )
    if kind == "pool":
        yield from ForestFile(path)
    elif kind == "json":
        yield from read_json(path, vocabulary=vocabulary, names=names)
    elif kind in ("plf", "plf-log"):
        weights: Literal["probability", "log"] = "probability" if kind == "plf" else "log"
        yield from read_plf(
            path, weights=weights, count_words=True, vocabulary=vocabulary, names=names
        )
    elif kind == "openfst":
        yield read_openfst(path, count_words=True, vocabulary=vocabulary, names=names)
    elif kind == "moses-graph":
        yield from read_moses_graph(
            path, core_names=core_names or None, vocabulary=vocabulary, names=names
        )
    elif kind == "moses-hypergraph":
        yield read_moses_hypergraph(path, vocabulary=vocabulary, names=names)
    elif kind == "cdec":
        yield read_cdec_forest(path, vocabulary=vocabulary, names=names)
    else:
        lines: Literal["jsonl", "moses"] = "jsonl" if kind == "nbest-jsonl" else "moses"
        for nbest in read_nbest(path, lines, vocabulary=vocabulary, names=names):
            yield nbest.forest


def recognise(path: PathLike) -> Format:
    """Take a file and return its format, recognised by its first non-empty line."""
    with Path(path).open("rb") as file:
        if file.read(len(COMPILED)) == COMPILED:
            return "pool"
    check_readable(path)
    with open_text(path) as lines:
        first = next((line for line in islice(lines, 1000) if line.strip()), "").strip()
    check_no_chart_graph(first, f"{display_name(path)}:1")
    columns = first.split()
    matches: dict[Format, bool] = {
        "plf": first.startswith(("((", "()")),
        "cdec": first.startswith('{"rules"'),
        "nbest-jsonl": first.startswith("{") and '"text"' in first,
        "json": first.startswith("{"),
        "moses-hypergraph": first.startswith("# target |||"),
        "moses-graph": len(columns) > 1 and columns[1].startswith("hyp="),
        "openfst": 3 <= len(columns) <= 5 and columns[0].isdigit() and columns[1].isdigit(),
    }
    for format, matched in matches.items():
        if matched:
            return format
    if "|||" in first:
        return "nbest"
    raise InputError(
        f"{display_name(path)}: lattice format not recognised from {first[:40]!r}; "
        f"name it: {', '.join(FORMATS)}"
    )
