"""Reachability of a bitext by forced decoding: table 3 and figures 6 and 7.  [yu2013]

    reachability = Reachability()
    for reached in reach_all(decoder, pairs, ForcedOptions(), others={0: monotone}):
        reachability.add(reached)
    reachability.report()

Takes sentence pairs and decoders that differ in their distortion limits, and returns the number of
pairs with a derivation, the number with at least a prefix that has one, and both by sentence length
and by distortion limit; and the mean number of derivations by sentence length. Lengths are in
source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from hopefear._engine import Forest
from hopefear.base.executor import Executor, Folder, Job, Resources, Threads
from hopefear.base.weights import Weights
from hopefear.decode.contract import MAX_STATES, Sentence, Tokens
from hopefear.decode.forced import SHORTEST_PREFIX, Gold, force
from hopefear.decode.phrase import PhraseDecoder
from hopefear.decode.source import DecoderSource, LocalDecoder
from hopefear.forest import ForestBuilder, forest_from_bytes, forest_to_bytes, log_partition

WIDTH = 5  # width of a bin of sentence lengths: 1-5, 6-10, …
UNLIMITED_WORDS = 30  # section 5.2: only sentences of up to 30 words without a distortion limit


@dataclass(frozen=True, kw_only=True)
class ForcedOptions:
    """Arguments of `force` for a whole bitext."""

    prefix: bool = True
    shortest_prefix: int = SHORTEST_PREFIX
    max_states: int = MAX_STATES
    table_limit: int = 0
    weights: Weights | None = None
    leave_out: bool = False


@dataclass(frozen=True)
class Reached:
    """The result of forced decoding of a sentence pair."""

    words: int  # of the source
    gold: Gold
    derivations: float  # of the pair or its longest prefix; inf beyond 10^308
    by_limit: Mapping[int, bool | None]  # distortion limit -> reachable; None: not tried
    gave_up: frozenset[int] = frozenset()  # distortion limits where search hit the state limit

    @property
    def kind(self) -> str:
        """`full`, `prefix`, `limit` (search gave up) or `none`."""
        if self.gold.reachable:
            return "full"
        if self.gold:
            return "prefix"
        return "limit" if self.gold.limit_hit else "none"


def derivations(forest: Forest) -> float:
    """The number of derivations of a forest; inf beyond 10^308."""
    log = log_partition(forest, scores=np.zeros(forest.edges)) if forest.edges else -math.inf
    return math.exp(log) if log < 709 else math.inf


def reach(
    decoder: PhraseDecoder,
    others: Mapping[int, PhraseDecoder],
    sentence: Sentence | Tokens,
    targets: Sequence[Tokens],
    options: ForcedOptions,
) -> Reached:
    """Decode one pair, forced; `others`: decoders with other distortion limits, by limit."""
    sentence = Sentence.of(sentence)
    gold = force(decoder, sentence, *targets, **vars(options))
    own = decoder.options.distortion_limit
    words = len(sentence.words)
    by_limit: dict[int, bool | None] = {}
    gave_up = {own} if gold.limit_hit else set()
    reachable = False
    # A pair reachable under a narrow limit is reachable under a wider one.
    for limit in sorted({own, *others}, key=lambda limit: math.inf if limit < 0 else limit):
        if limit == own:
            reachable |= gold.reachable
            by_limit[limit] = reachable
        elif limit < 0 and words > UNLIMITED_WORDS:
            by_limit[limit] = None
        else:
            if not reachable:
                arguments = {**vars(options), "prefix": False}
                other = force(others[limit], sentence, *targets, **arguments)
                reachable = other.reachable
                if other.limit_hit:
                    gave_up.add(limit)
            by_limit[limit] = reachable
    return Reached(words, gold, derivations(gold.forest), by_limit, frozenset(gave_up))


@dataclass
class ReachJob(Job[tuple[Sentence, Sequence[Tokens]], Any]):
    """`reach` of sentence pairs. Results are `Reached`, packed if they are for another process."""

    source: DecoderSource
    others: Mapping[int, DecoderSource]
    options: ForcedOptions
    forests: bool  # whether the derivations themselves are needed

    def files(self) -> Iterable[Path | Folder]:
        return self.source.files()

    def open(self, resources: Resources) -> Callable[[tuple[Sentence, Sequence[Tokens]]], Any]:
        decoder = cast("PhraseDecoder", self.source.open(resources))
        others = {
            limit: cast("PhraseDecoder", source.open(resources))
            for limit, source in self.others.items()
        }

        def result(pair: tuple[Sentence, Sequence[Tokens]]) -> Any:
            reached = reach(decoder, others, pair[0], pair[1], self.options)
            if not resources.remote:
                return reached
            forest = reached.gold.forest
            kept = forest if self.forests else ForestBuilder().finish(id=forest.id)
            return _with_forest(reached, forest_to_bytes(kept))

        return result


def reach_all(
    decoder: PhraseDecoder,
    pairs: Iterable[tuple[Sentence, Sequence[Tokens]]],
    options: ForcedOptions,
    *,
    others: Mapping[int, PhraseDecoder] | None = None,
    executor: Executor | None = None,
    sources: tuple[DecoderSource, Mapping[int, DecoderSource]] | None = None,
    forests: bool = True,
) -> Iterator[Reached]:
    """Yield `reach` of each pair in order; pairs are read as they are needed.

    `executor`: decodes, by default on one thread; `sources`: of the decoder and the others, for
    other processes; `forests`: whether the derivations themselves are needed.
    """
    executor = executor or Threads(1)
    if sources is None or not executor.remote:
        sources = (
            LocalDecoder(decoder),
            {limit: LocalDecoder(other) for limit, other in (others or {}).items()},
        )
    for result in executor.map(ReachJob(*sources, options, forests), pairs):
        if not executor.remote:
            yield result
            continue
        yield _with_forest(result, forest_from_bytes(result.gold.forest, decoder.names))


def _with_forest(reached: Reached, forest: Any) -> Reached:
    return replace(reached, gold=replace(reached.gold, forest=forest))


@dataclass
class _LengthBin:
    """Counts of the sentences of similar length."""

    sentences: int = 0
    reachable: int = 0
    derivations: float = 0.0
    tried: dict[int, int] = field(default_factory=dict)  # by distortion limit
    reached: dict[int, int] = field(default_factory=dict)


class Reachability:
    """Counts of forced decoding over many pairs."""

    def __init__(self) -> None:
        self.sentences = self.words = self.states = self.limit_hits = 0
        self.reachable_sentences = self.reachable_words = 0
        self.prefix_sentences = self.prefix_words = 0
        self._gave_up: dict[int, int] = {}  # by distortion limit
        self._bins: dict[int, _LengthBin] = {}

    def add(self, pair: Reached) -> None:
        """Count a pair."""
        gold = pair.gold
        self.sentences += 1
        self.words += pair.words
        self.states += gold.states
        self.limit_hits += gold.limit_hit
        if gold.reachable:
            self.reachable_sentences += 1
            self.reachable_words += pair.words
        elif gold:
            self.prefix_sentences += 1
            self.prefix_words += gold.source_words
        bin = self._bins.setdefault(max(0, pair.words - 1) // WIDTH, _LengthBin())
        bin.sentences += 1
        if gold.reachable:
            bin.reachable += 1
            bin.derivations += pair.derivations
        for limit, reached in pair.by_limit.items():
            self._gave_up[limit] = self._gave_up.get(limit, 0) + (limit in pair.gave_up)
            if reached is not None:
                bin.tried[limit] = bin.tried.get(limit, 0) + 1
                bin.reached[limit] = bin.reached.get(limit, 0) + reached

    def report(self) -> dict[str, Any]:
        """The counts as a mapping.

        `prefix_*` count the pairs that are not reachable as a whole, with their longest prefix.
        """
        return {
            "sentences": self.sentences,
            "words": self.words,
            "reachable_sentences": self.reachable_sentences,
            "reachable_words": self.reachable_words,
            "prefix_sentences": self.prefix_sentences,
            "prefix_words": self.prefix_words,
            "limit_hits": self.limit_hits,
            "limit_hits_by_limit": {str(limit): n for limit, n in self._gave_up.items()},
            "states": self.states,
            "lengths": [
                {
                    "from": WIDTH * number + 1,
                    "to": WIDTH * (number + 1),
                    "sentences": bin.sentences,
                    "reachable_sentences": bin.reachable,
                    "derivations": bin.derivations / bin.reachable if bin.reachable else None,
                    "by_limit": {
                        str(limit): bin.reached[limit] / bin.tried[limit] for limit in bin.tried
                    },
                }
                for number, bin in sorted(self._bins.items())
            ],
        }


def shares(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Table 3: shares of the sentences and of the words.

    `full`: with a derivation; `+prefix`: with a derivation of the pair or of a prefix.
    """
    sentences, words = max(1, report["sentences"]), max(1, report["words"])
    full = report["reachable_sentences"], report["reachable_words"]
    either = full[0] + report["prefix_sentences"], full[1] + report["prefix_words"]
    return {
        "full": (full[0] / sentences, full[1] / words),
        "+prefix": (either[0] / sentences, either[1] / words),
    }
