"""A rule with the target words before it.  A non-local feature.  [yu2013]

If the rule `chat|cat` follows `the black`, fires `rule-history:w|chat|cat|the|black` and
`rule-history:w|chat|cat|black` with the last word only (section 4.3). At the other levels, classes
replace the words: `b` Brown cluster, `6` and `4` the first bits of its path, `t` part of speech.
`<s>` stands before the first word. Requires search from left to right, that is, a phrase-based
system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopefear.base.config import option
from hopefear.base.errors import InputError, OptionError
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists

LEVELS = "wb64t"


@register("feature", "rule-history")
@dataclass(frozen=True, kw_only=True)
class RuleHistory(EngineFeature):
    """A rule with the target words before it."""

    label: ClassVar[str] = "rule-history"

    levels: str | None = option(
        None,
        help=f"levels, letters out of {LEVELS} (default: all that the model has classes for)",
    )

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        classes = lists.classes
        known = "w" + ("b64" if classes.target.paths else "") + ("t" if classes.target.tags else "")
        levels = known if self.levels is None else self.levels
        if not levels or set(levels) - set(LEVELS) or len(set(levels)) < len(levels):
            raise OptionError(f"rule-history: levels={levels}: give some of {LEVELS}, each once")
        missing = [level for level in levels if level not in known]
        if missing:
            what = "tags" if missing[0] == "t" else "clusters"
            remedy = "--target-tags" if what == "tags" else "--clusters 200"
            raise InputError(
                f"{classes.place}: has no target {what}, which the feature template rule-history "
                f"needs for levels={levels}; train with {remedy}"
            )
        return {"levels": levels, "words": classes.target.rows()}
