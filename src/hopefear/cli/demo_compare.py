"""The demo's chapter on the test set: translations, scores, and three sentences side by side.

Goes in: the runs of the chapter before. Comes out: a table with BLEU on both sets, length, time and
p against MERT of the same model (of MERT of the hierarchical model: against that of the other).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hopefear.base.console import Console, table
from hopefear.base.files import write_text
from hopefear.base.progress import duration
from hopefear.cli.demo_stage import Stage, hanging, prose
from hopefear.cli.demo_tune import METHODS, START

if TYPE_CHECKING:
    from hopefear.analysis.report.outputs import Outputs

BASELINE = "mert"
EXAMPLES = 3
SHORT = range(6, 15)  # source words of a sentence that is good to show


def compare_systems(stage: Stage) -> dict[str, Any]:
    """New sentences"""
    from hopefear.analysis.report.outputs import TestSet, compare, translate
    from hopefear.analysis.report.runs import read_systems
    from hopefear.base.threads import all_cores

    first = f"{METHODS[0].model}-{BASELINE}"  # the page compares with the first one
    names = sorted((method.run for method in METHODS), key=lambda name: name != first)
    systems = read_systems([stage.path("runs") / name for name in names], names=names)
    outputs = translate(
        systems,
        TestSet(stage.source("test"), stage.references("test"), "the test set"),
        threads=all_cores(),
        display=stage.console.display,
        warn=stage.console.warn,
    )
    stage.kept["systems"], stage.kept["outputs"] = systems, outputs
    rows = []
    for method in METHODS:
        number, other = (names.index(name) for name in (method.run, f"{method.model}-{BASELINE}"))
        if other == number:  # those that others are compared with: with the first of them
            other = names.index(first)
        scores = outputs.scores[number]
        outcome = None if other == number else compare(outputs, number, other)
        run = stage.found["tune"]["runs"][method.run]
        rows.append(
            {
                "model": method.model,
                "method": method.name,
                "dev": run["dev_bleu"],
                "test": scores.summaries["bleu"].mean,
                "length": scores.length_ratio,
                "seconds": run["seconds"],
                "p_value": None if outcome is None else outcome.p_value,
                "kept_start": run["best_iteration"] == 0 < run["iterations"],
            }
        )
        with write_text(stage.path("runs") / method.run / "test.out") as file:
            for one in outputs.translations[number][0]:
                file.write(" ".join(one.words) + "\n")
    examples = [_example(outputs, sentence, names) for sentence in _chosen(outputs)]
    return {"sentences": len(outputs.source), "rows": rows, "examples": examples}


def _chosen(outputs: Outputs) -> list[int]:
    """Sentences on which the systems differ, not very long, no two alike."""
    from hopefear.analysis.report.examples import chosen

    order = chosen(outputs, len(outputs.source))
    short = [n for n in order if len(outputs.source[n]) in SHORT]
    found: list[int] = []
    for sentence in [*short, *order]:
        words = set(outputs.source[sentence])
        alike = any(2 * len(words & set(outputs.source[n])) > len(words) for n in found)
        if not alike and len(found) < EXAMPLES:
            found.append(sentence)
    return sorted(found)


def _example(outputs: Outputs, sentence: int, names: Sequence[str]) -> dict[str, Any]:
    texts = [" ".join(system[0][sentence].words) for system in outputs.translations]
    return {
        "source": " ".join(outputs.source[sentence]),
        "references": list(outputs.references[sentence]),
        "outputs": dict(zip(names, texts, strict=True)),
        "sentence": sentence + 1,
    }


def tell_comparison(report: Mapping[str, Any], console: Console) -> None:
    """The table and the sentences, and how to read them."""
    text = (
        f"What counts is text that nobody has seen: {report['sentences']} sentences, translated by "
        "both models with the weights of each method. BLEU with four references, higher is better; "
        "length is that of the output by that of the references; p is how likely a difference to "
        "mert as large as this is by chance alone (that of hiero mert: to phrase mert)."
    )
    console.print(prose(text) + "\n")
    rows = [
        (
            row["model"],
            row["method"] + " *" * row["kept_start"],
            f"{row['dev']:.2f}",
            f"{row['test']:.2f}",
            f"{row['length']:.3f}",
            "-" if row["p_value"] is None else f"{row['p_value']:.3f}",
            "-" if row["method"] == START else duration(row["seconds"]),
        )
        for row in report["rows"]
    ]
    header = ("model", "weights", "dev", "test", "length", "p", "time")
    console.print(textwrap.indent(table(rows, header), "  ") + "\n")
    if any(row["kept_start"] for row in report["rows"]):
        text = (
            "No iteration of those with a star did better on the development set than the weights "
            "they began with, so these were kept."
        )
        console.print(prose(text) + "\n")
    console.print(prose(_conclusion(report["rows"])) + "\n")
    console.print("Three sentences on which the systems differ:")
    for example in report["examples"]:
        console.print("\n" + hanging("  source", example["source"], 14))
        for number, reference in enumerate(example["references"]):
            console.print(hanging("" if number else "  references", reference, 14))
        for text, names in _grouped(example["outputs"]).items():
            console.print(hanging("  " + names[0], text or "(nothing)", 22))
            for name in names[1:]:
                console.print(f"  {name}".ljust(22) + "the same")


def _grouped(outputs: Mapping[str, str]) -> dict[str, list[str]]:
    """Each text with the systems that gave it."""
    groups: dict[str, list[str]] = {}
    for name, text in outputs.items():
        groups.setdefault(text, []).append(name.replace("-", " ", 1))
    return groups


def _conclusion(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the table says, and what it does not."""
    learned = [row for row in rows if row["method"] != START]
    best = max(learned, key=lambda row: row["test"])
    text = f"The highest score on the test set is that of {best['model']} {best['method']}. "
    sure = [
        f"{row['model']} {row['method']}"
        for row in learned
        if row["p_value"] is not None and row["p_value"] < 0.05
    ]
    if sure:
        text += f"More than chance, at p < 0.05, is only the difference of: {', '.join(sure)}. "
    else:
        text += "No difference to mert is more than chance, at p < 0.05. "
    return text + (
        "The steps of search-aware and maxforce were chosen on the development set of the world "
        "with seed 1, among three and two; pro has shorter lists than by default, hiero a narrower "
        "search, to save time. One seed of a small world says little about which method is best; "
        "docs/results has experiments on real text, with several seeds."
    )
