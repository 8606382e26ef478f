"""The one place where studies call Hopefear: its Python API, each call in a process of its own.

So a study is stopped when its time is over, and two calls go on at a time. What varies from row to
row is written as on a command line (`--kbest 100`, `stretch=4`): a run's folder is named by it.

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
Report = dict[str, Any]


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


@dataclass(kw_only=True)
class Calls:
    """The clock, and what is called before the time is over."""

    minutes: float = 40.0
    began: float = field(default_factory=time.monotonic)

    def call(
        self,
        work: Callable[..., Any],
        what: Path,
        *more: Any,
        log: Path | None = None,
        **named: Any,
    ) -> Any:
        """What one of the functions below gives; it is stopped when the time is over."""
        passed = time.monotonic() - self.began
        left = 60 * self.minutes - passed
        if left <= 0:
            raise OutOfTimeError
        print(f"{passed / 60:5.1f} min  {work.__name__} {what}", flush=True)
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(sender, log, work, (what, *more), named))
        process.start()
        sender.close()
        try:
            if not receiver.poll(left):
                raise OutOfTimeError
            done, answer = receiver.recv()
        except EOFError:
            process.join()
            done, answer = False, f"ended with {process.exitcode}"
        finally:
            process.terminate()
            process.join()
        if not done:
            raise RuntimeError(f"{work.__name__} {what}: {answer}")
        return answer


def _child(
    sender: Connection, log: Path | None, work: Callable[..., Any], given: Any, named: Any
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    with Path(log or os.devnull).open("a", encoding="utf-8") as file, redirect_stderr(file):
        try:
            sender.send((True, work(*given, **named)))
        except Exception:
            sender.send((False, traceback.format_exc()))


def _end_with_parent() -> None:
    """A study that was killed leaves no run behind that is still being written."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(cls: type, corpus: Corpus, words: Words) -> dict[str, Any]:
    """Keywords of the API from words of a command line."""
    parser = argparse.ArgumentParser()
    config.add_arguments(parser, cls)
    given = parser.parse_args([str(word) for word in words])
    return {"tokenized": corpus.tokenized, "display": "off", **vars(given)}


# -- what is called --


def train(
    model: Path, corpus: Corpus, files: Sequence[Path], system: str, words: Words = (), **more: Any
) -> None:
    """Make a model of SRC TGT [ALIGN]."""
    source, target, *align = files
    given = {"system": system, **_options(TrainOptions, corpus, words), **more}
    hopefear.train(source, target, model=model, align=align[0] if align else None, **given)


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
    """Make a run, or go on with one that was stopped; its report."""
    metric = [pair for pair in pairs if pair.startswith("metric.")]
    own = [pair for pair in pairs if pair not in metric]
    plain = [pair.removeprefix("metric.") for pair in metric]
    return hopefear.tune(
        model, dev=dev[0], refs=dev[1:], tuner=tuner, output=run, resume=run.exists(), tell=_tell,
        tuner_options=config.parse_pairs(registry.get("tuner", tuner), own),
        metric_options=config.parse_pairs(registry.get("metric", "bleu"), plain),
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
    given = {"threads": threads, **_options(TranslationOptions, corpus, words)}
    hopefear.translate(model, source, weights=weights, **given).save(output)


def forced(
    model: Path,
    corpus: Corpus,
    files: Sequence[Path],
    options: Mapping[str, Any] | None = None,
    weights: Path | None = None,
    **more: Any,
) -> Report:
    """The report of forced decoding; `options` are of `ForcedOptions`."""
    loaded, given = hopefear.Model.load(model), dict(options or {})
    if "table_limit" in given:
        given["weights"] = loaded.weights(weights, warn=_tell)
    texts = files[0], files[1:]
    return force_bitext(loaded, *texts, ForcedOptions(**given), tokenized=corpus.tokenized, **more)
