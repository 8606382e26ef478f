"""cdec's JSON forests, one object per file, as `--forest_output` wrote them until 2014:

    {"rules": [1, "[X] ||| le [X,1] ||| the [1] ||| …", 2, …], "features": ["Glue", …],
     "edges": [{"tail": [0], "spans": [0, 2, -1, -1], "feats": [0, 1.5, "Extra", 1], "rule": 1}, …],
     "node": {"in_edges": [0, 1], "cat": "X"},
     "edges": [ … ], "node": { … }, …}

"edges" and "node" are repeated for every node; edges and nodes are numbered in the order of the
file. "feats" has pairs of a feature (its index in "features", or its name) and a value. Tails are
in the order of the rule's nonterminals. The last node is the goal. Values are not converted (cdec
uses log10).

Later versions of cdec write a binary archive of the Boost library instead (`0.bin.gz`), which
depends on the versions of both and on the machine: `check_readable` names it and the alternatives.
"""

from __future__ import annotations

import json
import re
from typing import Any

from hopefear._engine import Forest, Vocabulary
from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike, display_name, open_input
from hopefear.base.weights import FeatureNames
from hopefear.forest.forest import ForestBuilder

_ARCHIVE = b"serialization::archive"  # in the first bytes of a binary archive of Boost
_SLOT = re.compile(r"\[(?:[^\[\]\s]*,)?(\d+)\]")


def read_cdec_forest(
    path: PathLike,
    *,
    id: str = "",
    vocabulary: Vocabulary | None = None,
    names: FeatureNames | None = None,
) -> Forest:
    """Take a cdec forest file (may be gzipped) and return the forest."""
    check_readable(path)
    with open_input(path) as file:
        text = file.read()
    try:
        # Pairs, because keys are repeated.
        pairs = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{display_name(path)}: not a JSON object ({in_line(error)})") from None
    try:
        return _forest(pairs, ForestBuilder(vocabulary=vocabulary, names=names), id)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, InputError) as error:
        reason = f"no {in_line(error)}" if isinstance(error, KeyError) else in_line(error)
        raise InputError(f"{display_name(path)}: not a cdec forest: {reason}") from None


def check_readable(path: PathLike) -> None:
    """Raise an `InputError` for a forest in the binary format of cdec since 2014."""
    with open_input(path) as file:
        start = file.read(64)
    if _ARCHIVE in start:
        raise InputError(
            f"{display_name(path)}: a forest in cdec's binary format (cdec since 2014), which only "
            "cdec reads; let cdec write k-best lists (cdec -k 500 -r), or tune with "
            "--stream-decoder"
        )


def _forest(pairs: Any, builder: ForestBuilder, id: str) -> Forest:
    rules: dict[int, str] = {}
    features: list[str] = []
    edges: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    for key, value in pairs:
        if key == "rules":
            rules = dict(zip(value[::2], value[1::2], strict=True)) if value else {}
        elif key == "features":
            features = value or []
        elif key == "edges":
            edges += [dict(edge) for edge in value]
        elif key == "node":
            nodes.append(dict(value))
        elif key != "is_sorted":
            raise ValueError(f"unexpected key {key!r}")
    if not nodes:
        return builder.finish(None, id=id)
    for node in nodes:
        spans = [edges[_index(e, edges)].get("spans") for e in node.get("in_edges") or []]
        span = spans[0] if spans and spans[0] else [-1, -1]
        builder.node(span=(span[0], span[1]), symbol=node.get("cat") or None)
    for head, node in enumerate(nodes):
        for number in node.get("in_edges") or []:
            edge = edges[_index(number, edges)]
            rule = edge.get("rule", -1)
            text = rules[rule] if isinstance(rule, int) and rule > 0 else rule
            tails = [_index(tail, nodes) for tail in edge.get("tail") or []]
            row = builder.row(_features(edge.get("feats") or [], features))
            target = _target(text) if isinstance(text, str) else None
            builder.edge(head, tails, target, row=row, rule=rule if isinstance(rule, int) else -1)
    return builder.finish(len(nodes) - 1, id=id)


def _index(value: Any, items: list[Any]) -> int:
    """Return the value if it is an index into the items; raises `ValueError` if not."""
    if not isinstance(value, int) or not 0 <= value < len(items):
        raise ValueError(f"number {value!r}, expected one below {len(items)}")
    return value


def _features(feats: list[Any], names: list[str]) -> dict[str, float]:
    result: dict[str, float] = {}
    for feature, value in zip(feats[::2], feats[1::2], strict=True):
        name = feature if isinstance(feature, str) else names[_index(feature, names)]
        result[name] = float(value)
    return result


def _target(rule: str) -> list[str | int]:
    """Take the text of a rule and return its target side, with slots numbered from 0."""
    parts = rule.split("|||")
    side = parts[2 if len(parts) > 2 else len(parts) - 1]
    symbols: list[str | int] = []
    for token in side.split():
        match = _SLOT.fullmatch(token)
        symbols.append(token if match is None else int(match[1]) - 1)
    return symbols
