"""The spacing of punctuation, learned from raw text.

Some French texts have a blank before `?` and `:`, others do not; the spacing of dashes and slashes
varies in every language. Tokenization loses this information, so it is counted before, saved with
the model, and used to detokenize translations. `tokenization_mismatch` notices that one of two
texts is tokenised and the other one is not.

Takes raw lines and returns, for each of the `MARKS` that is frequent enough, whether it usually has
a blank before it and after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from hopefear.base.errors import InputError

MARKS = "?!:;%»«/—–…"
_MARK = re.compile(f"(?<=(.))[{MARKS}](?=(.|$))")
_ENOUGH = 5  # occurrences; below that the rules of the language decide
_CLOSE_AFTER = "«/—"  # no blank after these, unless the text shows otherwise
# A comma or full stop after a word, with or without a blank. Raw text of any language has none
# there, other than before ? ! : ; in French.
_STOP = re.compile(r"(?<=\w)( ?)[.,](?=\s|$)")
_INSPECTED = 10_000  # lines; more say nothing new
_FEWEST = 3  # commas and full stops that show whether a text is tokenised
_MOST = 0.8  # share of them with a blank before from which on it is tokenised; 1 - _MOST: it is not
_WORDS = {(False, False): "none", (True, False): "before", (False, True): "after"}
_WORDS[True, True] = "both"


@dataclass(frozen=True)
class Spacing:
    """The usual spacing of punctuation marks: `habits[mark]` is (blank before, blank after)."""

    habits: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, str]:
        """Return the spacing as a mapping for model.toml."""
        return {mark: _WORDS[habit] for mark, habit in sorted(self.habits.items())}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str], place: str = "spacing") -> Spacing:
        """Take what `to_mapping` returned and return the spacing."""
        meaning = {word: habit for habit, word in _WORDS.items()}
        for mark, word in mapping.items():
            if mark not in MARKS or len(mark) != 1 or word not in meaning:
                raise InputError(
                    f"{place}: {mark!r} = {word!r}; expected one of {MARKS} with one of "
                    + ", ".join(meaning)
                )
        return cls({mark: meaning[word] for mark, word in mapping.items()})


class SpacingCounter:
    """Counts the spacing of punctuation marks in lines; `result` returns it."""

    def __init__(self) -> None:
        # mark -> [informative places before the mark, those with a blank; the same after it]
        self._counts: dict[str, list[int]] = {mark: [0, 0, 0, 0] for mark in MARKS}

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines unchanged and count them."""
        for line in lines:
            self.add(line)
            yield line

    def add(self, line: str) -> None:
        """Count a line."""
        for match in _MARK.finditer(line):
            before, after = match[1], match[2]
            if before.isdigit() and after.isdigit():
                continue  # 10:30 and 1/2 are not informative
            if before in MARKS:
                continue  # the second mark of '?!'
            counts = self._counts[match[0]]
            counts[0] += 1
            counts[1] += before == " "
            if after == " " or after.isalnum():  # a closing quote is not informative
                counts[2] += 1
                counts[3] += after == " "

    def result(self) -> Spacing:
        """Return the spacing of the marks that occurred often enough."""
        habits = {}
        for mark, (places, before, places_after, after) in self._counts.items():
            if places >= _ENOUGH:
                wide = 2 * after > places_after if places_after else mark not in _CLOSE_AFTER
                habits[mark] = (2 * before > places, wide)
        return Spacing(habits)


def is_tokenized(lines: Iterable[str]) -> bool | None:
    """Return whether commas and full stops are apart from the words; None if that is unclear."""
    blanks = [len(blank) for line in islice(lines, _INSPECTED) for blank in _STOP.findall(line)]
    if len(blanks) < _FEWEST:
        return None
    share = sum(blanks) / len(blanks)
    return True if share >= _MOST else False if share <= 1 - _MOST else None


def tokenization_mismatch(translations: Iterable[str], references: Iterable[str]) -> str | None:
    """Return a warning if only one of two texts is tokenised, None if not."""
    ours, theirs = is_tokenized(translations), is_tokenized(references)
    if ours is None or theirs is None or ours == theirs:
        return None
    if theirs:
        return (
            "the references have blanks before commas and full stops, the translations have not: "
            "the references seem to be tokenised, and scores are too low; give the raw references, "
            "or tokenise both ('hopefear text tokenize')"
        )
    return (
        "the translations have blanks before commas and full stops, the references have not: the "
        "translations seem to be tokenised, and scores are too low; detokenise them "
        "('hopefear text detokenize'), or tokenise both"
    )
