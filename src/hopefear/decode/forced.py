"""Forced decoding: all derivations of a sentence pair, the gold forest of learning.  [yu2013]

    gold = force(decoder, "bushi yu shalong juxing huitan", "Bush held a meeting with Sharon")
    if gold.reachable:
        best = viterbi(gold.forest, weights)

Takes a phrase decoder, a sentence and one or more translations, and returns a forest of all
derivations that yield one of them, found by exact search (no beam) under the decoder's distortion
limit. It has the form of a search forest: nodes labelled with their coverage, all features, a goal
whose edges add the end of the sentence. It contains only nodes from which the translation can be
completed, so the nodes of a bin are the correct hypotheses of that bin. The forest does not depend
on weights: it is built once and rescored when they change.

By default every phrase of the table may be used, not only the `table_limit` best ones: these depend
on the weights, and learning should raise a gold phrase that is not among them.

Many sentence pairs have no derivation. With `prefix` such a pair is replaced by its longest
reachable prefix: the largest i of at least `shortest_prefix` such that a derivation covers exactly
the first i source words and yields a prefix of the translation. (It may cover all source words and
lack target words at the end.) Its forest ends with the nodes of bin i; the goal's edges add
nothing, because the sentence does not end there. Differs: errata yu2013 5.2: the longest prefix of
a pair, not all of them.

With several translations, `force(decoder, x, *references)` returns the union of their derivations;
for one sentence pair per reference (Liu & Huang 2014, figure 6) call it once for each.  [liu2014]

Time and memory are proportional to the number of nodes, which is small under a small distortion
limit and exponential without one; search gives up at `max_states` (`limit_hit`).
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
    """The result of forced decoding for a sentence pair."""

    forest: Forest  # the derivations; without nodes if there is none
    reachable: bool  # the complete pair has a derivation
    source_words: int  # source words covered by every derivation: all, those of the prefix, or 0
    target_words: int  # length of the longest target string derived
    states: int  # nodes that search created
    limit_hit: bool  # search gave up at `max_states`: derivations may exist

    def __bool__(self) -> bool:
        """Whether the pair or a prefix of it has a derivation."""
        return self.source_words > 0 or self.reachable


def leaving_out(sentence: Sentence | Tokens, target: Tokens, number: int | None = None) -> Sentence:
    """Return a training sentence marked to be decoded without the rules that were extracted from
    its pair only (section 4.2); see `TrainingPair`.  [wuebker2010]
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
    """Return all derivations that yield one of the targets.

    `leave_out`: do without the rules that were extracted from the pair of the sentence and the
    first target only; `Sentence.leave_out` specifies them more precisely. `table_limit`: phrases
    per source phrase, the best by `weights`, as in search; 0: all. `named`: add the names of sparse
    features to the decoder's.
    """
    if table_limit > 0 and weights is None:
        raise OptionError("table_limit selects phrases by their weights; also give weights")
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
