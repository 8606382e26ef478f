"""A sentence pair to learn from: all of its derivations, or those of its beginning.  [yu2013]

Takes a phrase decoder and a request for a sentence and its translation. Returns a `GoldPair`, the
pair itself if it has a derivation; else, if asked for, the longest prefix of the sentence that has
one, as a sentence of its own, and the derivations as a forest.

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
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hopefear._engine import Forest
from hopefear.decode.contract import Decoded, GoldOptions, GoldPair, Request, Sentence
from hopefear.decode.forced import SHORTEST_PREFIX
from hopefear.decode.forced import force as decode_by_force
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear.decode.phrase import PhraseDecoder


def gold_pair(decoder: PhraseDecoder, request: Request, options: GoldOptions) -> Decoded:
    """Takes a request with a target; returns the pair, or its longest prefix, and the derivations.

    A forest without nodes: there is no derivation.
    """
    force = partial(
        decode_by_force,
        decoder,
        max_states=options.max_states,
        table_limit=options.table_limit,
        weights=request.weights,
        named=request.named,
    )
    whole = decoder.tagged(request.sentence)  # a prefix has the tags that its words have there
    target = request.target or ()
    words = split_words(target) if isinstance(target, str) else list(target)
    shortest = options.prefixes or SHORTEST_PREFIX
    found = force(whole, words, prefix=options.prefixes is not None, shortest_prefix=shortest)
    pair = GoldPair(whole, " ".join(words), gave_up=found.limit_hit)
    if found.reachable or not found:
        return Decoded(found.forest, gold=pair)
    for source, targets in _beginnings(whole, len(words), found.source_words, found.target_words):
        if source < shortest:
            break
        part = whole.prefix(source)
        texts = [words[:end] for end in targets]
        again = force(part, *texts)
        pair = replace(pair, gave_up=pair.gave_up | again.limit_hit)
        if again:
            prefix = replace(pair, sentence=part, target=" ".join(texts[-1]), complete=False)
            return Decoded(again.forest, gold=prefix)
    return Decoded(Forest(), gold=pair)


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
