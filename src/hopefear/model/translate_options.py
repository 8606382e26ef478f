"""Options of translating, in a module without heavy imports so that `hopefear --help` is fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hopefear.base.config import option
from hopefear.base.errors import OptionError


@dataclass(kw_only=True)
class UnknownWordOptions:
    """The treatment of words that a model has no rules for."""

    unknown: Literal["copy", "similar", "drop"] = option(
        "copy",
        help="treatment of source words without rules: copy them; similar: translate the most "
        "similar known word instead, if there is one; drop: leave out all but names and numbers",
    )


@dataclass(kw_only=True)
class TranslateOptions(UnknownWordOptions):
    """Options of a `Translator`; also those of `hopefear translate`."""

    tokenized: bool = option(
        False, help="the input is already tokenised; the output stays tokenised"
    )
    markup: Literal["off", "exclusive", "inclusive"] = option(
        "off",
        help='use of translations marked in the input, <n translation="…">words</n>: exclusive '
        "uses only them, inclusive also the model's rules",
    )
    nbest: int = option(
        0, min=0, max=1_000_000, metavar="N", help="size of the n-best list (0: none)"
    )
    distinct: bool = option(False, help="n-best: only the best of the entries with the same words")
    trace: bool = option(
        False, help="n-best: add a column with the phrases (or the tree) of each derivation"
    )
    trace_alignment: bool = option(False, help="n-best: add a column with the word alignment")
    mbr: bool = option(
        False, help="minimum Bayes risk: the translation with the highest expected n-gram matches"
    )
    max_translation: bool = option(
        False, help="maximum translation: the most probable string, estimated from samples"
    )
    posterior_scale: float | None = option(
        None,
        min=0,
        help="mbr, max-translation: factor on the scores before they become probabilities "
        "(default: the one that makes the language model weight 1)",
    )
    samples: int | None = option(
        None, min=1, help="max-translation: derivations sampled per sentence (default: 1000)"
    )
    seed: int = option(0, help="max-translation: random seed of the samples")

    def __post_init__(self) -> None:
        if self.mbr and self.max_translation:
            raise OptionError("--mbr and --max-translation exclude each other; give one of them")
        if self.posterior_scale is not None:
            if not (self.mbr or self.max_translation):
                raise OptionError(
                    "--posterior-scale: only with --mbr or --max-translation; give one of them"
                )
            if self.posterior_scale == 0:
                raise OptionError("--posterior-scale 0: expected a number above 0")
        if self.samples is not None and not self.max_translation:
            raise OptionError("--samples: only with --max-translation; give that, too")
