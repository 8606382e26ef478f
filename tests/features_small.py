"""A small hierarchical model of an aligned text, word lists, and what templates fire by definition.

`DEFINITIONS` has each template in Python over a `RuleUse`; the engine is held to it.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from lm_arpa import SMALL, write_arpa

from hopefear.base.weights import SparseVector, Weights
from hopefear.decode.chart import ChartOptions, HieroDecoder
from hopefear.features.feature import Feature, PythonFeature, RuleUse
from hopefear.features.sparse.word_edges import combinations
from hopefear.features.word_classes import SideClasses, WordClasses
from hopefear.features.word_lists import WordLists
from hopefear.forest import Derivation
from hopefear.lm import LanguageModel
from hopefear.rules.extract import extract
from hopefear.rules.hiero import HieroExtractOptions
from hopefear.rules.table import RuleTable

# Source words d e f u, target words a b c; unaligned words on both sides, swaps.
BITEXT = [
    ("d e f", "a b c", "0-0 1-1 2-2"),
    ("d e f u", "b a c", "0-1 1-0 3-2"),
    ("e d", "b z a", "0-0 1-2"),
    ("d f e d", "a c a b", "0-0 1-1 2-3 3-2"),
    ("e", "b", "0-0"),
    ("f u d", "c a", "0-0 2-1"),
    ("d e", "a b", "0-0 1-1"),
    ("e f d e f", "c b a c b", "0-1 1-0 2-2 3-4 4-3"),
]

# Some of the words have none; a path that is shorter than a prefix, tags of both sides.
CLASSES = WordClasses(
    SideClasses({"d": "0110011", "e": "011000", "f": "01"}, {"d": "N", "e": "V", "u": "X"}),
    SideClasses({"a": "1010101", "b": "1010111"}, {"a": "DT", "c": "NN"}),
)


def word_lists(folder: Path, limit: int = 4) -> WordLists:
    paths = [folder / name for name in ("source", "target", "alignment")]
    for path, lines in zip(paths, zip(*BITEXT, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return replace(WordLists.count(*paths, limit=limit), classes=CLASSES)


class SmallHiero:
    """Rules extracted from `BITEXT`, and word lists of it, short (4 entries) and full."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as name:  # what was mapped stays
            folder = Path(name)
            self.lists = word_lists(folder)
            self.full_lists = word_lists(folder, limit=1000)
            paths = [folder / name for name in ("source", "target", "alignment")]
            options = HieroExtractOptions(threads=1, limit=0)
            extract(*paths, folder / "rules.bin", options)
            self.rules = RuleTable.open(folder / "rules.bin")
            self.lm = LanguageModel.load(write_arpa(folder / "lm.arpa", SMALL))

    def decoder(
        self, templates: Iterable[Feature], *, full_lists: bool = False, **options: object
    ) -> HieroDecoder:
        chosen = ChartOptions(**{"pop_limit": 50, **options})  # type: ignore[arg-type]
        return HieroDecoder(
            self.rules,
            {"lm": self.lm},
            options=chosen,
            templates=templates,
            lists=self.full_lists if full_lists else self.lists,
        )

    def weights(self) -> Weights:
        names = (*self.rules.columns, "lm", "words", "glue", "arity1", "arity2", "pass-through")
        return Weights({name: math.sin(i + 1) for i, name in enumerate(names)})


def named(vector: SparseVector, decoder: HieroDecoder) -> dict[str, float]:
    ids, values = vector.ids.tolist(), vector.values.tolist()
    return {str(decoder.names.name(i)): v for i, v in zip(ids, values, strict=True)}


# -- the definitions --

Fired = Iterator[tuple[str, float]]
Definition = Callable[[RuleUse, WordLists], Fired]


def places(use: RuleUse) -> list[int | None]:
    """Where each symbol of the source side is in the sentence; None for nonterminals."""
    found: list[int | None] = []
    at = use.span[0]
    for symbol in use.source_side:
        if isinstance(symbol, int):
            found.append(None)
            at = use.gaps[symbol][1]
        else:
            found.append(at)
            assert use.source[at] == symbol
            at += 1
    assert at == use.span[1]
    return found


