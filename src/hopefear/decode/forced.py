"""Forced decoding: every derivation of a sentence pair, the gold forest of learning.  [yu2013]

    gold = force(decoder, "bushi yu shalong juxing huitan", "Bush held a meeting with Sharon")
    if gold.reachable:
        best = viterbi(gold.forest, weights)

Goes in: a phrase decoder, a sentence, its translation or several of them. Comes out: a forest of
all derivations that yield one of them, by exact search without a beam, under the decoder's own
distortion limit. It looks like the forest of a search: nodes labelled with what is
covered, all features, a goal whose edges add the end of the sentence. Only nodes are in it from
which the translation can be completed, so node sets of a bin are the good ones of that bin. The
forest does not depend on weights: it is built once and rescored when they change.

By default every phrase of the table may be used, not just the `table_limit` best ones: which those
are depends on the weights, and a gold phrase that is not among them is a thing to learn.

Many sentence pairs have no derivation. With `prefix` such a pair gives its longest reachable
prefix instead: the largest i of at least `shortest_prefix` for which some derivation covers exactly
the first i source words and yields the beginning of the translation. (It may be all source words,
if only target words at the end remain.) Its forest ends with the nodes of bin i; the goal's edges
add nothing, because the sentence does not end there. Differs: errata yu2013 5.2: the longest prefix
of a pair, not all of them.

Several translations: `force(decoder, x, *references)` is the union of their derivations; for one
sentence pair for each reference (Liu & Huang 2014, figure 6) call it for each.  [liu2014]

Search takes time and memory in proportion to its nodes, which are few under a small distortion
limit and exponentially many without one; at `max_states` it gives up (`limit_hit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hopefear._engine import Forest
from hopefear.base.errors import OptionError
from hopefear.base.weights import Weights
from hopefear.decode.contract import MAX_STATES, Sentence, Tokens, TrainingPair
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear.decode.phrase import PhraseDecoder

SHORTEST_PREFIX = 5  # section 5.2: "5 or more Chinese words"


@dataclass(frozen=True)
class Gold:
    """What forced decoding found for a sentence pair."""

    forest: Forest  # its derivations; no nodes if there is none
    reachable: bool  # the whole pair has a derivation
    source_words: int  # covered by every derivation: all, those of the prefix, or 0
    target_words: int  # of the longest string that is derived
    states: int  # nodes that search made
    limit_hit: bool  # search gave up: derivations may exist

    def __bool__(self) -> bool:
        """Whether there is any derivation, of the pair or of a prefix."""
        return self.source_words > 0 or self.reachable


def leaving_out(sentence: Sentence | Tokens, target: Tokens, number: int | None = None) -> Sentence:
    """A sentence of the training data, to be decoded without the rules that its pair alone gave the
    model (section 4.2); see `TrainingPair`.  [wuebker2010]
    """
    words = split_words(target) if isinstance(target, str) else target
    return replace(Sentence.of(sentence), leave_out=TrainingPair(tuple(words), number))


def force(
    decoder: PhraseDecoder,
    sentence: Sentence | Tokens,
    *targets: Tokens,
    prefix: bool = False,
    shortest_prefix: int = SHORTEST_PREFIX,
    max_states: int = MAX_STATES,
    table_limit: int = 0,
    weights: Weights | None = None,
    leave_out: bool = False,
    named: bool = True,
) -> Gold:
    """All derivations that yield one of the targets.

    `leave_out`: without the rules that the model has from this pair alone, the first target being
    that of the pair; a `Sentence` may say more precisely which they are (`Sentence.leave_out`).
    `table_limit`: only so many phrases for a source phrase, the best by `weights`, as search for a
    translation has them; 0: all. `named`: give the names of sparse features.
    """
    if table_limit > 0 and weights is None:
        raise OptionError("a table limit chooses phrases by their weights; give weights, too")
    references = [split_words(t) if isinstance(t, str) else list(t) for t in targets]
    if leave_out and references:
        sentence = leaving_out(sentence, references[0])
    return Gold(
        *decoder.engine_of(sentence).force(
            decoder.engine_input(sentence),
            references=references,
            weights=(weights if weights is not None else Weights()).table,
            settings=decoder.settings,
            prefix=prefix,
            shortest_prefix=shortest_prefix,
            most_nodes=max_states,
            table_limit=table_limit,
            names=decoder.names,
            named=named,
        )
    )
