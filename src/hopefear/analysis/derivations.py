"""The best derivation of a sentence, for `hopefear inspect --derivation`.

Takes a model and a sentence, and returns a report of the best derivation by steps and features.
`show` prints it on a terminal: a table of phrases, or a tree if steps have several parts. Works for
the forest of any decoder.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hopefear.base.console import Console
from hopefear.base.errors import InputError

if TYPE_CHECKING:
    from hopefear.decode.trace import Use
    from hopefear.model.translate import Translator

_CELL = 8  # width of a number in columns


def describe(translator: Translator, line: str) -> dict[str, Any]:
    """Decode a line and return a report of its best derivation."""
    from hopefear.decode import trace
    from hopefear.forest import viterbi

    sentence, target = translator.read(line, "the sentence")
    if not sentence.words:
        raise InputError("--derivation: the sentence has no words; give a sentence")
    forest = translator.decoder.forest(sentence, translator.weights, target)
    best = viterbi(forest, translator.weights)
    if best is None:
        raise InputError("--derivation: the sentence has no translation; try other decoder options")
    uses = translator.model.rule_system.uses(best)
    links = translator.links(sentence)
    names, weights = translator.decoder.names, translator.weights

    def features(vector: Any) -> dict[str, float]:
        pairs = zip(vector.ids.tolist(), vector.values.tolist(), strict=True)
        return {names.name(id) or f"id:{id:016x}": value for id, value in pairs}

    total = features(best.features)
    order = [*translator.decoder.dense, *sorted(total.keys() - set(translator.decoder.dense))]
    return {
        "kind": "derivation",
        "system": translator.model.system,
        "source": list(sentence.words),
        "target": best.words,
        "text": translator.restore(best.words),
        "score": best.score,
        "nodes": forest.nodes,
        "edges": forest.edges,
        "alignment": [list(pair) for pair in trace.word_alignment(uses, links)],
        "features": {
            name: {
                "value": total.get(name, 0.0),
                "weight": weights[name],
                "adds": total.get(name, 0.0) * weights[name],
            }
            for name in order
        },
        "steps": [
            {
                **_step(use, sentence.words),
                "score": weights.dot(use.features),
                "features": features(use.features),
            }
            for use in uses
        ],
    }


def _step(use: Use, words: Sequence[str]) -> dict[str, Any]:
    from hopefear.decode.trace import source_side

    return {
        "symbol": use.symbol,
        "depth": use.depth,
        "span": list(use.span) if use.span is not None else None,
        "source": source_side(use, words),
        "target": " ".join(s if isinstance(s, str) else f"[{s + 1}]" for s in use.target),
        "source_positions": list(use.source),
        "target_positions": list(use.places),
        "rule": use.rule if use.rule >= 0 else None,
    }


# -- printing --


def show(report: Mapping[str, Any], console: Console, top: int) -> None:
    """Print a report of `describe`, with the `top` heaviest sparse features."""
    width = max(60, min(120, shutil.get_terminal_size().columns))
    for key, text in (("source", " ".join(report["source"])), ("output", report["text"])):
        console.print(_clip(f"{key}  {text}", width))
    console.print(
        f"score   {report['score']:.4f}, the best of a forest of {report['nodes']:,} nodes and "
        f"{report['edges']:,} edges\n"
    )
    steps = report["steps"]
    is_tree = steps[0]["depth"] == 0  # trees are listed from the root, phrases from the left
    if is_tree:
        for line in tree_lines(steps, width):
            console.print(line)
        console.print()
        _show_features(report, console, top, [], width)
    else:
        numbered = [step for step in steps if step["source_positions"] or step["features"]]
        _show_phrases(numbered, console, width)
        console.print()
        _show_features(report, console, top, numbered, width)


def _show_phrases(steps: Sequence[Mapping[str, Any]], console: Console, width: int) -> None:
    room = (
        width - 2 * 5 - 3 - _CELL
    ) // 2  # two texts beside number and score, with two spaces between columns
    rows = []
    for number, step in enumerate(steps, 1):
        source = _placed(step["source_positions"], step["source"]) or "(end)"
        target = " ".join(w for w in step["target"].split(" ") if w != "[1]")
        placed = _placed(step["target_positions"], target)
        rows.append((str(number), source, placed, _short(step["score"])))
    left = min(room, max([6, *(_width(row[1]) for row in rows)]))
    right = min(room, max([6, *(_width(row[2]) for row in rows)]))

    def line(number: str, source: str, target: str, score: str) -> str:
        texts = _pad(_clip(source, left), left), _pad(_clip(target, right), right)
        return f"{number.rjust(3)}  {texts[0]}  {texts[1]}  {score.rjust(_CELL)}"

    console.print(line("", "source", "output", "score"))
    for row in rows:
        console.print(line(*row))


def _placed(positions: Sequence[int], text: str) -> str:
    if not positions:
        return text
    first, last = min(positions), max(positions)
    return f"{first}{f'-{last}' if last > first else ''} {text}"


def _show_features(
    report: Mapping[str, Any],
    console: Console,
    top: int,
    steps: Sequence[Mapping[str, Any]],
    width: int,
) -> None:
    """Print weight, value and product of each feature, then the products of each numbered step."""
    dense: list[tuple[str, Mapping[str, float]]] = []
    sparse: list[tuple[str, Mapping[str, float]]] = []
    for name, entry in report["features"].items():
        (sparse if ":" in name else dense).append((name, entry))
    sparse.sort(key=lambda pair: -abs(pair[1]["adds"]))
    shown = dense + sparse[:top]
    label = min(30, max([7, *(_width(name) for name, _ in shown)]))
    header = f"{'feature'.ljust(label)}  {'weight':>9} {'value':>9} {'adds':>9}"
    console.print(header)
    for name, entry in shown:
        numbers = " ".join(f"{_short(entry[key]):>9}" for key in ("weight", "value", "adds"))
        console.print(f"{_pad(_clip(name, label), label)}  {numbers}")
    if len(sparse) > top:
        rest = sum(entry["adds"] for _, entry in sparse[top:])
        console.print(f"and {len(sparse) - top:,} more, which add {rest:.3f}; --top shows more")
    per_block = max(1, (width - label - 1) // _CELL)
    for begin in range(0, len(steps), per_block):
        block = steps[begin : begin + per_block]
        title = "adds, by phrase".ljust(label)[:label]
        heads = "".join(str(begin + i + 1).rjust(_CELL) for i in range(len(block)))
        console.print(f"\n{title} {heads}")
        for name, entry in shown:
            values = [step["features"].get(name, 0.0) * entry["weight"] for step in block]
            if not any(values):
                continue
            cells = "".join((_short(v) if v else ".").rjust(_CELL) for v in values)
            console.print(f"{_pad(_clip(name, label), label)} {cells}")


def tree_lines(steps: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Lines that draw the tree of steps in pre-order.

    Steps that only join others (glue) are left out; the steps they join appear side by side.
    """
    children: list[list[int]] = [[] for _ in steps]
    path: list[int] = []
    for i, step in enumerate(steps):
        del path[step["depth"] :]
        if path:
            children[path[-1]].append(i)
        path.append(i)

    def visible(numbers: Sequence[int]) -> list[int]:
        shown: list[int] = []
        stack = list(reversed(numbers))
        while stack:
            i = stack.pop()
            joins = steps[i]["rule"] is None and not steps[i]["target_positions"] and children[i]
            if joins:
                stack.extend(reversed(children[i]))
            else:
                shown.append(i)
        return shown

    lines: list[str] = []
    stack = [(i, "", last) for i, last in _marked(visible([0]))][::-1]
    while stack:
        i, indent, last = stack.pop()
        step = steps[i]
        span = f"{step['span'][0]}-{step['span'][1]}" if step["span"] else ""
        name = f"{step['symbol'] or ''} {span}".strip()
        lead = f"{indent}{'└─' if last else '├─'} {name}"
        text = f"{lead}  {step['source']} → {step['target']}"
        score = _short(step["score"]).rjust(_CELL)
        lines.append(f"{_pad(_clip(text, width - _CELL - 1), width - _CELL - 1)} {score}")
        below = indent + ("   " if last else "│  ")
        if _width(below) > width // 2:  # deeper levels keep a readable indent
            below = indent
        stack.extend([(c, below, end) for c, end in _marked(visible(children[i]))][::-1])
    return lines


def _marked(numbers: Sequence[int]) -> list[tuple[int, bool]]:
    return [(number, k == len(numbers) - 1) for k, number in enumerate(numbers)]


def _short(value: float) -> str:
    """A number that is narrower than its cell."""
    value = round(value, 3) + 0.0  # no -0.000
    texts = (f"{value:.3f}", f"{value:.1f}", f"{value:.2g}")
    return next((text for text in texts if len(text) < _CELL), texts[-1])


def _width(text: str) -> int:
    """Width in terminal columns: wide East Asian characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _clip(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while _width(text) > width - 1:
        text = text[: -max(1, (_width(text) - width) // 2)]
    return text + "…"