def links(use: RuleUse) -> Iterator[tuple[int, str, int, str]]:
    """Places and words of the links between words."""
    for i, j in use.links:
        f, e = use.source_side[i], use.target_side[j]
        if isinstance(f, str) and isinstance(e, str):
            yield i, f, j, e


def word_pairs(use: RuleUse, lists: WordLists) -> Fired:
    for _, f, _, e in links(use):
        yield f"{f}|{e}", 1


def triples(use: RuleUse, show_pair: Callable[[str, str], str], known: set[str] | None) -> Fired:
    sentence = ["<s>", *use.source, "</s>"]

    def shown(word: str) -> str:
        return word if known is None or word in known or word in ("<s>", "</s>") else "<unk>"

    for i, f, _, e in links(use):
        at = places(use)[i]
        assert at is not None
        f, e = show_pair(f, e).split()
        yield f"left|{shown(sentence[at])}|{f}|{e}", 1
        yield f"right|{f}|{shown(sentence[at + 2])}|{e}", 1


def context_of_pairs(use: RuleUse, lists: WordLists) -> Fired:
    pairs = lists.pairs(3, "test")
    yield from triples(
        use, lambda f, e: f"{f} {e}" if (f, e) in pairs else "<unk> <unk>", {f for f, _ in pairs}
    )


def context_of_words(use: RuleUse, lists: WordLists) -> Fired:
    source, target = (set(lists.words(side, 2, "test")) for side in ("source", "target"))
    yield from triples(
        use,
        lambda f, e: f"{f if f in source else '<unk>'} {e if e in target else '<unk>'}",
        source,
    )


def context_of_all(use: RuleUse, lists: WordLists) -> Fired:
    yield from triples(use, lambda f, e: f"{f} {e}", None)


def unaligned_target(use: RuleUse, known: Sequence[str] | None) -> list[str]:
    linked = {j for _, j in use.links}
    return [
        word
        for j, word in enumerate(use.target_side)
        if isinstance(word, str) and j not in linked and (known is None or word in known)
    ]


def insertion_pairs(use: RuleUse, lists: WordLists) -> Fired:
    for e in unaligned_target(use, lists.words("inserted", 1, "test")):
        for f in use.source_side:
            if isinstance(f, str):
                yield f"{e}|{f}", 1


def insertion_alone(use: RuleUse, lists: WordLists) -> Fired:
    for e in unaligned_target(use, None):
        yield e, 1


def deletion(use: RuleUse, lists: WordLists) -> Fired:
    linked = {i for i, _ in use.links}
    for i, f in enumerate(use.source_side):
        if isinstance(f, str) and i not in linked and f in lists.words("deleted", 1, "test"):
            yield f, 1


def deletion_of_all(use: RuleUse, lists: WordLists) -> Fired:
    linked = {i for i, _ in use.links}
    for i, f in enumerate(use.source_side):
        if isinstance(f, str) and i not in linked:
            yield f, 1


def rule_id(use: RuleUse, lists: WordLists) -> Fired:
    sides = (use.source_side, use.target_side)
    yield (
        "|".join(
            "_".join(s if isinstance(s, str) else f"[{s + 1}]" for s in side) for side in sides
        ),
        1,
    )


def rule_shape(use: RuleUse, lists: WordLists) -> Fired:
    sides = (use.source_side, use.target_side)
    yield "|".join("".join("1" if isinstance(s, str) else "0" for s in side) for side in sides), 1


def rule_shape_of_runs(use: RuleUse, lists: WordLists) -> Fired:
    ((shape, value),) = rule_shape(use, lists)
    while "11" in shape:
        shape = shape.replace("11", "1")
    yield shape, value


def structural_distortion(use: RuleUse, lists: WordLists) -> Fired:
    points = {(use.source_side.index(k), use.target_side.index(k)) for k in range(len(use.gaps))}
    words = {(i, j) for i, _, j, _ in links(use)}
    for k, (begin, end) in enumerate(use.gaps):
        i, j = use.source_side.index(k), use.target_side.index(k)
        crossed = any((a - i) * (b - j) < 0 for a, b in points | words)
        yield f"{'reordered' if crossed else 'monotone'}|{min(end - begin, 2)}", 1


