"""How much of a bitext forced decoding reaches: table 3 and figures 6 and 7.  [yu2013]

    found = Reachability()
    for pair in reach_all(decoder, pairs, ForcedOptions(), others={0: monotone}, threads=2):
        found.add(pair)
    found.report()

Goes in: sentence pairs and decoders that differ in their distortion limits. Comes out: how many
pairs have a derivation, how many have at least a prefix with one, and the same by sentence length
and by distortion limit; the mean number of derivations by sentence length. Words are source words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopefear._engine import Forest
from hopefear.base.threads import in_order
from hopefear.base.weights import Weights
from hopefear.decode.contract import MAX_STATES, Sentence, Tokens
from hopefear.decode.forced import SHORTEST_PREFIX, Gold, force
from hopefear.decode.phrase import PhraseDecoder
from hopefear.forest import log_partition

WIDTH = 5  # of a class of lengths: 1-5, 6-10, …
UNLIMITED_WORDS = 30  # section 5.2: without a limit only sentences of up to 30 words


@dataclass(frozen=True, kw_only=True)
class ForcedOptions:
    """The arguments of `force`, for a whole bitext."""

    prefix: bool = True
    shortest_prefix: int = SHORTEST_PREFIX
    max_states: int = MAX_STATES
    table_limit: int = 0
    weights: Weights | None = None
    leave_out: bool = False


@dataclass(frozen=True)
class Reached:
    """What became of a sentence pair."""

    words: int  # of the source
    gold: Gold
    derivations: float  # of the whole pair or of its prefix, inf beyond 10^308
    by_limit: Mapping[int, bool | None]  # distortion limit -> reachable; None: not asked
    gave_up: frozenset[int] = frozenset()  # distortion limits at which search did

    @property
    def kind(self) -> str:
        if self.gold.reachable:
            return "full"
        if self.gold:
            return "prefix"
        return "limit" if self.gold.limit_hit else "none"


def derivations(forest: Forest) -> float:
    """Their number, inf beyond 10^308."""
    log = log_partition(forest, scores=np.zeros(forest.edges)) if forest.edges else -math.inf
    return math.exp(log) if log < 709 else math.inf


def reach(
    decoder: PhraseDecoder,
    others: Mapping[int, PhraseDecoder],
    sentence: Sentence | Tokens,
    targets: Sequence[Tokens],
    options: ForcedOptions,
) -> Reached:
    """Force one pair; `others` are decoders with other distortion limits, by these."""
    sentence = Sentence.of(sentence)
    gold = force(decoder, sentence, *targets, **vars(options))
    own = decoder.options.distortion_limit
    words = len(sentence.words)
    by_limit: dict[int, bool | None] = {}
    gave_up = {own} if gold.limit_hit else set()
    known = False
    # What a narrow limit reaches, a wider one reaches too.
    for limit in sorted({own, *others}, key=lambda limit: math.inf if limit < 0 else limit):
        if limit == own:
            known |= gold.reachable
            by_limit[limit] = known
        elif limit < 0 and words > UNLIMITED_WORDS:
            by_limit[limit] = None
        else:
            if not known:
                less = {**vars(options), "prefix": False}
                other = force(others[limit], sentence, *targets, **less)
                known = other.reachable
                if other.limit_hit:
                    gave_up.add(limit)
            by_limit[limit] = known
    return Reached(words, gold, derivations(gold.forest), by_limit, frozenset(gave_up))


def reach_all(
    decoder: PhraseDecoder,
    pairs: Iterable[tuple[Sentence, Sequence[Tokens]]],
    options: ForcedOptions,
    *,
    others: Mapping[int, PhraseDecoder] | None = None,
    threads: int = 1,
) -> Iterator[Reached]:
    """In the order of the pairs, which are read as they are needed."""
    yield from in_order(
        lambda pair: reach(decoder, others or {}, pair[0], pair[1], options), pairs, threads
    )


@dataclass
class _Class:
    """Sentences of about one length."""

    sentences: int = 0
    reachable: int = 0
    derivations: float = 0.0
    asked: dict[int, int] = field(default_factory=dict)  # by distortion limit
    reached: dict[int, int] = field(default_factory=dict)


class Reachability:
    """Counts of many pairs."""

    def __init__(self) -> None:
        self.sentences = self.words = self.states = self.limit_hits = 0
        self.reachable_sentences = self.reachable_words = 0
        self.prefix_sentences = self.prefix_words = 0
        self._gave_up: dict[int, int] = {}  # by distortion limit
        self._classes: dict[int, _Class] = {}

    def add(self, pair: Reached) -> None:
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
        here = self._classes.setdefault(max(0, pair.words - 1) // WIDTH, _Class())
        here.sentences += 1
        if gold.reachable:
            here.reachable += 1
            here.derivations += pair.derivations
        for limit, reached in pair.by_limit.items():
            self._gave_up[limit] = self._gave_up.get(limit, 0) + (limit in pair.gave_up)
            if reached is not None:
                here.asked[limit] = here.asked.get(limit, 0) + 1
                here.reached[limit] = here.reached.get(limit, 0) + reached

    def report(self) -> dict[str, Any]:
        """Counts; `prefix_*` are pairs that are not reachable as a whole, each counted once with
        its longest prefix.
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
                    "sentences": here.sentences,
                    "reachable_sentences": here.reachable,
                    "derivations": here.derivations / here.reachable if here.reachable else None,
                    "by_limit": {
                        str(limit): here.reached[limit] / here.asked[limit] for limit in here.asked
                    },
                }
                for number, here in sorted(self._classes.items())
            ],
        }


def shares(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Table 3: of sentences and of words, with a derivation (`full`) and, together with those, with
    at least that of a prefix (`+prefix`).
    """
    sentences, words = max(1, report["sentences"]), max(1, report["words"])
    full = report["reachable_sentences"], report["reachable_words"]
    more = full[0] + report["prefix_sentences"], full[1] + report["prefix_words"]
    return {
        "full": (full[0] / sentences, full[1] / words),
        "+prefix": (more[0] / sentences, more[1] / words),
    }
