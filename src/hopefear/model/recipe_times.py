"""How long a recipe will take: measured on a sample, said before the first step.

Takes the options of the steps that are left and decodes some sentences of the development set as
each step will. The time of a step is the time for a word times the words that it will decode, with
a factor for learning, which was measured for each tuner (Multi30k fr-en, Bible zh-en).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hopefear.base import registry
from hopefear.base.progress import duration
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.decode.contract import Request, Sentence
from hopefear.model.adding_folds import seconds_of_folds
from hopefear.model.directory import Model
from hopefear.model.folds import text_files
from hopefear.model.tune_options import TuneOptions
from hopefear.model.tuning_input import tuning_input
from hopefear.text.lines import read_parallel

#: Sentences that are decoded for the estimate.
SAMPLE = 20
#: The time of learning and decoding together as a multiple of that of decoding.
LEARNING = {"mert": 2.0, "mira": 1.3, "batch-mira": 1.5}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class _Speed:
    """Decoding of the development set: seconds for a word on one thread or all, and its words."""

    seconds: float  # of a word, one sentence at a time
    parallel: float  # of a word, on all threads
    words: int


def announce(
    steps: Sequence[tuple[str, str, TuneOptions]],
    title: str,
    model: Model,
    *,
    weights: Weights,
    texts: Mapping[Path, Sequence[str]],
    tell: Tell,
) -> None:
    """Say which steps follow, each with its name and purpose, and how long they will take."""
    if not steps:
        return
    speeds: dict[bool, _Speed] = {}
    rows = []
    if not model.folds and any(options.folds for _, _, options in steps):
        seconds = seconds_of_folds(model)
        rows.append(("folds", "rules and language models without a part of the text", seconds))
    for name, purpose, options in steps:
        sparse = options.templates is not None
        if sparse not in speeds:
            speeds[sparse] = _measure(options, weights, texts)
        rows.append((name, purpose, _seconds(options, speeds[sparse], model, texts)))
    total = sum(seconds for *_, seconds in rows)
    tell(f"{title}: {len(steps)} step{'s' * (len(steps) > 1)}, about {duration(total)}")
    for name, purpose, seconds in rows:
        tell(f"  {name}: {purpose}, about {duration(seconds)}")


def _measure(options: TuneOptions, weights: Weights, texts: Mapping[Path, Sequence[str]]) -> _Speed:
    """Decode some sentences of the development set, as many short and long ones as it has."""
    first = replace(options, weights=None, folds=False)
    inputs = tuning_input(
        first, k=100, learners=1, weights=weights, texts=texts,
        warn=_silent,
    )  # fmt: skip
    data = inputs.read(options.sources, options.refs)
    sentences = [Sentence.of(sentence) for sentence in data.sentences]
    words = sum(len(sentence.words) for sentence in sentences)
    chosen = sentences[:: max(1, len(sentences) // SAMPLE)]
    collapse = options.templates is not None and "collapse" in inputs.decoder.can
    sample = max(1, sum(len(sentence.words) for sentence in chosen))

    def seconds(threads: int) -> float:
        requests = [
            Request(s, inputs.weights, sparse="collapsed" if collapse else "full") for s in chosen
        ]
        start = time.monotonic()
        for _ in inputs.decoder.decode_all(requests, threads=threads):
            pass
        return (time.monotonic() - start) / sample

    seconds(1)  # reads the files
    threads = options.threads or all_cores()
    alone = seconds(1)
    return _Speed(alone, seconds(threads) if threads > 1 else alone, words)


def _seconds(
    options: TuneOptions, speed: _Speed, model: Model, texts: Mapping[Path, Sequence[str]]
) -> float:
    """The expected seconds of a step."""
    assert options.tuner is not None
    factor = LEARNING[options.tuner]
    judging = (options.iterations + 1) * speed.words * speed.parallel
    tuner: Any = registry.get("tuner", options.tuner)
    if tuner.loop != "online":
        return judging * factor
    passes = options.iterations * _training_words(options, model, texts) * speed.seconds
    return judging + passes * factor


def _training_words(
    options: TuneOptions, model: Model, texts: Mapping[Path, Sequence[str]]
) -> float:
    """The source words that a pass will decode."""
    path = options.train[0] if options.train else text_files(model)[0]
    lengths = [len(line.split()) for (line,) in read_parallel([path], texts)]
    share = min(1.0, (options.max_examples or len(lengths)) / max(1, len(lengths)))
    return sum(lengths) * share


def _silent(text: str) -> None:
    """Ignore a message."""
