"""Training examples of online tuners: sentences, references, and gold forests.  [yu2013]

Takes a set of sentences with references (a bitext, or the development set itself) and a decoder
that offers gold derivations. Returns `TrainingExamples`, the sentence pairs that have a derivation,
each with all of its derivations; a sentence with several references gives several pairs. A pair
without derivation is left out, or (`prefixes`) replaced by its longest prefix that has one.

Gold forests do not depend on weights. They are computed once and stored in the folder of the run's
pool, where a resumed run loads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hopefear._engine import Forest
from hopefear.base.errors import InputError
from hopefear.base.executor import Executor, Folder, Job, Resources, Threads
from hopefear.base.files import write_text
from hopefear.base.weights import Weights
from hopefear.decode.contract import (
    MAX_STATES,
    Decoder,
    GoldOptions,
    GoldPair,
    Request,
    Sentence,
    Tokens,
)
from hopefear.decode.source import DecoderSource, LocalDecoder
from hopefear.forest import ForestFile, forest_from_bytes, forest_to_bytes, save_pool
from hopefear.learn.loop.base import is_empty, word_count
from hopefear.learn.loop.judge import TuningSet
from hopefear.learn.loop.options import TrainingOptions
from hopefear.learn.pool.arrays import damaged

FORESTS = "gold.bin"
PAIRS = "gold.json"  # written last
GOLD_FILES = (FORESTS, PAIRS)


@dataclass(frozen=True)
class TrainingExamples:
    """Training examples before decoding; `gold` and `complete` as in `tuner.Example`."""

    sentences: Sequence[Sentence | Tokens]
    references: Sequence[Sequence[str]]
    gold: Sequence[Forest] | None = None
    complete: Sequence[bool] = ()
    statistics: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, data: TuningSet) -> TrainingExamples:
        """Take a set of sentences and return them as examples without gold forests."""
        return cls(data.sentences, data.references)


class _Pair(NamedTuple):
    """A line of gold.json: a sentence pair that has derivations, or its prefix."""

    sentence: int
    source_words: int
    target: str
    complete: bool


class _Forced(NamedTuple):
    """The answer for a pair: the forest, packed for another process if need be, and the pair."""

    forest: Any  # None without a derivation
    pair: GoldPair


@dataclass
class GoldJob(Job[tuple[Sentence | Tokens, str], _Forced]):
    """Forced decoding of sentence pairs; items are the pairs."""

    source: DecoderSource
    weights: Weights
    gold: GoldOptions
    named: bool

    def files(self) -> Iterable[Path | Folder]:
        return self.source.files()

    def open(self, resources: Resources) -> Callable[[tuple[Sentence | Tokens, str]], _Forced]:
        decoder = self.source.open(resources)

        def force(item: tuple[Sentence | Tokens, str]) -> _Forced:
            sentence, text = item
            request = Request(sentence, self.weights, text, named=self.named, gold=self.gold)
            decoded = decoder.decode(request)
            assert decoded.gold is not None, "the request has a target"
            if not decoded.forest.nodes:
                return _Forced(None, decoded.gold)
            if not resources.remote:
                return _Forced(decoded.forest, decoded.gold)
            return _Forced(forest_to_bytes(decoded.forest), decoded.gold)

        return force


def reachable(
    decoder: Decoder,
    data: TuningSet,
    folder: Path,
    options: TrainingOptions,
    weights: Weights,
    *,
    seed: int,
    named: bool = True,
    executor: Executor | None = None,
    source: DecoderSource | None = None,
    advance: Callable[[], None] = lambda: None,
) -> TrainingExamples:
    """Return the pairs with a derivation, in random order; load them from the folder if possible.

    `weights` rank the phrases of the table if forced decoding is limited to the best; `named` as in
    `Request`.
    """
    if not (folder / PAIRS).is_file():
        gold = GoldOptions(
            prefixes=options.prefixes,
            max_states=options.max_states or MAX_STATES,
            table_limit=options.gold_phrases or 0,
        )
        job = GoldJob(source or LocalDecoder(decoder), weights, gold, named)
        _select(decoder, data, folder, options, seed, job, executor or Threads(), advance)
    try:
        state = json.loads((folder / PAIRS).read_text(encoding="utf-8"))
        kept = [_Pair(*line) for line in state["pairs"]]
        statistics = {str(name): int(count) for name, count in state["statistics"].items()}
        sources = [data.sentences[pair.sentence] for pair in kept]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise damaged(folder / PAIRS, "a list of pairs", error) from None
    forests = ForestFile(folder / FORESTS)
    # A step may have features that no beam of this process has.
    decoder.names.add(forests.names)
    return TrainingExamples(
        [
            source if pair.complete else decoder.tagged(source).prefix(pair.source_words)
            for source, pair in zip(sources, kept, strict=True)
        ],
        [[pair.target] for pair in kept],
        forests,
        [pair.complete for pair in kept],
        statistics,
    )


def _select(
    decoder: Decoder,
    data: TuningSet,
    folder: Path,
    options: TrainingOptions,
    seed: int,
    job: GoldJob,
    executor: Executor,
    advance: Callable[[], None],
) -> None:
    pairs = [
        (number, text)
        for number, texts in enumerate(data.references)
        for text in texts
        if text and not is_empty(data.sentences[number])
    ]
    order = np.random.default_rng([seed]).permutation(len(pairs)).tolist()
    limit = len(pairs) if options.max_examples is None else options.max_examples
    kept: list[_Pair] = []
    statistics = dict.fromkeys(
        ("pairs", "pair_words", "examples", "words", "prefixes", "gave_up"), 0
    )

    def forests() -> Iterator[Forest]:
        items = ((data.sentences[pairs[at][0]], pairs[at][1]) for at in order)
        for at, forced in zip(order, executor.map(job, items), strict=True):
            number, pair = pairs[at][0], forced.pair
            advance()
            statistics["pairs"] += 1
            statistics["pair_words"] += word_count(data.sentences[number])
            statistics["gave_up"] += pair.gave_up
            if forced.forest is None:
                continue
            kept.append(_Pair(number, word_count(pair.sentence), pair.target, pair.complete))
            statistics["examples"] += 1
            statistics["words"] += kept[-1].source_words
            statistics["prefixes"] += not pair.complete
            if executor.remote:
                yield forest_from_bytes(forced.forest, decoder.names)
            else:
                yield forced.forest
            if len(kept) == limit:
                return

    save_pool(folder / FORESTS, forests())
    if not kept:
        prefixes = "give --prefixes 5, " if options.prefixes is None else ""
        raise InputError(
            f"none of {len(pairs)} sentence pairs has a derivation; raise --distortion-limit, "
            f"{prefixes}or give --train with the text that the rules were extracted from"
        )
    with write_text(folder / PAIRS) as file:
        json.dump({"statistics": statistics, "pairs": kept}, file)


def sample(data: TuningSet, size: int | None, seed: int) -> TuningSet:
    """Return a random sample of at most `size` sentences, in their original order."""
    count = len(data.sentences)
    if size is None or size >= count:
        return data
    kept = np.sort(np.random.default_rng([seed]).choice(count, size, replace=False)).tolist()
    return TuningSet([data.sentences[n] for n in kept], [data.references[n] for n in kept])


def describe(statistics: dict[str, int]) -> str:
    """Return a line about the numbers of pairs and words."""
    parts = [
        f"learns from {statistics['examples']:,} of {statistics['pairs']:,} sentence pairs, "
        f"{statistics['words']:,} of {statistics['pair_words']:,} source words"
    ]
    if statistics["prefixes"]:
        parts.append(f"{statistics['prefixes']:,} are prefixes")
    if statistics["gave_up"]:
        parts.append(f"{statistics['gave_up']:,} had too many states")
    return "; ".join(parts)
