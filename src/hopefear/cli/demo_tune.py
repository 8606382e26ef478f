"""The demo's chapter on tuning: the weights of both models, learned with several methods.

Takes the models of the previous chapter and makes a run directory (of `hopefear tune`) for each
entry of `METHODS`.
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
    """A model, a tuner and its options."""

    model: str
    name: str
    tuner: str  # or "recipe NAME"
    iterations: int | None  # None: those of the recipe's steps
    description: str
    options: Mapping[str, Any] = field(default_factory=dict)  # of `hopefear.tune`
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the tuner
    limits: str = ""  # where the method gains little, to explain a score below mert's

    @property
    def run(self) -> str:
        """The name of the run directory."""
        return f"{self.model}-{self.name}"


RECIPE = "recipe "  # before the name of a recipe
#: A search of half the default width for the hierarchical model, to save time.
FAST = {"pop_limit": 100}
START = "start"  # the method that keeps the initial weights
METHODS = (
    Method("phrase", START, "mert", 0, "the initial weights of every new model"),
    Method("phrase", "mert", "mert", 6, "searches for the best BLEU, one direction after another"),
    Method(
        "phrase",
        "pro",
        "pro",
        6,
        "learns to rank the better of two translations higher",
        options={"kbest": 300},
    ),
    Method("phrase", "mira", "mira", 5, "updates per sentence: towards hope, away from fear"),
    Method("phrase", "rm", "rm", 5, "mira that also bounds the spread of a sentence's scores"),
    Method(
        "phrase",
        "search-aware",
        "mira",
        3,
        "mira that also learns which partial translations search should keep",
        # The best of 0.01, 0.001 and 0.0001 on the development set of seed 1: with the other values
        # BLEU falls from 48 to 42 in the first iteration and the initial weights are kept.
        settings={"search_aware": "potential", "C": 0.0001},
        limits="search-aware learning can only win back translations that search loses. It gains "
        "a little where words move far, as from Chinese to English on real text (+0.5 BLEU), and "
        "nothing where the order of words is similar or sentences are short, as in the world "
        "(docs/results/search-aware.md).",
    ),
    Method(
        "phrase",
        "recipe",
        f"{RECIPE}best",
        None,
        "mert, then mira for sparse features on the training text, then mert",
        options={"max_examples": 5000},  # to save time
        limits="the recipe learns from the training text, and this one is small; with 29,000 pairs "
        "it gained more than one BLEU (docs/results/recipes.md).",
    ),
    Method("hiero", START, "mert", 0, "the initial weights of every new model", FAST),
    Method("hiero", "mert", "mert", 4, "as for the phrase-based model", FAST),
    Method("hiero", "rm", "rm", 2, "as for the phrase-based model", FAST),
)


def tune_models(stage: Stage) -> dict[str, Any]:
    """Weights, learned with several methods"""
    runs: dict[str, Any] = {}
    with stage.console.step("tune", total=len(METHODS), unit="runs") as step:
        for method in METHODS:
            runs[method.run] = _tune(stage, method, step)
            step.advance()
        step.say("")
    return {"runs": runs}


def _tune(stage: Stage, method: Method, step: Progress) -> dict[str, Any]:
    notes: list[str] = []
    if method.tuner.startswith(RECIPE):
        chosen: dict[str, Any] = {"recipe": method.tuner.removeprefix(RECIPE)}
    else:
        chosen = {
            "tuner": method.tuner,
            "tuner_options": method.settings,
            "iterations": method.iterations,
        }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: notes.append(f"warning: {message}")
            run = hopefear.tune(
                stage.model(method.model),
                dev=stage.source("dev"),
                refs=stage.references("dev"),
                output=stage.path("runs") / method.run,
                tokenized=True,
                seed=stage.seed,
                resume=True,
                display=_NestedDisplay(step, f"{method.model} {method.name}"),
                tell=notes.append,
                **chosen,
                **method.options,
            )
    except OptionError as error:
        raise OptionError(f"{error}; to repeat the demo, remove {stage.directory}") from None
    return {**run.report(), "notes": notes}


def tell_tuning(report: Mapping[str, Any], console: Console) -> None:
    """Print the methods and the gain of one of them."""
    text = (
        "The score of a translation is a weighted sum of features, such as the language model and "
        "the rule probabilities. The weights are learned on a development set: translate it, "
        "compare many translations of each sentence with the references, change the weights so "
        "that better translations score higher, and translate again. The methods differ in how "
        "they change the weights:"
    )
    console.print(prose(text) + "\n")
    for method in METHODS:
        if method.model == "phrase":
            console.print(hanging(f"  {method.name}", method.description, 16))
    console.print()
    example = report["runs"]["phrase-mira"]
    text = (
        f"For instance, mira raised BLEU on the development set from "
        f"{report['runs'][f'phrase-{START}']['dev_bleu']:.1f} to {example['dev_bleu']:.1f} in "
        f"{duration(example['seconds'])}. 'hopefear inspect {example['run']}' shows its iterations."
    )
    console.print(prose(text))


class _NestedDisplay(Display):
    """Shows the steps of a run as a note on the demo's own step."""

    def __init__(self, outer: Progress, label: str) -> None:
        super().__init__()
        self.outer, self.label = outer, label

    def refresh(self, step: Progress) -> None:
        self.outer.say(f"{self.label}, {step.label.partition(':')[0]}")
