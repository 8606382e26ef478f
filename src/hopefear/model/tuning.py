"""Tuning: learn weights on a development set or a bitext, in a run directory.

Takes `TuneOptions` and the options of the tuner and the metric, and returns the `Run`. Both
`hopefear tune` and `hopefear.tune` in Python call `tune`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.config import part_of, to_mapping
from hopefear.base.errors import OptionError
from hopefear.base.executor import Executor
from hopefear.base.files import digest_of
from hopefear.base.memory import check_address_space
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.decode.remote.external import ExternalDecoder
from hopefear.learn.loop.base import BaseLoop
from hopefear.learn.loop.options import LoopOptions, TrainingOptions
from hopefear.learn.loop.run import RunDirectory, digest_of_weights
from hopefear.learn.loop.runs import tune as tune_runs
from hopefear.model.folds import text_files
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
    """Start or resume the tuning run that the options describe, and return it.

    `weights`: initial weights, instead of those of the options; `texts`: texts in memory, keyed by
    the paths that stand for them in the options (`text.lines.Texts`).
    """
    options.check()
    check_address_space()
    texts = texts or {}
    if options.recipe is not None:
        from hopefear.model.recipes import tune_by_recipe

        if tuner_options:
            raise OptionError(
                f"--set {next(iter(tuner_options))}: an option of tuners, which --recipe "
                f"{options.recipe} sets; leave it out, or tune without a recipe"
            )
        return tune_by_recipe(
            options, metric_options, weights=weights, texts=texts, display=display, tell=tell,
            warn=warn,
        )  # fmt: skip
    assert options.tuner is not None, "see TuneOptions.check"
    tuner_name = options.tuner

    make_tuner = partial(registry.create, "tuner", tuner_name, tuner_options)
    tuner = make_tuner()
    metric = registry.create("metric", options.metric, metric_options)
    if not tuner.takes_lists:
        options.check_forests()
    inputs = tuning_input(
        options,
        k=options.kbest or tuner.kbest,
        learners=getattr(tuner, "learners", 1),
        weights=weights,
        texts=texts,
        warn=warn,
    )
    data = inputs.read(options.sources, options.refs)
    heldout = inputs.read([options.heldout], options.heldout_refs) if options.heldout else None
    training = inputs.read([options.train[0]], options.train[1:]) if options.train else None
    training_options = TrainingOptions(**part_of(TrainingOptions, options))
    if training is not None and options.leave_out:
        training = inputs.without_own_rules(training)
    if training is not None and options.folds:
        training = inputs.in_folds(training, options.train[0])
    elif options.folds:
        training = inputs.own_text()
    if training is not None and options.align is not None:
        training = inputs.aligned(training, options.align)
    if training is not None and options.with_dev:
        training = training.joined(data)
    threads = options.threads or all_cores()
    changed = training_options.given()
    config = {
        "tuner": {"name": tuner_name, **to_mapping(tuner)},
        "metric": {"name": options.metric, **to_mapping(metric)},
        **_config(options, inputs),
        **({"training": changed} if changed else {}),
        "resources": {"threads": threads},
    }
    loop: Any = registry.get("loop", tuner.loop)

    def make_loop(
        executor: Executor, directory: RunDirectory, loop_options: LoopOptions
    ) -> BaseLoop:
        new_loop: BaseLoop = loop.make(
            make_tuner,
            training=training,
            training_options=training_options,
            decoder=inputs.decoder,
            metric=metric,
            data=data,
            start=inputs.weights,
            directory=directory,
            options=loop_options,
            heldout=heldout,
            threads=threads,
            executor=executor,
            source=inputs.source,
            display=display,
            tell=tell,
            warn=warn,
        )
        return new_loop

    with (
        options.executor(threads, plugins=options.plugin, tell=tell) as executor,
        inputs.running,
    ):
        tune_runs(
            partial(make_loop, executor),
            options.output,
            config,
            LoopOptions(**part_of(LoopOptions, options)),
            runs=options.runs,
            resume=options.resume,
            tell=tell,
        )
    run = Run(options.output)
    if isinstance(inputs.decoder, ExternalDecoder) and run.finished:
        path = inputs.decoder.write_config(options.output, run.weights)
        if path is not None:
            tell(f"wrote {path}, the decoder's moses.ini with the tuned weights")
    return run


def _config(options: TuneOptions, inputs: TuningInput) -> dict[str, Any]:
    """The record that makes the run repeatable: system, digests of the files, and their paths."""
    plugins = [digest_of(path) for path in options.plugin]
    files: dict[str, list[Path]] = {"dev": options.sources, "refs": options.refs}
    if options.heldout is not None:
        files |= {"heldout": [options.heldout], "heldout_refs": options.heldout_refs}
    if options.train:
        files["train"] = options.train
    elif options.folds:
        assert inputs.model is not None
        files["train"] = text_files(inputs.model)
    if options.align is not None:
        files["align"] = [options.align]
    places: dict[str, Any] = {
        key: [str(path) for path in paths]
        for key, paths in files.items()
        if not any(path in inputs.texts for path in paths)
    }
    for key in ("model", "weights"):
        if getattr(options, key) is not None:
            places[key] = str(getattr(options, key))
    contents = {key: [inputs.digests[path] for path in paths] for key, paths in files.items()}
    return {
        "system": {
            "tokenized": options.tokenized,
            **inputs.config,
            **({"plugins": plugins} if plugins else {}),
        },
        "contents": {**contents, "start_weights": digest_of_weights(inputs.weights)},
        "files": places,
    }
