"""Hopefear's JSON format of forests, complete and readable, with one object per line.

    {"format": "hopefear-forest", "version": 1, "id": "0", "goal": 3,
     "nodes": [{"covered": 2, "coverage": [0, 1], "span": [0, 2], "symbol": "X"}, …],
     "rows": [{"tm": -0.7, "len": 2}, …],
     "edges": [{"head": 2, "tails": [0, 1], "target": [1, "and", 0], "row": 0,
                "features": {"lm": -3.5}, "rule": 17}, …]}

Numbers in "target" are indices into "tails", from 0. All keys of an edge except "head" are optional
(default target: the tails in order), and so are all keys of a node; "nodes" may also be the number
of nodes. A feature without a known name is written as `id:` and 16 hexadecimal digits. Values are
32-bit floats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hopefear._engine import Forest, SparseVector, Vocabulary
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_text, write_text
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder

_FORMAT, _VERSION = "hopefear-forest", 1
_FAULTS = (
    *(LookupError, ValueError, ArithmeticError, TypeError, AttributeError, RecursionError),
    InputError,
)
_MAX_NODES = 1_000_000  # where "nodes" is a number
_NO_ROW = 0xFFFFFFFF


def to_json(forest: Forest) -> dict[str, Any]:
    """Take a forest and return it as an object for `json.dumps`."""
    rows = [_features(forest, forest.row_vector(row)) for row in range(forest.rows)]
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "id": forest.id,
        "goal": forest.goal,
        "nodes": [_node(forest, node) for node in range(forest.nodes)],
        "rows": rows,
        "edges": [_edge(forest, edge) for edge in range(forest.edges)],
    }


def write_json(path: PathLike, forests: Iterable[Forest]) -> None:
    """Take forests and write them to a file, one per line."""
    with write_text(path) as file:
        for forest in forests:
            file.write(json.dumps(to_json(forest)) + "\n")


def from_json(
    data: dict[str, Any],
    *,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Forest:
    """Take an object as `to_json` returns it and return the forest; `ValueError` if malformed."""
    if data.get("format", _FORMAT) != _FORMAT or data.get("version", _VERSION) != _VERSION:
        raise ValueError(f"format {data.get('format')!r} version {data.get('version')!r}")
    builder = ForestBuilder(vocabulary=vocabulary, names=names)
    nodes = data.get("nodes", [])
    if isinstance(nodes, int) and nodes > _MAX_NODES:
        raise ValueError(f"{in_line(nodes, 20)} nodes, expected at most {_MAX_NODES:,}")
    for label in [{}] * nodes if isinstance(nodes, int) else nodes:
        span = label.get("span")
        builder.node(
            covered=label.get("covered"),
            coverage=label.get("coverage", ()),
            span=None if span is None else (span[0], span[1]),
            symbol=label.get("symbol"),
        )
    for row in data.get("rows", []):
        builder.row(_by_id(row), share=False)
    for edge in data.get("edges", []):
        builder.edge(
            edge["head"],
            edge.get("tails", ()),
            edge.get("target"),
            features=_by_id(edge.get("features", {})),
            row=edge.get("row"),
            rule=edge.get("rule", -1),
        )
    return builder.finish(data.get("goal"), id=data.get("id", ""))


def read_json(
    path: PathLike,
    *,
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Iterator[Forest]:
    """Take a file and yield its forests, which share a vocabulary and feature names."""
    vocabulary = vocabulary if vocabulary is not None else Vocabulary()
    names = names if names is not None else FeatureNames()
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield from_json(json.loads(line), vocabulary=vocabulary, names=names)
            except (*_FAULTS, InputError) as error:
                reason = f"no {in_line(error)}" if isinstance(error, KeyError) else in_line(error)
                raise InputError(
                    f"{display_name(path)}:{number}: not a forest ({reason}); "
                    "the module hopefear.forest.io.json describes the format"
                ) from None


def _node(forest: Forest, node: int) -> dict[str, Any]:
    label: dict[str, Any] = {}
    begin, end = forest.spans[2 * node : 2 * node + 2].tolist()
    words = forest.coverage[forest.coverage_begin[node] : forest.coverage_begin[node + 1]]
    positions = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
    if forest.covered[node] != len(positions):
        label["covered"] = int(forest.covered[node])
    if positions:
        label["coverage"] = positions
    if (begin, end) != (-1, -1):
        label["span"] = [begin, end]
    if forest.symbols[node] >= 0:
        label["symbol"] = forest.vocabulary.word(int(forest.symbols[node]))
    return label


def _edge(forest: Forest, edge: int) -> dict[str, Any]:
    tails = forest.tails[forest.tail_begin[edge] : forest.tail_begin[edge + 1]].tolist()
    target = forest.target[forest.target_begin[edge] : forest.target_begin[edge + 1]].tolist()
    result: dict[str, Any] = {
        "head": int(forest.heads[edge]),
        "tails": tails,
        "target": [forest.vocabulary.word(s) if s >= 0 else -1 - s for s in target],
    }
    if forest.edge_rows[edge] != _NO_ROW:
        result["row"] = int(forest.edge_rows[edge])
    own = _features(forest, forest.edge_features(edge, shared=False))
    if own:
        result["features"] = own
    if forest.rules[edge] != -1:
        result["rule"] = int(forest.rules[edge])
    return result


def _features(forest: Forest, vector: SparseVector) -> dict[str, float]:
    return {
        feature_name(forest, id): value
        for id, value in zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
    }


def feature_name(forest: Forest, id: int) -> str:
    """Take a feature id and return the feature's name, or `id:…` if it is unknown."""
    known = forest.names.name(id) if forest.names is not None else None
    return known if known is not None else f"id:{id:016x}"


def _by_id(features: dict[str, float]) -> dict[Any, float]:
    return {
        int(name[3:], 16) if name.startswith("id:") and len(name) == 19 else name: value
        for name, value in features.items()
    }
