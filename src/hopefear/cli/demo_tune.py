"""The demo's chapter on tuning: the same models, their weights learned in several ways.

Goes in: the models of the chapter before. Comes out: a run directory for each row of `METHODS`, as
`hopefear tune` makes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import hopefear
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.progress import Display, Progress, duration
from hopefear.cli.demo_stage import Stage, hanging, prose


@dataclass(frozen=True)
class Method:
    """A way to learn the weights of a model."""

    model: str
    name: str
    tuner: str
    iterations: int
    what: str  # in plain words
    options: Mapping[str, Any] = field(default_factory=dict)  # of `hopefear.tune`
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the tuner
    bitext: bool = False  # learns from the training text

    @property
    def run(self) -> str:
        return f"{self.model}-{self.name}"


#: Of the hierarchical search: half of its default, to be done in time.
FAST = {"pop_limit": 100}
START = "start"  # the name of the weights that nobody learned
METHODS = (
    Method("phrase", START, "mert", 0, "the weights that every new model has"),
    Method("phrase", "mert", "mert", 6, "searches for the best BLEU, one direction after another"),
    Method(
        "phrase",
        "pro",
        "pro",
        6,
        "learns to tell the better of two translations",
        options={"kbest": 300},
    ),
    Method("phrase", "mira", "mira", 5, "sentence by sentence: towards hope, away from fear"),
    Method("phrase", "rm", "rm", 5, "the same, and holds the scores of a sentence together"),
    Method(
        "phrase",
        "search-aware",
        "mira",
        3,
        "mira that also learns which beginnings of a translation search should keep",
        # Of 0.01, 0.001 and this, by the development set of seed 1: with the others BLEU falls from
        # 48 to 42 in the first iteration and the start is kept.
        settings={"search_aware": "potential", "C": 0.0001},
    ),
    Method(
        "phrase",
        "maxforce",
        "maxforce",
        3,
        "learns from the training text where search loses the right translation",
        options={"max_examples": 1000, "leave_out": True},
        # Of 0.01 and this, likewise; with 0.01 the start is kept. So it is with mert's weights to
        # start from and rule ids, at 0.001 and 0.0002.
        settings={"eta": 0.001},
        bitext=True,
    ),
    Method("hiero", START, "mert", 0, "the weights that every new model has", FAST),
    Method("hiero", "mert", "mert", 4, "as above", FAST),
    Method("hiero", "rm", "rm", 2, "as above", FAST),
)


def tune_models(stage: Stage) -> dict[str, Any]:
    """Weights, learned in several ways"""
    runs: dict[str, Any] = {}
    with stage.console.step("tune", total=len(METHODS), unit="runs") as step:
        for method in METHODS:
            runs[method.run] = _tune(stage, method, step)
            step.advance()
        step.say("")
    return {"runs": runs}


def _tune(stage: Stage, method: Method, step: Progress) -> dict[str, Any]:
    notes: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: notes.append(f"warning: {message}")
            run = hopefear.tune(
                stage.model(method.model),
                dev=stage.source("dev"),
                refs=stage.references("dev"),
                train=stage.bitext if method.bitext else [],
                tuner=method.tuner,
                tuner_options=method.settings,
                output=stage.path("runs") / method.run,
                tokenized=True,
                iterations=method.iterations,
                seed=stage.seed,
                resume=True,
                display=_Inside(step, f"{method.model} {method.name}"),
                tell=notes.append,
                **method.options,
            )
    except OptionError as error:
        raise OptionError(f"{error}; for the demo: remove {stage.directory}") from None
    return {**run.report(), "notes": notes}


def tell_tuning(report: Mapping[str, Any], console: Console) -> None:
    """What was done, and how to look at it."""
    text = (
        "How much is a fluent sentence worth against a faithful one? The weights of the model say. "
        "They are learned on a development set: translate it, compare many translations of each "
        "sentence with the references, change the weights so that the better ones win, and "
        "translate again. There are many ways to do that:"
    )
    console.print(prose(text) + "\n")
    for method in METHODS:
        if method.model == "phrase":
            console.print(hanging(f"  {method.name}", method.what, 16))
    console.print()
    example = report["runs"]["phrase-mira"]
    text = (
        f"For instance, mira raised BLEU on the development set from "
        f"{report['runs'][f'phrase-{START}']['dev_bleu']:.1f} to {example['dev_bleu']:.1f} in "
        f"{duration(example['seconds'])}. 'hopefear inspect {example['run']}' shows its iterations."
    )
    console.print(prose(text))


class _Inside(Display):
    """Shows the steps of a run as remarks on the step that it is part of."""

    def __init__(self, outer: Progress, label: str) -> None:
        super().__init__()
        self.outer, self.label = outer, label

    def refresh(self, step: Progress) -> None:
        self.outer.say(f"{self.label}, {step.label.partition(':')[0]}")
