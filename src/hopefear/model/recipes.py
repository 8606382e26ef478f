"""Recipes: several steps of tuning that are known to work well together (`tune --recipe`).

    best   `mert` tunes the dense weights on the development set; `mira` learns millions of sparse
           weights in one pass over the training text, each pair decoded without its fold; `mert`
           tunes the dense weights again. docs/results/recipes.md has what it gains.
    fast   `batch-mira` on the development set, a minute or less.

Takes `TuneOptions` with a `recipe` and returns the `Run`. The run directory contains

    config.toml           the recipe, its steps, the seed, the templates
    1-dense/ 2-sparse/ …  a run of each step, to be inspected like any other
    metrics.jsonl         the iterations of all steps, numbered in order
    weights.tsv           the result

`--resume` continues with the first unfinished step. The weights that a sparse step passes on are
those of its last iteration: the development set favours the weights that were tuned on it, so it
cannot tell whether the sparse ones help. After the last step it can, since both results were tuned
on it; the better one is chosen.
"""

from __future__ import annotations

import glob
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.config import to_mapping
from hopefear.base.errors import OptionError
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.features.feature import parse_templates
from hopefear.learn.loop.run import (
    CONFIG_FILE,
    METRICS_FILE,
    WEIGHTS_FILE,
    RunDirectory,
    prepare_directory,
    sweep,
    write_metrics,
)
from hopefear.model.adding_folds import add_folds, check_folds_can_be_added
from hopefear.model.directory import Model
from hopefear.model.recipe_times import announce
from hopefear.model.run import Run
from hopefear.model.tune_options import TuneOptions
from hopefear.model.tuning import tune
from hopefear.model.tuning_input import tuning_input
from hopefear.text.lines import read_parallel

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Step:
    """A step of a recipe: a run of a tuner in a directory of its own."""

    name: str  # of the directory
    tuner: str
    purpose: str
    options: Mapping[str, Any] = field(default_factory=dict)  # fields of TuneOptions
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the tuner
    bitext: bool = False  # learns sparse weights from the training text, in folds
    sparse: bool = False  # decodes with feature templates


@dataclass(frozen=True)
class Recipe:
    """The steps of a recipe; the result is that of the best of the steps `results`."""

    steps: tuple[Step, ...]
    results: tuple[str, ...]


RECIPES = {
    "best": Recipe(
        (
            Step("1-dense", "mert", "dense weights, on the development set", {"iterations": 10}),
            Step(
                "2-sparse",
                "mira",
                "sparse weights, on the training text in folds",
                {"iterations": 1, "kbest": 100, "patience": 0, "tolerance": 0.0, "folds": True},
                {"C": 0.001},
                bitext=True,
                sparse=True,
            ),
            Step(
                "3-dense",
                "mert",
                "dense weights again, on the development set",
                {"iterations": 10},
                sparse=True,
            ),
        ),
        ("3-dense", "1-dense"),
    ),
    "fast": Recipe(
        (Step("1-batch-mira", "batch-mira", "all weights, on the development set"),),
        ("1-batch-mira",),
    ),
}


def tune_by_recipe(
    options: TuneOptions,
    metric_options: Mapping[str, Any] | None = None,
    *,
    weights: Weights | None = None,
    texts: Mapping[Path, Sequence[str]] | None = None,
    display: Display | None = None,
    tell: Tell = lambda text: None,
    warn: Tell = lambda text: None,
) -> Run:
    """Take the steps of a recipe, or those that are not finished yet; arguments as of `tune`."""
    assert options.recipe is not None
    assert options.model is not None, "see TuneOptions.check"
    recipe = RECIPES[options.recipe]
    model = Model.load(options.model)
    in_folds = any(step.bitext for step in recipe.steps)
    if in_folds and not model.folds:
        check_folds_can_be_added(model)
    start = weights
    if start is None:
        start = model.weights(options.weights, warn=lambda text: None)
    templates = options.templates
    if templates is None:
        templates = sparse_templates(model)
    if in_folds and not templates:
        raise OptionError(
            f"--templates: names none, but recipe {options.recipe} learns their weights; name "
            "some, or leave it out"
        )
    metric = registry.create("metric", options.metric, metric_options)
    config = {
        "recipe": {
            "name": options.recipe,
            "steps": [step.name for step in recipe.steps],
            "results": list(recipe.results),
            **({"templates": templates} if in_folds else {}),
        },
        "metric": {"name": options.metric, **to_mapping(metric)},
    }
    places = [options.output]
    if options.runs > 1:
        places = [options.output / f"run-{number}" for number in range(1, options.runs + 1)]
    plan = [
        _StepRun(step, replace(options, seed=options.seed + number), place, templates, model)
        for number, place in enumerate(places)
        for step in recipe.steps
    ]
    if (options.output / CONFIG_FILE).is_file():
        _prepare(options, places, config)  # refuses a run without --resume, before any work
    left = [step for step in plan if not step.finished]
    _check_training_text(left, model, texts or {})
    announce(
        [(step.label, step.step.purpose, step.options()) for step in left],
        f"recipe {options.recipe} in {options.output}",
        model,
        weights=start,
        texts=texts or {},
        tell=tell,
    )
    _prepare(options, places, config)
    if in_folds and not model.folds:
        tell(f"{model.directory}: making folds of its training text")
        model = add_folds(model, threads=options.threads, display=display, tell=tell)
        _check_training_text(left, model, texts or {})
    for step in plan:
        tell(f"{step.label}: {step.step.purpose}")
        tune(
            step.options(),
            step.step.settings,
            metric_options,
            weights=weights if step.is_first else None,
            texts=texts,
            display=display,
            tell=tell,
            warn=warn,
        )
        if step.step.bitext:
            tell(f"{step.label}: the weights of its last iteration go on to the next step")
        if step.is_last:
            _finish(step.place)
    if options.runs > 1:
        _finish(options.output)
    run = Run(options.output)
    for line in _advice(run.path, options, templates if in_folds else []):
        tell(line)
    return run


