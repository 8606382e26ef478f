"""Features that fire on a sentence and the heaviest weights, by feature template.

Takes a model and a sentence, and returns a report of the features of its forest and of its best
derivation (`hopefear inspect --features`). `heaviest` reports on weights alone.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hopefear.base.console import Console, table
from hopefear.base.errors import InputError

if TYPE_CHECKING:
    from hopefear.base.weights import Weights
    from hopefear.model.translate import Translator

DENSE = "dense"
_MANY = 1_000_000  # number of heaviest weights that are examined


def template_of(name: str) -> str:
    """The name of the template that fires a feature; `dense` for features without one."""
    label, colon, _ = name.partition(":")
    return label if colon else DENSE


def heaviest(weights: Weights, top: int) -> dict[str, dict[str, Any]]:
    """For each template, the number of non-zero weights and the `top` heaviest by name."""
    from hopefear._engine import FeatureNames, count_by_template

    groups: dict[str, list[tuple[str, float]]] = {}
    for name, value in weights.top(_MANY):
        if value != 0:
            groups.setdefault(template_of(name), []).append((name, value))
    dense = [name for name, _ in groups.get(DENSE, ())]
    names = weights.names if weights.names is not None else FeatureNames()
    counts = count_by_template(weights.table, names, dense)  # of all weights
    groups |= {template: [] for template in counts.keys() - groups.keys()}
    return {
        template: {"active": counts[template], "heaviest": dict(_largest(group, top))}
        for template, group in sorted(groups.items(), key=lambda pair: (pair[0] != DENSE, pair[0]))
    }


def _largest(group: Iterable[tuple[str, float]], top: int) -> list[tuple[str, float]]:
    return heapq.nsmallest(top, group, key=lambda pair: (-abs(pair[1]), pair[0]))


def describe(translator: Translator, line: str, top: int) -> dict[str, Any]:
    """Decode a line and return a report of the features that fire, by template."""
    from hopefear.forest import viterbi

    sentence, target = translator.read(line, "the sentence")
    if not sentence.words:
        raise InputError("--features: the sentence has no words; give a sentence")
    forest = translator.decoder.forest(sentence, translator.weights, target)
    best = viterbi(forest, translator.weights)
    if best is None:
        raise InputError("--features: the sentence has no translation; try other decoder options")
    names, weights = translator.decoder.names, translator.weights

    def name_of(id: int) -> str:
        return names.name(id) or f"id:{id:016x}"

    dense = set(translator.decoder.dense)
    in_forest = Counter(
        template_of(name) for name in map(name_of, forest.feature_ids.tolist()) if name not in dense
    )
    fired: dict[str, list[dict[str, Any]]] = {name: [] for name in translator.templates}
    pairs = zip(best.features.ids.tolist(), best.features.values.tolist(), strict=True)
    for name, value in sorted((name_of(id), value) for id, value in pairs):
        weight = weights[name]
        entry = {"name": name, "value": value, "weight": weight, "adds": value * weight}
        fired.setdefault(DENSE if name in dense else template_of(name), []).append(entry)
    return {
        "kind": "features",
        "source": list(sentence.words),
        "text": translator.restore(best.words),
        "score": best.score,
        "dense": fired.pop(DENSE, []),
        "templates": {
            name: {
                "in_forest": in_forest.get(name, 0),
                "fired": len(entries),
                "adds": sum(entry["adds"] for entry in entries),
                "features": entries,
            }
            for name, entries in fired.items()
        },
        "weights": heaviest(weights, top),
    }


# -- printing --


def show(report: Mapping[str, Any], console: Console, top: int) -> None:
    """Print a report of `describe`, with the `top` heaviest features of each template."""
    console.print(f"source  {' '.join(report['source'])}")
    console.print(f"output  {report['text']}")
    dense = sum(entry["adds"] for entry in report["dense"])
    console.print(f"score   {report['score']:.4f}, of which dense features {dense:.4f}\n")
    templates = report["templates"]
    if not templates:
        console.print("no feature template is in use; give --templates NAME …")
    else:
        rows = [
            (name, str(group["in_forest"]), str(group["fired"]), f"{group['adds']:.4f}")
            for name, group in templates.items()
        ]
        console.print(table(rows, ("template", "in the forest", "in the output", "adds")))
    for name, group in templates.items():
        entries = sorted(group["features"], key=lambda entry: -abs(entry["adds"]))
        if not entries:
            continue
        rows = [
            (entry["name"], *(f"{entry[key]:.4g}" for key in ("value", "weight", "adds")))
            for entry in entries[:top]
        ]
        console.print("\n" + table(rows, (name, "value", "weight", "adds")))
        if len(entries) > top:
            console.print(f"and {len(entries) - top:,} more; --top shows more")
    console.print()
    show_heaviest(report["weights"], console)


def show_heaviest(groups: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    """Print the heaviest weights of each template."""
    for template, group in groups.items():
        rows = [(name, f"{value:.4g}") for name, value in group["heaviest"].items()]
        console.print(table(rows, (f"heaviest of {group['active']:,} {template}", "weight")) + "\n")
