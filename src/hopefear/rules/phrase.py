"""Phrase pairs: all that a word alignment is consistent with.  [koehn2003]

Every score is the one that Moses's extract, score and lexical-reordering-score compute: p(f|e),
p(e|f) and the lexical weights [koehn2003], word-based orientations [koehn2005]; filtering by count
or significance [johnson2007].
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hopefear.base.config import option
from hopefear.rules.extract import ExtractOptions

Reordering = Literal["msd-bidirectional-fe", "msd-backward-fe", "none"]
REORDERING_SCORES: dict[Reordering, int] = {
    "msd-bidirectional-fe": 6,
    "msd-backward-fe": 3,
    "none": 0,
}


class Significance(str):
    """`off`, `alpha+epsilon`, `alpha-epsilon`, or the least -ln p as a number."""

    @classmethod
    def parse(cls, text: str) -> Significance:
        if text not in ("off", "alpha+epsilon", "alpha-epsilon"):
            value = -1.0
            with contextlib.suppress(ValueError):
                value = float(text)
            if not 0 <= value < float("inf"):
                raise ValueError("off, alpha+epsilon, alpha-epsilon or a number, the least -ln p")
        return cls(text)


@dataclass(kw_only=True)
class PhraseExtractOptions(ExtractOptions):
    """How phrase pairs are extracted and which are kept."""

    system: ClassVar[str] = "phrase"

    max_length: int = option(7, min=1, max=100, help="words of a phrase, on either side")
    reordering: Reordering = option(
        "msd-bidirectional-fe", help="orientation scores: six, three or none"
    )
    significance: Significance = option(
        Significance("off"),
        metavar="TEST",
        help="least -ln p of Fisher's exact test: a number, or alpha+epsilon (drops pairs "
        "that were seen once, of words seen once), alpha-epsilon (keeps those), off",
    )

    @property
    def reordering_scores(self) -> int:
        return REORDERING_SCORES[self.reordering]

    def content(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "max_length": self.max_length,
            "reordering": self.reordering,
            "limit": self.limit,
            "min_count": self.min_count,
            "significance": self.significance,
        }

    def engine_arguments(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "significance": str(self.significance)}
