"""Drawing of forests: text for Graphviz's `dot`."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from hopefear._engine import Derivation, Forest
from hopefear.base.weights import Weights
from hopefear.forest.score import scores_of


def to_graphviz(
    forest: Forest,
    weights: Weights | None = None,
    *,
    scores: ArrayLike | None = None,
    derivations: Iterable[Derivation] = (),
) -> str:
    """Take a forest and return its drawing as text for `dot`.

    Nodes are ellipses; edges are boxes with their target side, in which `[1]` is the string of
    tail 1. With weights or scores, edges show their scores. Edges of `derivations` are bold; the
    goal has a double border.
    """
    values = None
    if weights is not None or scores is not None:
        values = scores_of(forest, weights, scores)
    bold = {edge for derivation in derivations for edge in derivation.edges.tolist()}
    lines = ["digraph forest {", "  rankdir=BT;", "  node [fontname=sans];"]
    for node in range(forest.nodes):
        double = ", peripheries=2" if node == forest.goal else ""
        lines.append(f"  n{node} [label={_quoted(_node_label(forest, node))}{double}];")
    tails, begin = forest.tails.tolist(), forest.tail_begin.tolist()
    for edge, head in enumerate(forest.heads.tolist()):
        label = _target_label(forest, edge)
        if values is not None:
            label += f"\\n{values[edge]:.4g}"
        style = ", style=bold" if edge in bold else ""
        lines.append(f"  e{edge} [shape=box, label={_quoted(label)}{style}];")
        lines.append(f"  e{edge} -> n{head}{' [style=bold]' if edge in bold else ''};")
        for number, tail in enumerate(tails[begin[edge] : begin[edge + 1]], 1):
            attributes = f"headlabel={_quoted(str(number))}" + style
            lines.append(f"  n{tail} -> e{edge} [{attributes}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").encode("utf-8", "replace").decode()


def _node_label(forest: Forest, node: int) -> str:
    parts = [str(node)]
    if forest.symbols[node] >= 0:
        parts.append(_escaped(forest.vocabulary.word(int(forest.symbols[node]))))
    begin, end = forest.spans[2 * node : 2 * node + 2].tolist()
    if begin >= 0:
        parts.append(f"{begin}-{end}")
    elif forest.covered[node] > 0:
        parts.append(f"covers {forest.covered[node]}")
    return " ".join(parts)


def _target_label(forest: Forest, edge: int) -> str:
    symbols = forest.target[forest.target_begin[edge] : forest.target_begin[edge + 1]].tolist()
    words = [_escaped(forest.vocabulary.word(s)) if s >= 0 else f"[{-s}]" for s in symbols]
    return " ".join(words) if words else "(nothing)"