def sparse_templates(model: Model) -> list[str]:
    """Return the feature templates that recipes learn for a model, besides its own ones."""
    chosen = list(model.rule_system.sparse_templates)
    classes = model.lists.classes
    if not (classes.source.paths and classes.target.paths):  # as trained with --clusters
        chosen = [
            {"word-edges": "word-edges:levels=wcy", "rule-history": "rule-history:levels=w"}.get(
                name, name
            )
            for name in chosen
        ]
    return [*(name for name in model.templates if name not in parse_templates(chosen, {})), *chosen]


def _check_training_text(
    steps: Sequence[_StepRun], model: Model, texts: Mapping[Path, Sequence[str]]
) -> None:
    """Raise an `InputError` for a --train that the steps left cannot learn from.

    They would refuse it, too, but after the steps before them. Folds may be unknown as yet.
    """
    for step in steps:
        options = step.options()
        if not (step.step.bitext and options.train):
            continue
        if not model.folds:
            for _ in read_parallel(options.train, texts):
                pass
            return
        start = replace(options, weights=None)
        weights = model.weights(None, warn=lambda text: None)
        inputs = tuning_input(
            start, k=1, learners=1, weights=weights, texts=texts, warn=lambda text: None
        )
        data = inputs.read([options.train[0]], options.train[1:])
        inputs.in_folds(data, options.train[0])
        return


@dataclass(frozen=True)
class _StepRun:
    """A step in its place, and the options of its run."""

    step: Step
    recipe_options: TuneOptions
    place: Path
    templates: Sequence[str]
    model: Model

    @property
    def recipe(self) -> Recipe:
        assert self.recipe_options.recipe is not None
        return RECIPES[self.recipe_options.recipe]

    @property
    def is_first(self) -> bool:
        return self.step is self.recipe.steps[0]

    @property
    def is_last(self) -> bool:
        return self.step is self.recipe.steps[-1]

    @property
    def directory(self) -> Path:
        return self.place / self.step.name

    @property
    def label(self) -> str:
        """Its name in messages, with that of its run if there are several."""
        several = self.recipe_options.runs > 1
        return f"{self.place.name}/{self.step.name}" if several else self.step.name

    @property
    def finished(self) -> bool:
        state = RunDirectory(self.directory).read_state()
        return state is not None and state["phase"] == "finished"

    def options(self) -> TuneOptions:
        """The options of the step's run, which starts from the weights of the step before it."""
        own, step = self.recipe_options, self.step
        more: dict[str, Any] = {}
        if not self.is_first:
            more["weights"] = self._weights_before()
        if step.sparse:
            more["templates"] = list(self.templates)
        if step.bitext:
            dense = self.model.decoder(templates={}).dense
            more["fix"] = [glob.escape(name) for name in dense]
        else:
            more |= {"train": [], "max_examples": None}
        return replace(
            own,
            recipe=None,
            tuner=step.tuner,
            runs=1,
            output=self.directory,
            resume=(self.directory / CONFIG_FILE).is_file(),
            **{**more, **step.options},
        )

    def _weights_before(self) -> Path:
        before = self.recipe.steps[self.recipe.steps.index(self.step) - 1]
        directory = RunDirectory(self.place / before.name)
        if not before.bitext:
            return directory.path / WEIGHTS_FILE
        last = int(before.options["iterations"])
        return directory.weights_path(last)


def _prepare(options: TuneOptions, places: Sequence[Path], config: Mapping[str, Any]) -> None:
    """Create the directories of the runs, or check that existing ones are of the same recipe."""
    if options.runs > 1:
        several = {**config, "runs": options.runs, "loop": {"seed": options.seed}}
        prepare_directory(options.output, several, resume=options.resume)
    for number, place in enumerate(places):
        own = {**config, "loop": {"seed": options.seed + number}}
        # Runs in a directory always resume: `resume` was checked for the directory.
        resume = options.resume or options.runs > 1
        prepare_directory(place, own, resume=resume)


def _finish(place: Path) -> None:
    """Write the result of all steps, or of all runs, into their directory."""
    sweep(place)
    run = Run(place)
    write_metrics(place / METRICS_FILE, run.records)
    run.chosen_weights().save(place / WEIGHTS_FILE)


def _advice(path: Path, options: TuneOptions, templates: Sequence[str]) -> list[str]:
    """Return the command that translates with the result."""
    if not templates:
        return []
    words: list[Any] = ["--model", options.model, "--weights", path / WEIGHTS_FILE]
    if options.plugin:
        words += ["--plugin", *options.plugin]
    words += ["--templates", *templates]
    return [f"to translate: hopefear translate {shlex.join(map(str, words))}"]
