"""Corpus cleaning: removal of sentence pairs that would harm training.

Takes tokenised parallel files (words are separated by blanks, so a raw Chinese line would be one
word); writes the same files without the bad pairs, also from further parallel files (documents,
alignments, references), and returns a `CleanReport` with the number of dropped pairs and the first
line numbers for each reason.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TextIO

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.base.progress import Progress
from hopefear.text.lines import read_parallel, write_parallel

_SHOWN = 5  # line numbers per reason


@dataclass(kw_only=True)
class CleanRules:
    """The rules that sentence pairs must satisfy to be kept."""

    min_words: int = option(1, min=0, help="minimum number of words in a sentence")
    max_words: int = option(80, min=1, help="maximum number of words in a sentence")
    max_ratio: float = option(
        9.0, min=1, help="maximum ratio of the lengths of the two sides, in words"
    )
    max_word_length: int = option(100, min=1, help="maximum number of characters in a word")
    drop_identical: bool = option(False, help="drop pairs with identical sides")
    drop_repeated: bool = option(False, help="drop repetitions of earlier pairs")

    def __post_init__(self) -> None:
        if self.min_words > self.max_words:
            raise OptionError(
                f"--min-words {self.min_words} is more than --max-words {self.max_words}; "
                "nothing would be left"
            )

    def fault(self, source: Sequence[str], target: Sequence[str]) -> tuple[str, str] | None:
        """Return the first violated rule as (key of the report, value); None for a good pair."""
        lengths = len(source), len(target)
        shown = f"{lengths[0]} and {lengths[1]} words"
        low, high = min(lengths), max(lengths)
        if low == 0 and self.min_words > 0:
            return "empty", shown
        if low < self.min_words:
            return "short", shown
        if high > self.max_words:
            return "long", shown
        if high > self.max_ratio * max(low, 1):
            return "ratio", shown
        longest = max((len(word) for words in (source, target) for word in words), default=0)
        if longest > self.max_word_length:
            return "word-length", f"{longest} characters"
        if self.drop_identical and source == target and source:
            return "identical", shown
        return None


@dataclass
class CleanReport:
    """Numbers of pairs read, kept and dropped."""

    pairs: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # reason -> pairs
    lines: dict[str, list[int]] = field(default_factory=dict)  # reason -> first line numbers

    def drop(self, reason: str, number: int) -> None:
        """Count line `number` as dropped."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        first = self.lines.setdefault(reason, [])
        if len(first) < _SHOWN:
            first.append(number)

    def to_mapping(self) -> dict[str, Any]:
        """Return the report as a mapping for JSON."""
        return {
            "pairs": self.pairs,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "first_lines": {reason: list(lines) for reason, lines in self.lines.items()},
        }

    def text(self) -> str:
        """Return the report as a line of text."""
        parts = [f"kept {self.kept:,} of {self.pairs:,} pairs"]
        for reason, count in sorted(self.dropped.items(), key=lambda item: -item[1]):
            lines = ", ".join(map(str, self.lines[reason]))
            more = ", …" if count > len(self.lines[reason]) else ""
            parts.append(f"{reason}: {count:,} (line {lines}{more})")
        return "; ".join(parts)


class Cleaning:
    """Cleaning of one corpus: `rows` yields the good rows and fills `report`."""

    def __init__(self, rules: CleanRules, log: TextIO | None = None) -> None:
        self.rules, self.log = rules, log
        self.report = CleanReport()
        self._seen: set[bytes] = set()  # 16 bytes per pair, whatever its length

    def rows(self, rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """Rows whose first two columns, source and target, obey the rules."""
        for number, row in enumerate(rows, 1):
            self.report.pairs += 1
            source, target = row[0].split(), row[1].split()
            fault = self.rules.fault(source, target) or self._repeated(source, target)
            if fault is None:
                self.report.kept += 1
                yield row
                continue
            reason, value = fault
            self.report.drop(reason, number)
            if self.log is not None:
                self.log.write(f"{number}\t{reason}\t{value}\n")

    def _repeated(self, source: list[str], target: list[str]) -> tuple[str, str] | None:
        if not self.rules.drop_repeated:
            return None
        text = " ".join(source) + "\n" + " ".join(target)
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if digest in self._seen:
            return "repeated", f"{len(source)} and {len(target)} words"
        self._seen.add(digest)
        return None


def clean_files(
    inputs: Sequence[PathLike],
    outputs: Sequence[PathLike],
    rules: CleanRules,
    *,
    log: PathLike | None = None,
    step: Progress | None = None,
) -> CleanReport:
    """Clean source and target (`inputs[:2]`), drop the same lines of further inputs, and report.

    `log` gets a line for each dropped pair: number, reason and value, separated by tabs.
    """
    if len(inputs) != len(outputs) or len(inputs) < 2:
        raise OptionError(
            f"{len(inputs)} input files and {len(outputs)} output files; "
            "give source and target, and one output for each input"
        )
    if log is not None and os.path.realpath(log) in map(os.path.realpath, (*inputs, *outputs)):
        raise OptionError(f"--log: {display_name(log)} is a file of the corpus; give another name")
    with write_text(log) if log is not None else nullcontext() as file:
        cleaning = Cleaning(rules, file)
        rows = cleaning.rows(_counted(read_parallel(inputs), step))
        write_parallel(outputs, rows)
    return cleaning.report


def _counted(rows: Iterator[tuple[str, ...]], step: Progress | None) -> Iterator[tuple[str, ...]]:
    for row in rows:
        if step is not None:
            step.advance()
        yield row
