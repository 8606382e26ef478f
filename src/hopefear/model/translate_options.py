"""The options of translating, apart from what does it, so that `hopefear --help` stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hopefear.base.config import option
from hopefear.base.errors import OptionError


@dataclass(kw_only=True)
class TranslateOptions:
    """What is translated how; also options of `hopefear translate`."""

    tokenized: bool = option(False, help="take and give words between blanks as they are")
    markup: Literal["off", "exclusive", "inclusive"] = option(
        "off", help='translations in the input, as in <n translation="…">words</n>'
    )
    nbest: int = option(0, min=0, max=1_000_000, metavar="N", help="also the N best translations")
    distinct: bool = option(False, help="of those with the same words only the best")
    trace: bool = option(
        False, help="n-best: a column with the phrases (or the tree) of each derivation"
    )
    trace_alignment: bool = option(False, help="n-best: a column with the word alignment")
    mbr: bool = option(
        False, help="the translation whose n-grams are most likely, not that of the best derivation"
    )
    max_translation: bool = option(
        False, help="the most likely translation, summed over its derivations, from samples"
    )
    posterior_scale: float | None = option(
        None,
        min=0,
        help="mbr, max-translation: what scores are multiplied with; if not given, such that the "
        "language models' weight is 1",
    )
    samples: int | None = option(
        None, min=1, help="max-translation: derivations drawn per sentence; 1000 if not given"
    )
    seed: int = option(0, help="max-translation: of the samples")

    def __post_init__(self) -> None:
        if self.mbr and self.max_translation:
            raise OptionError("--mbr and --max-translation are two rules of choice; give one")
        if self.posterior_scale is not None:
            if not (self.mbr or self.max_translation):
                raise OptionError("--posterior-scale is for --mbr and --max-translation; give one")
            if self.posterior_scale == 0:
                raise OptionError("--posterior-scale 0: expected a number above 0")
        if self.samples is not None and not self.max_translation:
            raise OptionError("--samples is for --max-translation; give that, too")
