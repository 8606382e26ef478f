"""A sentence pair to learn from: all of its derivations, or those of its beginning.  [yu2013]

Goes in: a phrase decoder, a sentence and its translation. Comes out: a `GoldPair`, the pair itself
if it has a derivation; else, if asked for, the longest beginning of the sentence that has one, as a
sentence of its own.

Neither the gold forest nor a later search for such a beginning translates more than its words; but
features that look at what follows see it, as they will when a sentence is translated. Good is
whatever yields a beginning of the translation and covers all of these words; there may be several.

Such a beginning need not be a translation: phrases that are wrong but rare reach further than right
ones do. If the pair's word alignment is known (`Sentence.links`), only beginnings that belong
together by it count, which no link leaves: the box at the top left of figure 3. Words without a
link at the border may be in it or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hopefear._engine import Forest
from hopefear.base.weights import Weights
from hopefear.decode.contract import Sentence, Tokens
from hopefear.decode.forced import MAX_STATES, SHORTEST_PREFIX
from hopefear.decode.forced import force as decode_by_force
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear.decode.phrase import PhraseDecoder


@dataclass(frozen=True)
class GoldPair:
    """What there is to learn from."""

    sentence: Sentence  # of a prefix its words, the others as what follows
    target: str  # of a prefix the longest one
    forest: Forest  # no nodes: there is no derivation
    complete: bool  # False: a prefix
    gave_up: bool = False  # search made too many states: there may be derivations


def gold_pair(
    decoder: PhraseDecoder,
    sentence: Sentence | Tokens,
    target: Tokens,
    *,
    prefixes: int | None = None,
    max_states: int = MAX_STATES,
    table_limit: int = 0,
    weights: Weights | None = None,
) -> GoldPair:
    """`prefixes`: where the pair has no derivation, its longest prefix of so many source words.
    `table_limit`, `weights`: as `force` takes them.
    """
    force = partial(
        decode_by_force,
        decoder,
        max_states=max_states,
        table_limit=table_limit,
        weights=weights,
    )
    whole = decoder.tagged(sentence)  # a prefix has the tags that its words have there
    words = split_words(target) if isinstance(target, str) else list(target)
    found = force(
        whole,
        words,
        prefix=prefixes is not None,
        shortest_prefix=prefixes or SHORTEST_PREFIX,
    )
    if found.reachable or not found:
        return GoldPair(whole, " ".join(words), found.forest, True, found.limit_hit)
    gave_up = found.limit_hit
    for source, targets in _beginnings(whole, len(words), found.source_words, found.target_words):
        if source < (prefixes or SHORTEST_PREFIX):
            break
        part = whole.prefix(source)
        texts = [words[:end] for end in targets]
        again = force(part, *texts)
        gave_up |= again.limit_hit
        if again:
            return GoldPair(part, " ".join(texts[-1]), again.forest, False, gave_up)
    return GoldPair(whole, " ".join(words), Forest(), True, gave_up)


def _beginnings(
    sentence: Sentence, target_words: int, longest: int, longest_target: int
) -> Iterator[tuple[int, range]]:
    """Numbers of source words, falling, each with the numbers of target words that belong to it.

    `longest`: of any beginning that can be derived, with `longest_target` words at most.
    """
    if sentence.links is None:
        yield longest, range(1, longest_target + 1)
        return
    for source in range(longest, 0, -1):
        within = max((t + 1 for s, t in sentence.links if s < source), default=0)
        beyond = min((t for s, t in sentence.links if s >= source), default=target_words)
        if 0 < within <= beyond:
            yield source, range(within, beyond + 1)
