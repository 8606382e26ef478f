"""Extraction of phrase pairs that are consistent with a word alignment.  [koehn2003]

All scores equal those of Moses's extract, score and lexical-reordering-score: p(f|e), p(e|f) and
lexical weights [koehn2003], word-based orientations [koehn2005]. Pairs are filtered by count or by
significance [johnson2007].
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
    """A significance filter: `off`, `alpha+epsilon`, `alpha-epsilon`, or the smallest -ln p."""

    @classmethod
    def parse(cls, text: str) -> Significance:
        """Parse an option's value; raise a `ValueError` with the expected values."""
        if text not in ("off", "alpha+epsilon", "alpha-epsilon"):
            value = -1.0
            with contextlib.suppress(ValueError):
                value = float(text)
            if not 0 <= value < float("inf"):
                raise ValueError(
                    "off, alpha+epsilon, alpha-epsilon or a number, the smallest -ln p"
                )
        return cls(text)


@dataclass(kw_only=True)
class PhraseExtractOptions(ExtractOptions):
    """The extraction options of phrase pairs: length, scores, and filters."""

    system: ClassVar[str] = "phrase"

    max_length: int = option(
        7, min=1, max=100, help="largest number of words on either side of a phrase pair"
    )
    reordering: Reordering = option(
        "msd-bidirectional-fe", help="orientation model: six scores, three (backward only) or none"
    )
    significance: Significance = option(
        Significance("off"),
        metavar="TEST",
        help="smallest -ln p of Fisher's exact test for a pair: a number, alpha+epsilon (drops "
        "pairs that occur once, as do both of their sides), alpha-epsilon (keeps these), or off",
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
