"""Tuning: weights learned on a development set, or on a bitext, into a run directory.

Takes `TuneOptions`, the options of the tuner and of the metric; returns the `Run`. The command
`hopefear tune` and `hopefear.tune` in Python are this function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.config import part_of, to_mapping
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.learn.loop.base import BaseLoop
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import RunDirectory, digest_of, digest_of_weights
from hopefear.learn.loop.runs import tune as tune_runs
from hopefear.model.run import Run
from hopefear.model.tune_options import TuneOptions
from hopefear.model.tuning_input import TuningInput, tuning_input

Tell = Callable[[str], None]


def tune(
    options: TuneOptions,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    *,
    weights: Weights | None = None,
    texts: Mapping[Path, Sequence[str]] | None = None,
    display: Display | None = None,
    tell: Tell = lambda text: None,
    warn: Tell = lambda text: None,
) -> Run:
    """Make the run that the options describe, or resume it.

    `weights`: those to start from, instead of the options'; `texts`: those in memory, by the names
    that the options have for them (`text.lines.Texts`).
    """
    options.check()
    texts = texts or {}

    def make_tuner() -> Any:
        return registry.create("tuner", options.tuner, tuner_options)

    tuner = make_tuner()
    metric = registry.create("metric", options.metric, metric_options)
    if not tuner.takes_lists:
        options.check_forests()
    given = tuning_input(
        options,
        k=options.kbest or tuner.kbest,
        learners=getattr(tuner, "learners", 1),
        weights=weights,
        texts=texts,
        warn=warn,
    )
    data = given.read(options.sources, options.refs)
    heldout = given.read([options.heldout], options.heldout_refs) if options.heldout else None
    training = given.read([options.train[0]], options.train[1:]) if options.train else None
    training_options = TrainingOptions(**part_of(TrainingOptions, options))
    if training is not None and options.leave_out:
        training = given.without_own_rules(training)
    if training is not None and options.folds:
        training = given.in_folds(training, options.train[0])
    if training is not None and options.align is not None:
        training = given.aligned(training, options.align)
    threads = options.threads or all_cores()
    not_default = training_options.given()
    config = {
        "tuner": {"name": options.tuner, **to_mapping(tuner)},
        "metric": {"name": options.metric, **to_mapping(metric)},
        **_config(options, given),
        **({"training": not_default} if not_default else {}),
        "resources": {"threads": threads},
    }
    loop: Any = registry.get("loop", tuner.loop)

    def make_loop(directory: RunDirectory, loop_options: LoopOptions) -> BaseLoop:
        made: BaseLoop = loop.make(
            make_tuner,
            training=training,
            training_options=training_options,
            decoder=given.decoder,
            metric=metric,
            data=data,
            start=given.weights,
            directory=directory,
            options=loop_options,
            heldout=heldout,
            threads=threads,
            display=display,
            tell=tell,
            warn=warn,
        )
        return made

    with given.running:
        tune_runs(
            make_loop,
            options.output,
            config,
            LoopOptions(**part_of(LoopOptions, options)),
            runs=options.runs,
            resume=options.resume,
            tell=tell,
        )
    return Run(options.output)


def _config(options: TuneOptions, given: TuningInput) -> dict[str, Any]:
    """What makes the run repeatable: files by their content, and where they were."""
    plugins = [digest_of(path) for path in options.plugin]
    files: dict[str, list[Path]] = {"dev": options.sources, "refs": options.refs}
    if options.heldout is not None:
        files |= {"heldout": [options.heldout], "heldout_refs": options.heldout_refs}
    if options.train:
        files["train"] = options.train
    if options.align is not None:
        files["align"] = [options.align]
    places: dict[str, Any] = {
        key: [str(path) for path in paths]
        for key, paths in files.items()
        if not any(path in given.texts for path in paths)
    }
    for key in ("model", "weights"):
        if getattr(options, key) is not None:
            places[key] = str(getattr(options, key))
    contents = {key: [given.digests[path] for path in paths] for key, paths in files.items()}
    return {
        "system": {
            "tokenized": options.tokenized,
            **given.config,
            **({"plugins": plugins} if plugins else {}),
        },
        "contents": {**contents, "start_weights": digest_of_weights(given.weights)},
        "files": places,
    }
