"""The rule table: rules by source side, in one memory-mapped file.

Goes in: a file that `hopefear extract` or `rules.moses.read_table` made, or the grammar of one
sentence in memory (`rules.cdec.read_grammar`). Comes out: `Rule`s.

    table = RuleTable.open("model/rules.bin")
    for rule in table.lookup("la maison".split()): …

Opening takes milliseconds whatever the size. Decoders use the same file through the engine
(`table.engine`), where a node of the trie over source sides is a dotted item.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike

if TYPE_CHECKING:
    from hopefear import _engine

_NONTERMINAL = re.compile(r"\[(\S+?)(?:,\d+)?\]")
TABLE_FILE = "rules.bin"  # in the output of `hopefear extract` and in a model directory


class Counts(NamedTuple):
    """How often the target side, the source side and both together were extracted."""

    target: float
    source: float
    joint: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase pair, or a synchronous rule whose nonterminals are written `[X,1]`."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    scores: tuple[float, ...]  # natural logs, by the table's `columns`; reordering scores last
    alignment: tuple[tuple[int, int], ...]  # places (source, target), ordered by target
    counts: Counts
    sentence: int | None  # the only sentence pair it was extracted from, counted from 0
    label: str | None = None  # of the left-hand side, if it has one
    sparse: tuple[tuple[str, float], ...] = ()  # scores that are no columns, with their names


class RuleTable:
    """Read-only; may be shared by threads."""

    def __init__(self, engine: _engine.RuleTable) -> None:
        self.engine = engine
        self.columns: tuple[str, ...] = tuple(engine.columns)

    @classmethod
    def open(cls, path: PathLike, *, verify: bool = False) -> RuleTable:
        """Map a file. `verify` reads all of it and checks every checksum, also of a large file."""
        from hopefear import _engine

        return cls(_engine.RuleTable.open(os.fspath(path), verify))

    @property
    def reordering_columns(self) -> tuple[str, ...]:
        """The last columns: none, three (backward) or six (backward, forward)."""
        return self.columns[len(self.columns) - self.engine.reordering :]

    def __len__(self) -> int:
        return len(self.engine)

    def lookup(self, source: Sequence[str]) -> list[Rule]:
        """The rules of a source side, best first; empty if there is none.

        A nonterminal is written `[X,1]` or `[X]`, unless there is a word spelled like that.
        """
        if isinstance(source, str):
            raise TypeError("a source side is a sequence of words; use text.split()")
        node = self.engine.root
        symbols: list[str | int] = []
        for word in source:
            symbol: str | int | None = word
            child = self.engine.child(node, word)
            if child is None and (match := _NONTERMINAL.fullmatch(word)):
                symbol = self.engine.find_label(match[1])
                child = None if symbol is None else self.engine.child(node, symbol)
            if child is None or symbol is None:
                return []
            node = child
            symbols.append(symbol)
        return list(self._rules(node, symbols))

    def __iter__(self) -> Iterator[Rule]:
        """All rules, by source side; a source side comes before those it begins."""
        stack: list[tuple[int, list[str | int]]] = [(self.engine.root, [])]
        while stack:
            node, symbols = stack.pop()
            yield from self._rules(node, symbols)
            for symbol, child in reversed(self.engine.edges(node)):
                stack.append((child, [*symbols, symbol]))

    def statistics(self) -> dict[str, int]:
        """Sizes: rules, source sides, one-sentence rules, nodes, words, longest sides, labels, …"""
        return dict(self.engine.statistics())

    @property
    def info(self) -> dict[str, Any]:
        """How the table was made, in the words of its maker."""
        try:
            return dict(json.loads(self.engine.info or "{}"))
        except (ValueError, TypeError, RecursionError):
            raise InputError(
                f"{self.engine.path}: damaged: what it says of its making is no JSON object; "
                "re-create it with 'hopefear extract'"
            ) from None

    def _rules(self, node: int, symbols: Sequence[str | int]) -> Iterator[Rule]:
        """The rules of a node, whose source side is words and labels of nonterminals."""
        begin, end = self.engine.rules(node)
        if begin == end:
            return
        nonterminals: list[str] = []
        source = []
        for symbol in symbols:
            if isinstance(symbol, int):
                nonterminals.append(f"[{self.engine.label(symbol)},{len(nonterminals) + 1}]")
                symbol = nonterminals[-1]
            source.append(symbol)
        for number in range(begin, end):
            target, links, scores, counts, sentence, label, sparse = self.engine.rule(number)
            if any(isinstance(s, int) and s >= len(nonterminals) for s in target):
                raise InputError(
                    f"{self.engine.path}: damaged: a target side has more nonterminals than its "
                    "source side; re-create it with 'hopefear extract'"
                )
            words = tuple(s if isinstance(s, str) else nonterminals[s] for s in target)
            yield Rule(
                tuple(source), words, scores, links, Counts(*counts), sentence, label, sparse
            )
