"""The demo's first chapters: a bilingual corpus, and two models trained on it."""

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

#: system -> source sides of the rules to show
SHOWN: dict[str, tuple[str, ...]] = {
    "phrase": ("huitan", "juxing le huitan", "fensi"),
    "hiero": ("yu [X,1] juxing le [X,2]", "[X,1] de [X,2]", "[X,1] ma ?"),
}

#: Folds of the training text, for the recipe that learns from it.
FOLDS = 3


def make_world(stage: Stage) -> dict[str, Any]:
    """A bilingual corpus"""
    from hopefear.text import world

    with stage.console.step("make the world", unit="sentences") as step:
        corpus = world.generate(seed=stage.seed, progress=step.advance)
        world.write(corpus, stage.path("world"))
    examples = [
        {
            "source": example.source,
            "references": list(example.references),
            "phenomena": list(example.phenomena),
            "topic": example.topic,
        }
        for example in world.examples(corpus, 3)
    ]
    return {**world.statistics(corpus), "examples": examples}


def tell_world(report: Mapping[str, Any], console: Console) -> None:
    """Print the statistics of the corpus and three examples."""
    text = (
        "Hopefear generates a small corpus of its own, the world: texts in Mandarin, written in "
        "pinyin, and in English, so no other data is needed. It is small, but has the difficulties "
        "of real text."
    )
    console.print(prose(text) + "\n")
    for line in describe(report).splitlines():
        console.print(line if len(line) < 80 else prose(line))
    for number, example in enumerate(report["examples"], 1):
        console.print(f"\nExample {number}, from a text about {example['topic']}:")
        console.print(hanging("", example["source"], 2))
        for reference in example["references"]:
            console.print(hanging("    = ", reference, 6))
        console.print(prose("phenomena: " + ", ".join(example["phenomena"][:3]), "  "))


def train_models(stage: Stage) -> dict[str, Any]:
    """Two models: phrases, and phrases with gaps"""
    models: dict[str, Any] = {}
    for system in SHOWN:
        source, target = stage.bitext
        model = hopefear.train(
            source,
            target,
            model=stage.model(system),
            system=system,
            tokenized=True,
            order=3,
            folds=FOLDS if system == "phrase" else 0,
            display=stage.console.display,
        )
        steps = model.settings["training"]["steps"]
        rules = {
            side: [" ".join(rule.target) for rule in model.rules.lookup(side.split())[:3]]
            for side in SHOWN[system]
        }
        models[system] = {
            "model": str(model.directory),
            "steps": steps,
            "seconds": round(sum(step["seconds"] for step in model.training_times.values()), 3),
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
    return {"pair": dict(zip(("source", "target", "alignment"), first, strict=True)), **models}


def tell_training(report: Mapping[str, Any], console: Console) -> None:
    """Print an aligned sentence pair and some rules of both models."""
    text = (
        "Training aligns the words of the sentence pairs, without a dictionary. The alignment of "
        "the first pair:"
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
        "The phrase-based model extracts pairs of phrases that translate each other, "
        f"{phrase['number_of_rules']:,} in all, among them:"
    )
    console.print(prose(text) + "\n")
    _print_rules(phrase, console)
    text = (
        f"The hierarchical model also extracts phrases with gaps, {hiero['number_of_rules']:,} "
        "rules in all. They can reorder whole parts of a sentence:"
    )
    console.print(prose(text) + "\n")
    _print_rules(hiero, console)
    text = (
        "Each model also has a language model of the English side. Training took "
        f"{duration(phrase['seconds'])} and {duration(hiero['seconds'])}. "
        f"'hopefear inspect {phrase['model']}' describes a model."
    )
    console.print(prose(text))


def _print_rules(report: Mapping[str, Any], console: Console) -> None:
    width = max(map(len, report["rules"])) + 4
    for side, targets in report["rules"].items():
        console.print(hanging(f"  {side}", " | ".join(targets) or "-", width))
    console.print()
