"""The rule table: rules by source side, in one memory-mapped file.

Takes a file written by `hopefear extract` or `rules.moses.read_table`, or a grammar in memory
(`rules.cdec.read_grammar`), and returns `Rule`s.

    table = RuleTable.open("model/rules.bin")
    for rule in table.lookup("la maison".split()): …

Opening takes 20 ms per 100 MB, to compare the file with its checksums. Decoders use the same file
through the engine (`table.engine`); a node of its trie over source sides is a dotted item.
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
    """The numbers of extractions of the target side, the source side, and the pair."""

    target: float
    source: float
    joint: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase pair, or a synchronous rule whose nonterminals are written `[X,1]`."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    scores: tuple[float, ...]  # natural logs, in the order of `columns`; reordering scores last
    alignment: tuple[tuple[int, int], ...]  # positions (source, target), ordered by target
    counts: Counts
    sentence: int | None  # number from 0 of the sentence pair, if extracted from one pair only
    label: str | None = None  # of the left-hand side
    sparse: tuple[tuple[str, float], ...] = ()  # names and values of scores outside the columns
    fragment: str | None = None  # the target side as a piece of tree: (NP (DT the) [NN,1])


class RuleTable:
    """A read-only rule table. Threads may share an object."""

    def __init__(self, engine: _engine.RuleTable) -> None:
        self.engine = engine
        self.columns: tuple[str, ...] = tuple(engine.columns)

    @classmethod
    def open(cls, path: PathLike) -> RuleTable:
        """Map a file into memory and compare it with its checksums."""
        from hopefear import _engine

        return cls(_engine.RuleTable.open(os.fspath(path)))

    @property
    def reordering_columns(self) -> tuple[str, ...]:
        """The last columns: none, three (backward) or six (backward, forward)."""
        return self.columns[len(self.columns) - self.engine.reordering :]

    def __len__(self) -> int:
        return len(self.engine)

    def lookup(self, source: Sequence[str]) -> list[Rule]:
        """Return the rules of a source side, best first; an empty list if there is none.

        `[X,1]` and `[X]` are nonterminals, unless the table has such a word at that position.
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

    def single_words(self) -> dict[str, float]:
        """Return the words that are a source side of their own, with the count of their rules."""
        words = {}
        for symbol, node in self.engine.edges(self.engine.root):
            begin, end = self.engine.rules(node)
            if isinstance(symbol, str) and begin < end:
                words[symbol] = Counts(*self.engine.rule(begin)[3]).source
        return words

    def covered(self, words: Sequence[str]) -> set[int]:
        """Return the positions of a sentence that source sides without nonterminals cover."""
        positions: set[int] = set()
        for begin in range(len(words)):
            node = self.engine.root
            for end in range(begin, len(words)):
                child = self.engine.child(node, words[end])
                if child is None:
                    break
                node = child
                first, last = self.engine.rules(node)
                if first < last:
                    positions.update(range(begin, end + 1))
        return positions

    def __iter__(self) -> Iterator[Rule]:
        """Yield all rules by source side; a source side precedes those that it is a prefix of."""
        stack: list[tuple[int, list[str | int]]] = [(self.engine.root, [])]
        while stack:
            node, symbols = stack.pop()
            yield from self._rules(node, symbols)
            for symbol, child in reversed(self.engine.edges(node)):
                stack.append((child, [*symbols, symbol]))

    def statistics(self) -> dict[str, int]:
        """Return sizes: rules, source sides, single-sentence rules, nodes, words, labels, …"""
        return dict(self.engine.statistics())

    @property
    def info(self) -> dict[str, Any]:
        """The record of how the table was created: program, system, extraction options."""
        try:
            return dict(json.loads(self.engine.info or "{}"))
        except (ValueError, TypeError, RecursionError):
            raise InputError(
                f"{self.engine.path}: damaged: the record of its creation is not a JSON object; "
                "re-create it with 'hopefear extract'"
            ) from None

    def _rules(self, node: int, symbols: Sequence[str | int]) -> Iterator[Rule]:
        """Yield the rules of a node; `symbols`: words and nonterminal labels of its source side."""
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
                tuple(source),
                words,
                scores,
                links,
                Counts(*counts),
                sentence,
                label,
                sparse,
                self._fragment(number, words),
            )

    def _fragment(self, number: int, words: Sequence[str]) -> str | None:
        first, *rest = self.engine.fragment(number).split("\n")
        if not first:
            return None
        leaves = [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words]
        return first + "".join(map("".join, zip(leaves, rest, strict=True)))
