"""The demo's first chapters: a corpus of two languages, and two models trained on it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import hopefear
from hopefear.base.console import Console, table
from hopefear.base.files import open_text
from hopefear.base.progress import duration
from hopefear.cli.demo_stage import Stage, hanging, prose
from hopefear.cli.world import describe

#: Source sides that are shown with their translations; those with gaps are the hierarchical model's
SHOWN: dict[str, tuple[str, ...]] = {
    "phrase": ("huitan", "juxing le huitan", "fensi"),
    "hiero": ("yu [X,1] juxing le [X,2]", "[X,1] de [X,2]", "[X,1] ma ?"),
}


def make_world(stage: Stage) -> dict[str, Any]:
    """A corpus of two languages"""
    from hopefear.text import world

    with stage.console.step("make the world", unit="sentences") as step:
        made = world.generate(seed=stage.seed, progress=step.advance)
        world.write(made, stage.path("world"))
    shown = [
        {
            "source": example.source,
            "references": list(example.references),
            "phenomena": list(example.phenomena),
            "topic": example.topic,
        }
        for example in world.examples(made, 3)
    ]
    return {**world.statistics(made), "examples": shown}


def tell_world(report: Mapping[str, Any], console: Console) -> None:
    text = (
        "Hopefear comes with a small world of its own: texts in Mandarin, written in pinyin, and "
        "in English. No other data is needed. It is small, but hard in the ways in which real text "
        "is hard."
    )
    console.print(prose(text) + "\n")
    for line in describe(report).splitlines():
        console.print(line if len(line) < 80 else prose(line))
    for number, example in enumerate(report["examples"], 1):
        console.print(f"\nExample {number}, from a text about {example['topic']}:")
        console.print(hanging("", example["source"], 2))
        for reference in example["references"]:
            console.print(hanging("    = ", reference, 6))
        console.print(prose("it has " + ", ".join(example["phenomena"][:3]), "  "))


def train_models(stage: Stage) -> dict[str, Any]:
    """Two models: phrases, and phrases with gaps"""
    found: dict[str, Any] = {}
    for system in SHOWN:
        source, target = stage.bitext
        model = hopefear.train(
            source,
            target,
            model=stage.model(system),
            system=system,
            tokenized=True,
            order=3,
            display=stage.console.display,
        )
        steps = model.settings["training"]["steps"]
        rules = {
            side: [" ".join(rule.target) for rule in model.rules.lookup(side.split())[:3]]
            for side in SHOWN[system]
        }
        found[system] = {
            "model": str(model.directory),
            "steps": steps,
            "seconds": round(sum(step["seconds"] for step in steps.values()), 3),
            "number_of_rules": len(model.rules),
            "rules": rules,
        }
    work = stage.model("phrase") / "work"
    with ExitStack() as stack:
        lines = [
            stack.enter_context(open_text(work / f"{name}.txt"))
            for name in ("source", "target", "alignment")
        ]
        first = [next(line) for line in lines]
    return {"pair": dict(zip(("source", "target", "alignment"), first, strict=True)), **found}


def tell_training(report: Mapping[str, Any], console: Console) -> None:
    text = (
        "Training finds out which words belong together, from nothing but sentence pairs. In the "
        "first pair, for instance:"
    )
    console.print(prose(text) + "\n")
    source, target = report["pair"]["source"].split(), report["pair"]["target"].split()
    links: dict[int, list[str]] = {}
    for link in report["pair"]["alignment"].split():
        i, j = map(int, link.split("-"))
        links.setdefault(i, []).append(target[j])
    rows = [(word, " ".join(links.get(i, ["-"]))) for i, word in enumerate(source)]
    console.print(textwrap.indent(table(rows), "  ") + "\n")
    phrase, hiero = report["phrase"], report["hiero"]
    text = (
        "The first model takes from every pair the phrases that translate each other, "
        f"{phrase['number_of_rules']:,} in all, among them:"
    )
    console.print(prose(text) + "\n")
    _print_rules(phrase, console)
    text = (
        f"The second one takes phrases with gaps, too, {hiero['number_of_rules']:,} rules. They "
        "know how whole parts of a sentence change places:"
    )
    console.print(prose(text) + "\n")
    _print_rules(hiero, console)
    text = (
        "And a language model learned from the English side what English looks like. "
        f"Time: {duration(phrase['seconds'])} and {duration(hiero['seconds'])}. More: "
        f"'hopefear inspect {phrase['model']}'."
    )
    console.print(prose(text))


def _print_rules(report: Mapping[str, Any], console: Console) -> None:
    width = max(map(len, report["rules"])) + 4
    for side, targets in report["rules"].items():
        console.print(hanging(f"  {side}", " | ".join(targets) or "-", width))
    console.print()
