"""The options of the loops that run tuners; also those of `hopefear tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hopefear.base.config import option, to_mapping


@dataclass(kw_only=True)
class LoopOptions:
    """Options of decoding, stopping, and the choice of the features to learn."""

    iterations: int = option(
        15,
        min=0,
        max=99,
        help="maximum number of iterations; the tuning set is decoded once more at the end",
    )
    kbest: int | None = option(
        None,
        min=1,
        max=1_000_000,
        help="size of the k-best list of each sentence; if not given, the tuner's default (100 for "
        "most)",
    )
    distinct: bool = option(True, help="allow duplicate strings in a k-best list")
    # First steps may fall far behind the start before they pass it: MERT's without a bound (29.8,
    # 4.8, 26.0, 32.0 BLEU on Bible zh-en), and batch MIRA's, which climb back more slowly.
    patience: int = option(
        5,
        min=0,
        help="stop when none of this number of last iterations scores higher than the one before "
        "them (0: never)",
    )
    tolerance: float = option(
        1e-4,
        min=0,
        help="stop when the weights change by less than this fraction of their norm (0: never)",
    )
    average_last: int | None = option(
        None,
        min=0,
        help="number of last iterations (at most half of all) whose mean is the result; 0: the "
        "best iteration; if not given, the tuner's default (5 for mert after at least 5 "
        "iterations, else 0)",
    )
    seed: int = option(1, min=0, help="random seed")
    fix: list[str] = option(
        [], metavar="NAME", help="features whose weights do not change; patterns too ('reorder.*')"
    )
    tie: list[str] = option(
        [], metavar="NAMES", help="groups of features that share one weight, such as 'a b' 'c d e'"
    )
    min_sentences: int = option(
        1,
        min=1,
        help="learn only sparse features that occur in the translations of at least this number "
        "of sentences",
    )
    most_frequent: int = option(
        0,
        min=0,
        help="learn only this number of sparse features, those that occur in the translations of "
        "the most sentences (0: all)",
    )
    keep_pool: bool = option(False, help="keep the pool of candidates after the end of the run")


@dataclass(kw_only=True)
class TrainingOptions:
    """Options of the sentence pairs that online tuners learn from."""

    max_examples: int | None = option(
        None, min=1, help="maximum number of sentence pairs, chosen at random; if not given, all"
    )
    prefixes: int | None = option(
        None,
        min=1,
        help="learn from the longest derivable prefix of a pair that cannot be derived, if it has "
        "at least this number of source words (5 in the literature); if not given, from none",
    )
    leave_out: bool = option(
        False, help="decode each pair of --train without the rules extracted from it alone"
    )
    folds: bool = option(
        False,
        help="decode each pair of --train with rules and a language model that leave its fold out; "
        "needs a model trained with --folds on the same text; without --train, learn from the text "
        "that the model was trained on",
    )
    with_dev: bool = option(
        False,
        help="learn from the development set, too, besides the training text; --heldout then "
        "chooses the best iteration without favouring it",
    )
    gold_phrases: int | None = option(
        None,
        min=1,
        help="phrases per source phrase in forced decoding, the best by the initial weights; if "
        "not given, all, even beyond the decoder's table_limit",
    )
    max_states: int | None = option(
        None,
        min=1,
        help="states of forced decoding after which a sentence pair is skipped; if not given, "
        "1000000",
    )

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return {name: value for name, value in to_mapping(self).items() if value}
