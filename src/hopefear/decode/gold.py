"""A sentence pair to learn from: all of its derivations, or those of its beginning.  [yu2013]

Goes in: a phrase decoder, a sentence and its translation. Comes out: a `GoldPair`, the pair itself
if it has a derivation; else, if asked for, the longest beginning of the sentence that has one, as a
sentence of its own.

Both the gold forest and every later search for such a beginning see its words alone, so that a
feature that looks at what follows has the same value in both. Good is whatever yields a beginning
of the translation and covers all of these words; there may be several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopefear._engine import Forest
from hopefear.decode.decoder import Sentence, Tokens
from hopefear.decode.forced import MAX_STATES, SHORTEST_PREFIX, force
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear.decode.phrase import PhraseDecoder


@dataclass(frozen=True)
class GoldPair:
    """What there is to learn from."""

    sentence: Sentence  # of a prefix its words alone
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
) -> GoldPair:
    """`prefixes`: where the pair has no derivation, its longest prefix of so many source words."""
    whole = decoder.tagged(sentence)  # a prefix has the tags that its words have there
    words = split_words(target) if isinstance(target, str) else list(target)
    found = force(
        decoder,
        whole,
        words,
        prefix=prefixes is not None,
        shortest_prefix=prefixes or SHORTEST_PREFIX,
        max_states=max_states,
    )
    if found.reachable or not found:
        return GoldPair(whole, " ".join(words), found.forest, True, found.limit_hit)
    part = whole.prefix(found.source_words)
    beginnings = [words[:end] for end in range(1, found.target_words + 1)]
    again = force(decoder, part, *beginnings, max_states=max_states)
    return GoldPair(part, " ".join(beginnings[-1]), again.forest, False, again.limit_hit)
