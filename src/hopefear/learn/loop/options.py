"""The options of the loop; also those of `hopefear tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hopefear.base.config import option, to_mapping


@dataclass(kw_only=True)
class LoopOptions:
    """How often to decode and optimise, and when to stop."""

    iterations: int = option(
        15, min=0, max=99, help="how often at most to optimise; the set is decoded once more"
    )
    kbest: int | None = option(
        None,
        min=1,
        help="translations of a sentence that a decoding adds to the pool; if not given, what the "
        "tuner likes (100 for most)",
    )
    distinct: bool = option(
        True, help="k-best lists may hold a string several times, derived in different ways"
    )
    # MERT's first steps may fall far behind the start before they pass it: 29.8, 4.8, 26.0, 32.0
    # BLEU on Bible zh-en, and batch MIRA's climb back more slowly.
    patience: int = option(
        5,
        min=0,
        help="stop when so many iterations bring nothing over the one before; 0: never",
    )
    tolerance: float = option(
        1e-4,
        min=0,
        help="stop when the weights move by less than this share of their length; 0: never",
    )
    average_last: int | None = option(
        None,
        min=0,
        help="the result is the mean of the last so many iterations (of half of them, if these are "
        "fewer); 0: the best iteration; if not given, what the tuner likes (5 for mert, else 0)",
    )
    seed: int = option(1, min=0, help="of everything that is random")
    fix: list[str] = option(
        [], metavar="NAME", help="features whose weights stay what they are ('reorder.*' too)"
    )
    tie: list[str] = option(
        [], metavar="NAMES", help="features that share one weight: --tie 'a b' 'c d e'"
    )
    min_sentences: int = option(
        1,
        min=1,
        help="learn only features that occur in the translations of so many sentences; those of "
        "the model itself always",
    )
    most_frequent: int = option(
        0,
        min=0,
        help="of these learn so many, which occur in the translations of the most sentences; those "
        "of the model itself are not counted; 0: all",
    )
    keep_pool: bool = option(False, help="keep the pool of candidates when the run is finished")


@dataclass(kw_only=True)
class TrainingOptions:
    """What online tuners learn from."""

    max_examples: int | None = option(
        None, min=1, help="learn from so many sentence pairs at most, taken at random"
    )
    prefixes: int | None = option(
        None,
        min=1,
        help="of a pair that cannot be derived, learn from its longest beginning that can, if it "
        "has so many source words (5 in the literature)",
    )
    leave_out: bool = option(
        False, help="decode each pair of --train without the rules that come from it alone"
    )
    folds: bool = option(
        False,
        help="decode each pair of --train with the rules and the language model that leave its "
        "fold out; of a model that was trained with --folds, on that text",
    )
    gold_phrases: int | None = option(
        None,
        min=1,
        help="forced decoding has so many phrases for a source phrase, the best by the weights to "
        "start from; if not given all, also those that the decoder's table_limit never takes",
    )
    max_states: int | None = option(
        None,
        min=1,
        help="give up on a sentence pair when forced decoding made so many states; if not given "
        "1000000",
    )

    def given(self) -> dict[str, Any]:
        """What is not as by default."""
        return {name: value for name, value in to_mapping(self).items() if value}
