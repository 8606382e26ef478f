"""The demo's chapter on the test set: translations, scores, and three example sentences.

Takes the runs of the previous chapter and returns a table with BLEU on both sets, length, time and
the p-value against MERT of the same model (for MERT of the hierarchical model, against MERT of the
phrase-based model).
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
SHORT = range(6, 15)  # lengths of the preferred examples, in source words


def compare_systems(stage: Stage) -> dict[str, Any]:
    """The test set"""
    from hopefear.analysis.report.outputs import TestSet, compare, translate
    from hopefear.analysis.report.runs import read_systems
    from hopefear.base.threads import all_cores

    first = f"{METHODS[0].model}-{BASELINE}"  # the report compares all systems with the first
    names = sorted((method.run for method in METHODS), key=lambda name: name != first)
    systems = read_systems([stage.path("runs") / name for name in names], names=names)
    outputs = translate(
        systems,
        TestSet(stage.source("test"), stage.references("test"), "the test set"),
        threads=all_cores(),
        display=stage.console.display,
        warn=stage.console.warn,
    )
    stage.objects["systems"], stage.objects["outputs"] = systems, outputs
    rows = []
    for method in METHODS:
        number, other = (names.index(name) for name in (method.run, f"{method.model}-{BASELINE}"))
        if other == number:  # a baseline is compared with the first baseline
            other = names.index(first)
        scores = outputs.scores[number]
        outcome = None if other == number else compare(outputs, number, other)
        run = stage.reports["tune"]["runs"][method.run]
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
            for translation in outputs.translations[number][0]:
                file.write(" ".join(translation.words) + "\n")
    examples = [_example(outputs, sentence, names) for sentence in _chosen(outputs)]
    return {
        "sentences": len(outputs.source),
        "rows": rows,
        "reasons": _reasons(rows),
        "examples": examples,
    }


def _reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why methods with known limits score below mert of the same model, a text for each."""
    tests = {(row["model"], row["method"]): row["test"] for row in rows}
    reasons = []
    for method in METHODS:
        own, other = tests[method.model, method.name], tests[method.model, BASELINE]
        if not method.limits or own >= other:
            continue
        reasons.append(
            f"{method.model} {method.name} has {own:.2f} BLEU, mert {other:.2f}. Why: "
            f"{method.limits}"
        )
    return reasons


def _chosen(outputs: Outputs) -> list[int]:
    """The numbers of sentences on which the systems differ: short ones first, no two similar."""
    from hopefear.analysis.report.examples import chosen

    order = chosen(outputs, len(outputs.source))
    short = [n for n in order if len(outputs.source[n]) in SHORT]
    examples: list[int] = []
    for sentence in [*short, *order]:
        words = set(outputs.source[sentence])
        similar = any(2 * len(words & set(outputs.source[n])) > len(words) for n in examples)
        if not similar and len(examples) < EXAMPLES:
            examples.append(sentence)
    return sorted(examples)


def _example(outputs: Outputs, sentence: int, names: Sequence[str]) -> dict[str, Any]:
    texts = [" ".join(system[0][sentence].words) for system in outputs.translations]
    return {
        "source": " ".join(outputs.source[sentence]),
        "references": list(outputs.references[sentence]),
        "outputs": dict(zip(names, texts, strict=True)),
        "sentence": sentence + 1,
    }


def tell_comparison(report: Mapping[str, Any], console: Console) -> None:
    """Print the table of scores, its conclusion and the example sentences."""
    text = (
        f"The test set has {report['sentences']} sentences that were used neither in training nor "
        "in tuning, translated by both models with the weights of each method. dev and test: BLEU "
        "with four references, higher is better; length: ratio of output length to reference "
        "length; p: p-value of the difference to mert of the same model (for hiero mert, to phrase "
        "mert)."
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
            "*: no iteration was better on the development set than the initial weights, which "
            "were kept."
        )
        console.print(prose(text) + "\n")
    console.print(prose(_conclusion(report["rows"])) + "\n")
    for reason in report["reasons"]:
        console.print(prose(reason) + "\n")
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
    """Each translation with the systems that produced it."""
    groups: dict[str, list[str]] = {}
    for name, text in outputs.items():
        groups.setdefault(text, []).append(name.replace("-", " ", 1))
    return groups


def _conclusion(rows: Sequence[Mapping[str, Any]]) -> str:
    """The conclusions that the table of scores allows."""
    learned = [row for row in rows if row["method"] != START]
    best = max(learned, key=lambda row: row["test"])
    text = f"{best['model']} {best['method']} has the highest BLEU on the test set. "
    significant = [
        f"{row['model']} {row['method']}"
        for row in learned
        if row["p_value"] is not None and row["p_value"] < 0.05
    ]
    if significant:
        text += f"Significant differences to mert (p < 0.05): {', '.join(significant)}. "
    else:
        text += "No difference to mert is significant (p < 0.05). "
    return text + (
        "To save time, pro uses shorter lists than its default, hiero a narrower search, and the "
        "recipe 5,000 of the training pairs. The step size of search-aware is the best of three on "
        "the development set with seed 1. A single seed of a small corpus does not show which "
        "method is best; docs/results has experiments on real text with several seeds."
    )
