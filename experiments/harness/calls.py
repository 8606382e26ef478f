"""Calls of Hopefear's Python API, each in its own process.

So a call can be stopped when the time is over, and two calls can run in parallel. Options that vary
from row to row are written as on a command line (`--kbest 100`, `stretch=4`), because the name of a
run's folder depends on them.

    calls = Calls(minutes=40)
    calls.call(train, model, corpus, files, "phrase", ["--order", 3])
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

import hopefear
from harness.corpora import Corpus
from hopefear.analysis.forced import ForcedOptions, force_bitext
from hopefear.base import config, registry
from hopefear.model.train_options import TrainOptions
from hopefear.model.translations import TranslationOptions
from hopefear.model.tune_options import TuneOptions

Words = Sequence[str | Path | int]
RECIPE = "recipe "  # before the name of a recipe, where a tuner's is expected
Report = dict[str, Any]


class OutOfTimeError(Exception):
    """The time is over; finished runs stay."""


@dataclass(kw_only=True)
class Calls:
    """Calls of functions until the time is over."""

    minutes: float = 40.0
    began: float = field(default_factory=time.monotonic)

    def minutes_left(self) -> float:
        """Returns the minutes until the time is over."""
        return self.minutes - (time.monotonic() - self.began) / 60

    def call(
        self,
        function: Callable[..., Any],
        path: Path,
        *arguments: Any,
        log: Path | None = None,
        **keywords: Any,
    ) -> Any:
        """Takes a function and its arguments; returns its result.

        The process is stopped when the time is over; `log` receives its standard error.
        """
        passed = time.monotonic() - self.began
        left = 60 * self.minutes_left()
        if left <= 0:
            raise OutOfTimeError
        print(f"{passed / 60:5.1f} min  {function.__name__} {path}", flush=True)
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_child, args=(sender, log, function, (path, *arguments), keywords)
        )
        process.start()
        sender.close()
        try:
            if not receiver.poll(left):
                raise OutOfTimeError
            succeeded, answer = receiver.recv()
        except EOFError:
            process.join()
            succeeded, answer = False, f"ended with exit code {process.exitcode}"
        finally:
            process.terminate()
            process.join()
        if not succeeded:
            raise RuntimeError(f"{function.__name__} {path}: {answer}")
        return answer


def _child(
    sender: Connection,
    log: Path | None,
    function: Callable[..., Any],
    arguments: Any,
    keywords: Any,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    with Path(log or os.devnull).open("a", encoding="utf-8") as file, redirect_stderr(file):
        try:
            sender.send((True, function(*arguments, **keywords)))
        except Exception:
            sender.send((False, traceback.format_exc()))


def _end_with_parent() -> None:
    """End this process when the study is killed, so that no run is still written."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _print_message(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(cls: type, corpus: Corpus, words: Words) -> dict[str, Any]:
    """Takes words of a command line; returns keywords of the API."""
    parser = argparse.ArgumentParser()
    config.add_arguments(parser, cls)
    options = parser.parse_args([str(word) for word in words])
    return {"tokenized": corpus.tokenized, "display": "off", **vars(options)}


# -- functions to call --


def train(
    model: Path, corpus: Corpus, files: Sequence[Path], system: str, words: Words = (), **more: Any
) -> None:
    """Train a model on source, target and optionally alignment files."""
    source, target, *align = files
    options = {"system": system, "align": align[0] if align else None}
    options |= {**_options(TrainOptions, corpus, words), **more}
    hopefear.train(source, target, model=model, **options)


def tune(
    run: Path,
    corpus: Corpus,
    model: Path,
    dev: Sequence[Path],
    tuner: str,
    words: Words = (),
    pairs: Sequence[str] = (),
    **more: Any,
) -> Report:
    """Make a run, or resume it; returns its report. `pairs` are KEY=VALUE options of the tuner.

    A tuner `recipe NAME` is a recipe instead.
    """
    metric = [pair.removeprefix("metric.") for pair in pairs if pair.startswith("metric.")]
    own = [pair for pair in pairs if not pair.startswith("metric.")]
    if tuner.startswith(RECIPE):
        more = {**more, "recipe": tuner.removeprefix(RECIPE)}
        del more["iterations"]  # its steps have their own
    else:
        cls = registry.get("tuner", tuner)
        more = {**more, "tuner": tuner, "tuner_options": config.parse_pairs(cls, own)}
    return hopefear.tune(
        model, dev=dev[0], refs=dev[1:], output=run, resume=run.exists(),
        tell=_print_message,
        metric_options=config.parse_pairs(registry.get("metric", "bleu"), metric),
        **{**_options(TuneOptions, corpus, words), **more},
    ).report()  # fmt: skip


def translate(
    output: Path,
    corpus: Corpus,
    model: Path,
    weights: Path,
    source: Path,
    words: Words = (),
    threads: int = 1,
) -> None:
    """Translate a file with a model and weights; writes the output file."""
    options = {"threads": threads, **_options(TranslationOptions, corpus, words)}
    hopefear.translate(model, source, weights=weights, **options).save(output)


def forced(
    model: Path,
    corpus: Corpus,
    files: Sequence[Path],
    options: Mapping[str, Any] | None = None,
    weights: Path | None = None,
    **more: Any,
) -> Report:
    """Returns the report of forced decoding; `options` are fields of `ForcedOptions`."""
    loaded, fields = hopefear.Model.load(model), dict(options or {})
    if "table_limit" in fields:
        fields["weights"] = loaded.weights(weights, warn=_print_message)
    texts = files[0], files[1:]
    return force_bitext(loaded, *texts, ForcedOptions(**fields), tokenized=corpus.tokenized, **more)