def word_edges(use: RuleUse, lists: WordLists, only: str = "wcb64ty") -> Fired:
    def levels(word: str, classes: SideClasses, left: bool) -> dict[str, str]:
        path = classes.paths.get(word, "")
        kind = "letters" if word.isalpha() else "other"
        return {
            "w": word,
            "c": word[0 if left else -1],
            "b": path or "<unk>",
            "6": path[:6] or "<unk>",
            "4": path[:4] or "<unk>",
            "t": classes.tags.get(word, "<unk>"),
            "y": kind,
        }

    begin, end = use.span
    edges: dict[str, dict[str, str]] = {}
    for name, place in (("sp", begin - 1), ("s0", begin), ("s1", end - 1), ("sn", end)):
        if 0 <= place < len(use.source):
            left = name in ("s0", "sn")
            edges[name] = levels(use.source[place], lists.classes.source, left)
            if use.tags:
                edges[name]["t"] = use.tags[place]
        else:
            edges[name] = dict.fromkeys("wcb64ty", "<s>" if place < 0 else "</s>")
    for name, symbol in (("t0", use.target_side[0]), ("t1", use.target_side[-1])):
        if isinstance(symbol, str):
            edges[name] = levels(symbol, lists.classes.target, True)
    for combination in combinations():
        parts = [part.split(".") for part in combination.split("+")]
        words = [part for part in parts if part[0] != "len"]
        if any(edge not in edges or level not in only for edge, level in words):
            continue
        values = [
            str(end - begin) if part[0] == "len" else edges[part[0]][part[1]] for part in parts
        ]
        yield "|".join([combination, *values]), 1


def word_edges_of_classes(use: RuleUse, lists: WordLists) -> Fired:
    yield from word_edges(use, lists, "b64")


def count_discount(use: RuleUse, lists: WordLists) -> Fired:
    count = math.ceil(use.counts.joint - 1e-4)
    yield ("1" if count <= 1 else "[2,3]" if count <= 3 else "[4,)"), 1


# Template, its options, the definition.
DEFINITIONS: list[tuple[str, dict[str, object], Definition]] = [
    ("word-pairs", {}, word_pairs),
    ("word-context", {"size": 3}, context_of_pairs),
    ("word-context", {"known": "words", "size": 2}, context_of_words),
    ("word-context", {"size": 0}, context_of_all),
    ("insertion", {"size": 1}, insertion_pairs),
    ("insertion", {"size": 0, "with_source": False}, insertion_alone),
    ("deletion", {"size": 1}, deletion),
    ("deletion", {"size": 0}, deletion_of_all),
    ("rule-id", {}, rule_id),
    ("rule-shape", {}, rule_shape),
    ("rule-shape", {"runs": True}, rule_shape_of_runs),
    ("structural-distortion", {"longest": 2}, structural_distortion),
    ("count-discount", {"bins": [1, 3]}, count_discount),
    ("word-edges", {}, word_edges),
    ("word-edges", {"levels": "b64"}, word_edges_of_classes),
]


class Defined(PythonFeature):
    """A definition as a template; rules that are in no table fire nothing."""

    label: ClassVar[str] = "defined"
    needs_gaps: ClassVar[bool] = True

    def __init__(self, definition: Definition, lists: WordLists) -> None:
        self.definition, self.lists = definition, lists

    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        if use.rule >= 0:
            for part, value in self.definition(use, self.lists):
                yield f"defined:{part}", value


def fired_by(features: dict[str, float], label: str) -> dict[str, float]:
    return {
        name.split(":", 1)[1]: v for name, v in features.items() if name.startswith(f"{label}:")
    }


def bigrams(derivation: Derivation, known: Sequence[str] | None = None) -> Counter[str]:
    words = [word if known is None or word in known else "<unk>" for word in derivation.words]
    ends = ["<s>", *words, "</s>"]
    return Counter(f"{a}|{b}" for a, b in pairwise(ends))
