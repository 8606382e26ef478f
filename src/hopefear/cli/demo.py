"""`hopefear demo`: the product's story on the built-in world, step by step.

Goes in: a directory and a seed. Comes out: what each step made, on disk, and what it means, in
plain words. A step is a function in `STEPS` that gets the `Stage` (where things are, what earlier
steps found) and returns its part of the report; a new part of the product adds one function.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopefear.cli.command import Command, Console, table
from hopefear.cli.demo_report import tell_report, write_report
from hopefear.cli.demo_tune import tell_tuning, tune_model
from hopefear.cli.world import describe
from hopefear.config import option
from hopefear.files import open_text, write_text
from hopefear.progress import duration
from hopefear.registry import register


@dataclass
class Stage:
    """What the steps share."""

    directory: Path
    seed: int
    console: Console
    found: dict[str, Any] = field(default_factory=dict)  # step -> its report

    def path(self, name: str) -> Path:
        return self.directory / name


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
    console.print(
        _prose(
            "Hopefear comes with a small world of its own: texts in Mandarin, written in pinyin, "
            "and in English. No other data is needed. It is small, but hard in the ways in which "
            "real text is hard."
        )
    )
    console.print()
    console.print(describe(report))
    for number, example in enumerate(report["examples"], 1):
        console.print(f"\nExample {number}, from a text about {example['topic']}:")
        console.print(f"  {example['source']}")
        for reference in example["references"]:
            console.print(f"    = {reference}")
        console.print(_prose("it has " + ", ".join(example["phenomena"][:3]), "  "))


def train_model(stage: Stage) -> dict[str, Any]:
    """Words, phrases and a language model"""
    from hopefear.model import Model
    from hopefear.train import TrainOptions, train

    report = train(
        stage.path("world") / "train.zh",
        stage.path("world") / "train.en",
        stage.path("model"),
        TrainOptions(tokenized=True, order=3),
        display=stage.console.display,
    )
    model = Model.load(stage.path("model"))
    work = model.directory / "work"
    with ExitStack() as stack:
        lines = [
            stack.enter_context(open_text(work / f"{name}.txt"))
            for name in ("source", "target", "alignment")
        ]
        source, target, alignment = (next(line) for line in lines)
    return {
        **report,
        "pair": {"source": source, "target": target, "alignment": alignment},
        "rules": {
            phrase: [" ".join(rule.target) for rule in model.rules.lookup(phrase.split())[:4]]
            for phrase in ("huitan", "juxing le huitan", "fensi")
        },
        "number_of_rules": len(model.rules),
    }


def tell_training(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        _prose(
            "Training finds out which words belong together, and takes from every sentence pair "
            "the phrases that translate each other. Of the first pair:"
        )
    )
    source, target = report["pair"]["source"].split(), report["pair"]["target"].split()
    links: dict[int, list[str]] = {}
    for link in report["pair"]["alignment"].split():
        i, j = map(int, link.split("-"))
        links.setdefault(i, []).append(target[j])
    rows = [(word, " ".join(links.get(i, ["-"]))) for i, word in enumerate(source)]
    console.print("\n" + textwrap.indent(table(rows), "  ") + "\n")
    console.print(f"{report['number_of_rules']:,} phrase pairs were kept, among them:\n")
    found = [(source, " | ".join(targets)) for source, targets in report["rules"].items()]
    console.print(textwrap.indent(table(found), "  ") + "\n")
    seconds = ", ".join(
        f"{name} {duration(step['seconds'])}" for name, step in report["steps"].items()
    )
    console.print(_prose(f"Time: {seconds}. 'hopefear inspect {report['model']}' has more."))


def translate_test(stage: Stage) -> dict[str, Any]:
    """New sentences, translated"""
    from hopefear.metrics import create
    from hopefear.model import Model
    from hopefear.text.lines import read_lines
    from hopefear.translate import TranslateOptions, Translator

    world = stage.path("world")
    source = list(read_lines(world / "test.zh"))
    references = list(
        zip(*(read_lines(world / f"test.en.{number}") for number in range(4)), strict=True)
    )
    translator = Translator(
        Model.load(stage.path("model")), options=TranslateOptions(tokenized=True)
    )
    started = time.monotonic()
    texts = []
    with stage.console.step("translate", total=len(source), unit="sentences") as step:
        for found in translator.translate(source):
            texts.append(found.text)
            step.advance()
    seconds = time.monotonic() - started
    with write_text(stage.path("test.out")) as file:
        file.writelines(f"{text}\n" for text in texts)
    bleu = create("bleu")
    rows = bleu.prepare(references).statistics(texts)
    scores = bleu.sentence_scores(rows)
    # One that is right, one in the middle and one that went wrong, none of them very long.
    order = sorted(
        (n for n, text in enumerate(source) if 6 <= len(text.split()) <= 12),
        key=lambda n: -scores[n],
    )
    chosen = [order[round(part * (len(order) - 1))] for part in (0.05, 0.5, 0.95) if order]
    return {
        "sentences": len(source),
        "words_per_second": round(sum(len(line.split()) for line in source) / max(seconds, 1e-9)),
        "bleu": round(float(bleu.shown(rows.sum(axis=0))), 2),
        "output": str(stage.path("test.out")),
        "examples": [
            {"source": source[n], "output": texts[n], "references": list(references[n])}
            for n in chosen
        ],
        "model": str(stage.path("model")),
    }


def tell_translation(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        _prose(
            f"The model translates the {report['sentences']} sentences of the test set, which "
            "training never saw. Its weights are not learned yet, they are the same for every "
            f"model: BLEU is {report['bleu']:.1f}. Three sentences, and their four references:"
        )
    )
    for example in report["examples"]:
        console.print(f"\n  source      {example['source']}")
        console.print(f"  output      {example['output']}")
        for number, reference in enumerate(example["references"]):
            console.print(f"  {'' if number else 'references'}".ljust(14) + reference)
    console.print()
    console.print(
        _prose(
            f"All of them are in {report['output']} ({report['words_per_second']:,} words per "
            "second). How one came about:"
        )
    )
    for example in report["examples"][:1]:
        words = f"--tokenized --derivation '{example['source']}'"
        console.print(f"\n  hopefear inspect {report['model']} {words}")


Tell = Callable[[Mapping[str, Any], Console], None]
#: name, what it does, how it is told; in the order of the story
STEPS: tuple[tuple[str, Callable[[Stage], dict[str, Any]], Tell], ...] = (
    ("world", make_world, tell_world),
    ("train", train_model, tell_training),
    ("translate", translate_test, tell_translation),
    ("tune", tune_model, tell_tuning),
    ("report", write_report, tell_report),
)


def _prose(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 88, initial_indent=indent, subsequent_indent=indent)


@register("command", "demo")
@dataclass(kw_only=True)
class Demo(Command):
    """Tell the whole story on the built-in world, step by step.

    Everything it makes stays in the directory, so that you can go on from there.
    """

    section = "Start here"
    examples = ("hopefear demo", "hopefear demo -o story --json")

    output: Path = option(
        Path("hopefear-demo"),
        flags=("-o",),
        metavar="DIR",
        help="directory for everything the demo makes",
    )
    seed: int = option(1, help="another seed, another world")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.files import check_directory

        check_directory(self.output)
        stage = Stage(self.output, self.seed, console)
        for number, (name, make, tell) in enumerate(STEPS, 1):
            title = f"{number}. {make.__doc__}"
            if not console.json:
                console.print(f"{title}\n{'=' * len(title)}\n")
            stage.found[name] = make(stage)
            if not console.json:
                tell(stage.found[name], console)
                console.print()
        return {"directory": str(self.output), "steps": stage.found}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.print(f"Everything is in {report['directory']}. Next: hopefear --help")
