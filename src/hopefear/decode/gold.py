"""The gold forest of a training pair, or of its longest reachable prefix.  [yu2013]

Takes a phrase decoder and a request with a sentence and its translation, and returns the
derivations as a forest and a `GoldPair`: the pair itself if it has a derivation; otherwise, on
request, its longest reachable prefix, as a sentence of its own.

The gold forest of a prefix and a later search for it translate the words of the prefix only, but
feature templates see the words that follow, as in the translation of a complete sentence. A
derivation is correct if it covers exactly these source words and yields a prefix of the
translation; several prefixes of the translation may qualify.

The two prefixes need not be translations of each other: wrong, rare phrases often reach further
than right ones. If the pair's word alignment is known (`Sentence.links`), only consistent pairs of
prefixes count, that is, pairs that no link leaves: the box at the top left of figure 3. Unaligned
words at the border may be included or not.
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
    """Take a request with a target; return the pair or its longest prefix, and the derivations.

    The forest has no nodes if there is no derivation.
    """
    force = partial(
        decode_by_force,
        decoder,
        max_states=options.max_states,
        table_limit=options.table_limit,
        weights=request.weights,
        named=request.named,
    )
    sentence = decoder.tagged(request.sentence)  # tagged first: a prefix keeps these tags
    target = request.target or ()
    words = split_words(target) if isinstance(target, str) else list(target)
    shortest = options.prefixes or SHORTEST_PREFIX
    gold = force(sentence, words, prefix=options.prefixes is not None, shortest_prefix=shortest)
    pair = GoldPair(sentence, " ".join(words), gave_up=gold.limit_hit)
    if gold.reachable or not gold:
        return Decoded(gold.forest, gold=pair)
    for length, target_lengths in _prefix_lengths(
        sentence, len(words), gold.source_words, gold.target_words
    ):
        if length < shortest:
            break
        prefix = sentence.prefix(length)
        targets = [words[:end] for end in target_lengths]
        prefix_gold = force(prefix, *targets)
        pair = replace(pair, gave_up=pair.gave_up | prefix_gold.limit_hit)
        if prefix_gold:
            pair = replace(pair, sentence=prefix, target=" ".join(targets[-1]), complete=False)
            return Decoded(prefix_gold.forest, gold=pair)
    return Decoded(Forest(), gold=pair)


def _prefix_lengths(
    sentence: Sentence, target_words: int, longest: int, longest_target: int
) -> Iterator[tuple[int, range]]:
    """Yield source lengths, descending, each with the target lengths that are consistent with it.

    `longest` and `longest_target` are the lengths of the longest prefixes that can be derived.
    """
    if sentence.links is None:
        yield longest, range(1, longest_target + 1)
        return
    for source in range(longest, 0, -1):
        lower = max((t + 1 for s, t in sentence.links if s < source), default=0)
        upper = min((t for s, t in sentence.links if s >= source), default=target_words)
        if 0 < lower <= upper:
            yield source, range(lower, upper + 1)
