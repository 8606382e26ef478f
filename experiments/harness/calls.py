"""The one place where studies call Hopefear: its Python API, each call in a process of its own.

So a study is stopped when its time is over, and two calls go on at a time. What varies from row to
row is written as on a command line (`--kbest 100`, `stretch=4`): a run's folder is named by it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import hopefear
from harness.corpora import Corpus
from hopefear.analysis.forced import ForcedOptions, force_bitext
from hopefear.base import config, registry
from hopefear.model.train_options import TrainOptions
from hopefear.model.translations import TranslationOptions
from hopefear.model.tune_options import TuneOptions

Words = Sequence[str | Path | int]


class OutOfTimeError(Exception):
    """The minutes are over; what is finished stays."""


@dataclass(kw_only=True)
class Calls:
    """Hopefear, and the clock."""

    minutes: float = 40.0
    jobs: int = 2
    began: float = field(default_factory=time.monotonic)

    def train(
        self, corpus: Corpus, files: Sequence[Path], model: Path, system: str, words: Words = ()
    ) -> dict[str, Any]:
        """A model of SRC TGT [ALIGN]; what is known of it."""
        source, target, *align = files
        given = {"align": align[0]} if align else {}
        given |= {"system": system, "threads": self.jobs, **_options(TrainOptions, words)}
        return self._call(
            _train, model, source, target, model=model, tokenized=corpus.tokenized, **given
        )

    def tune(
        self,
        corpus: Corpus,
        model: Path,
        dev: Sequence[Path],
        run: Path,
        tuner: str,
        words: Words = (),
        pairs: Sequence[str] = (),
        *,
        log: Path | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The report of a run; it goes on where it was stopped."""
        own = [pair for pair in pairs if not pair.startswith("metric.")]
        metric = [pair.removeprefix("metric.") for pair in pairs if pair not in own]
        return self._call(
            _tune, run, model, dev=dev[0], refs=dev[1:], tuner=tuner, output=run, log=log,
            tuner_options=config.parse_pairs(registry.get("tuner", tuner), own),
            metric_options=config.parse_pairs(registry.get("metric", "bleu"), metric),
            resume=run.exists(), tokenized=corpus.tokenized,
            **{**_options(TuneOptions, words), **options},
        )  # fmt: skip

    def translate(
        self,
        corpus: Corpus,
        model: Path,
        weights: Path,
        source: Path,
        output: Path,
        words: Words = (),
        threads: int = 1,
    ) -> None:
        """A file of translations."""
        self._call(
            _translate, output, model, source, output, weights=weights, threads=threads,
            tokenized=corpus.tokenized, **_options(TranslationOptions, words),
        )  # fmt: skip

    def forced(
        self, corpus: Corpus, model: Path, files: Sequence[Path], **options: Any
    ) -> dict[str, Any]:
        """The report of forced decoding."""
        return self._call(
            _forced, files[0], model, files[0], files[1:], tokenized=corpus.tokenized, **options
        )

    def _call(
        self, work: Callable[..., Any], what: Path, *args: Any, log: Path | None = None, **more: Any
    ) -> Any:
        """What a function gives in a new process, which is stopped when the time is over."""
        passed = time.monotonic() - self.began
        left = 60 * self.minutes - passed
        if left <= 0:
            raise OutOfTimeError
        print(f"{passed / 60:5.1f} min  {work.__name__[1:]} {what}", flush=True)
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(sender, log, work, args, more))
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
            raise RuntimeError(f"{work.__name__[1:]} {what}: {answer}")
        return answer


def _options(cls: type, words: Words) -> dict[str, Any]:
    """Keywords of the API from words of a command line."""
    parser = argparse.ArgumentParser()
    config.add_arguments(parser, cls)
    return vars(parser.parse_args([str(word) for word in words]))


# -- in a process of its own --


def _child(sender: Connection, log: Path | None, work: Callable[..., Any], *given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's affair
    args, options = given
    with Path(log or os.devnull).open("a", encoding="utf-8") as file, redirect_stderr(file):
        try:
            sender.send((True, work(*args, **options)))
        except Exception:
            sender.send((False, traceback.format_exc()))


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _train(source: Path, target: Path, **options: Any) -> dict[str, Any]:
    model = hopefear.train(source, target, display="off", tell=_tell, **options)
    return {"model": str(model.directory)}


def _tune(model: Path, **options: Any) -> dict[str, Any]:
    return hopefear.tune(model, display="off", tell=_tell, **options).report()


def _translate(model: Path, source: Path, output: Path, **options: Any) -> None:
    hopefear.translate(model, source, display="off", **options).save(output)


def _forced(
    model: Path,
    source: Path,
    targets: Sequence[Path],
    *,
    weights: Path | None = None,
    table_limit: int = 0,
    leave_out: bool = False,
    max_states: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    loaded = hopefear.Model.load(model)
    given: dict[str, Any] = {"max_states": max_states} if max_states else {}
    if table_limit:
        given["weights"] = loaded.weights(weights, warn=_tell)
    forced = ForcedOptions(table_limit=table_limit, leave_out=leave_out, **given)
    return force_bitext(loaded, source, targets, forced, warn=_tell, **options)
