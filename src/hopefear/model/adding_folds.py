"""Add folds to a model that was trained without.

Takes a model and makes, of the texts and the alignment in its `work/` directory, the rule tables
and language models that `hopefear train --folds K` would have made. The options are those of the
training, which `work/steps.json` records with each step. Of the model's other files only model.toml
changes, and later trainings with the same options and folds find the steps done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopefear.base.config import from_mapping
from hopefear.base.errors import InputError
from hopefear.base.progress import Display
from hopefear.model.directory import WORK, Model
from hopefear.model.folds import SIDES
from hopefear.model.train import Training
from hopefear.model.train_options import TrainOptions
from hopefear.model.train_steps import STATE_FILE

FOLDS = 5
#: Steps whose options the folds share.
_STEPS = ("rules", "language model")


def check_folds_can_be_added(model: Model) -> None:
    """Raise an `InputError` if the model lacks what folds are made of."""
    _dependencies(model)


def add_folds(
    model: Model,
    count: int = FOLDS,
    *,
    threads: int = 0,
    display: Display | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Model:
    """Add folds to a model without; a second call finishes what a killed one began."""
    rules, lm = _dependencies(model)
    work = model.directory / WORK
    options = dict(rules["options"])
    inputs = rules["alignment"]["text"]["inputs"]
    parallel = {name: work / f"given.{name}" for name in inputs if name not in SIDES}
    values = {**options, **parallel, "order": lm["order"], "folds": count, "threads": threads}
    place = str(work / STATE_FILE)
    Training(
        work / "source.txt",
        work / "target.txt",
        model.directory,
        from_mapping(TrainOptions, values, place),
        display,
        tell,
    ).add_folds(model, rules, lm)
    return Model.load(model.directory)


def seconds_of_folds(model: Model, count: int = FOLDS) -> float:
    """Return the expected seconds of making folds, from those of the model's own training."""
    times = model.training_times
    each = sum(times.get(step, {}).get("seconds", 0.0) for step in _STEPS)
    return each * (count - 1)


def _dependencies(model: Model) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the rules and the language model were made from."""
    path: Path = model.directory / WORK / STATE_FILE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        rules, lm = (state[step]["depends"] for step in _STEPS)
    except (OSError, ValueError, LookupError, TypeError):
        raise InputError(
            f"{path}: does not say how {model.directory} was trained, so its folds cannot be made; "
            f"run the same 'hopefear train' again with --folds {FOLDS}"
        ) from None
    return rules, lm
