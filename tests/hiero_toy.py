"""Small synchronous grammars, and all derivations of a sentence by definition, to compare with."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest import Forest, kbest
from hopefear.rules.cdec import read_grammar
from hopefear.rules.table import RuleTable

Yield = tuple[tuple[str, ...], tuple[tuple[str, float], ...]]  # words, features


class ToyRule(NamedTuple):
    """Nonterminals are written `[A,1]` on both sides."""

    label: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    score: float = 0.0

    @classmethod
    def of(cls, text: str, score: float = 0.0) -> ToyRule:
        """From `A ||| x [B,1] ||| [B,1] y`."""
        label, source, target = (part.strip() for part in text.split("|||"))
        return cls(label, tuple(source.split()), tuple(target.split()), score)

    @property
    def line(self) -> str:
        sides = f"{' '.join(self.source)} ||| {' '.join(self.target)}"
        return f"[{self.label}] ||| {sides} ||| tm={self.score}"


def table_of(rules: Sequence[ToyRule], path: Path) -> RuleTable:
    path.write_text("".join(rule.line + "\n" for rule in rules), encoding="utf-8")
    return read_grammar(path)


def derivations(
    rules: Sequence[ToyRule],
    words: Sequence[str],
    *,
    span_limit: int = 15,
    pass_through_all: bool = False,
    glue: bool = True,
    glue_labels: str = "all",
) -> list[Yield]:
    """All of a sentence, sorted; no unary cycles, please. Features as in models of our own."""
    size = len(words)
    alone = {rule.source for rule in rules if len(rule.source) == 1}
    labels = sorted({rule.label for rule in rules} | {"X"})

    @functools.cache
    def below(label: str, begin: int, end: int) -> list[Yield]:
        found = []
        if end - begin <= span_limit:
            for rule in rules:
                if rule.label == label:
                    for spans in matches(rule.source, words, begin, end):
                        parts = [below(part, b, e) for part, b, e in spans]
                        found += [together(rule, choice) for choice in itertools.product(*parts)]
        if label == "X" and end == begin + 1:
            word = words[begin]
            if pass_through_all or (word,) not in alone:
                counts = {"arity0": 1, "rules": 1, "source-words": 1, "words": 1, "pass-through": 1}
                found.append(((word,), tuple(sorted(counts.items()))))
        if label == "S" and begin == 0 and glue:
            for other in labels if glue_labels == "all" else ["X"]:
                for low in below(other, 0, end):
                    found.append(merged((), [low], {"arity1": 1, "rules": 1}))
                for middle in range(1, end):
                    for left in below("S", 0, middle):
                        for right in below(other, middle, end):
                            counts = {"arity2": 1, "rules": 1, "glue": 1}
                            found.append(merged((), [left, right], counts))
        return found

    return sorted(below("S", 0, size)) if size else [((), ())]


def matches(
    source: Sequence[str], words: Sequence[str], begin: int, end: int
) -> Iterator[list[tuple[str, int, int]]]:
    """The (label, begin, end) of the nonterminals, for each way a source side fits a span."""
    if not source:
        if begin == end:
            yield []
        return
    first, rest = source[0], source[1:]
    if not first.startswith("["):
        if begin < end and words[begin] == first:
            yield from matches(rest, words, begin + 1, end)
        return
    label = first[1:-1].split(",")[0]
    for middle in range(begin + 1, end + 1):
        for spans in matches(rest, words, middle, end):
            yield [(label, begin, middle), *spans]


def together(rule: ToyRule, parts: Sequence[Yield]) -> Yield:
    gaps = [symbol for symbol in rule.source if symbol.startswith("[")]
    words = [symbol for symbol in rule.target if not symbol.startswith("[")]
    counts = {
        "tm": rule.score,
        f"arity{len(gaps)}": 1,
        "rules": 1,
        "source-words": len(rule.source) - len(gaps),
        "words": len(words),
    }
    return merged([gaps.index(s) if s.startswith("[") else s for s in rule.target], parts, counts)


def merged(target: Sequence[str | int], parts: Sequence[Yield], counts: dict[str, float]) -> Yield:
    words: list[str] = []
    for symbol in target or range(len(parts)):
        words += [symbol] if isinstance(symbol, str) else parts[symbol][0]
    total = Counter(counts)
    for _, features in parts:
        total.update(dict(features))
    return tuple(words), tuple(sorted((k, round(v, 4)) for k, v in total.items() if v))


def all_of(forest: Forest, names: FeatureNames, drop: Sequence[str] = ()) -> list[Yield]:
    """The same of a forest's goal; `drop`: features to leave out."""
    found = []
    for derivation in kbest(forest, Weights(), k=1_000_000):
        vector = derivation.features
        features = []
        for id, value in zip(vector.ids.tolist(), vector.values.tolist(), strict=True):
            name = names.name(id)
            assert name is not None
            if name not in drop and round(value, 4):
                features.append((name, round(value, 4)))
        found.append((tuple(derivation.words), tuple(sorted(features))))
    return sorted(found)
