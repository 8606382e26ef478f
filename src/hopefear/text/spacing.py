"""Where a text puts blanks beside punctuation, learned from raw text.

French has a blank before `?` and `:` in one edition and none in the next; dashes and slashes go
either way in every language. Tokenising takes that knowledge away, so it is counted before, kept
with the model, and used to put the words of a translation together as its readers know it.

Goes in: raw lines. Comes out: for each mark of `MARKS` that was seen often enough, whether a blank
stands before it and after it in most places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hopefear.base.errors import InputError

MARKS = "?!:;%»«/—–…"
_MARK = re.compile(f"(?<=(.))[{MARKS}](?=(.|$))")
_ENOUGH = 5  # occurrences; below that the rules of the language decide
_CLOSE_AFTER = "«/—"  # no blank after these, unless the text shows otherwise
_WORDS = {(False, False): "none", (True, False): "before", (False, True): "after"}
_WORDS[True, True] = "both"


@dataclass(frozen=True)
class Spacing:
    """`habits[mark]` is (a blank before, a blank after)."""

    habits: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, str]:
        return {mark: _WORDS[habit] for mark, habit in sorted(self.habits.items())}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str], place: str = "spacing") -> Spacing:
        meaning = {word: habit for habit, word in _WORDS.items()}
        for mark, word in mapping.items():
            if mark not in MARKS or len(mark) != 1 or word not in meaning:
                raise InputError(
                    f"{place}: {mark!r} = {word!r}; expected one of {MARKS} with one of "
                    + ", ".join(meaning)
                )
        return cls({mark: meaning[word] for mark, word in mapping.items()})


class SpacingCounter:
    """Counts habits in lines that pass by: `Spacing` at the end."""

    def __init__(self) -> None:
        # mark -> [places that show what comes before, with a blank; the same for after]
        self._counts: dict[str, list[int]] = {mark: [0, 0, 0, 0] for mark in MARKS}

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """The same lines, counted."""
        for line in lines:
            self.add(line)
            yield line

    def add(self, line: str) -> None:
        for match in _MARK.finditer(line):
            before, after = match[1], match[2]
            if before.isdigit() and after.isdigit():
                continue  # 10:30 and 1/2 say nothing
            if before in MARKS:
                continue  # the second of '?!'
            counts = self._counts[match[0]]
            counts[0] += 1
            counts[1] += before == " "
            if after == " " or after.isalnum():  # a closing quote after it is no sign
                counts[2] += 1
                counts[3] += after == " "

    def result(self) -> Spacing:
        habits = {}
        for mark, (places, before, places_after, after) in self._counts.items():
            if places >= _ENOUGH:
                wide = 2 * after > places_after if places_after else mark not in _CLOSE_AFTER
                habits[mark] = (2 * before > places, wide)
        return Spacing(habits)
