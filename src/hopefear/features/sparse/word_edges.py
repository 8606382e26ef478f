"""WordEdges: combinations of the words at the edges of a rule use.  [yu2013]

For a rule at a place of the sentence there are

    sp  the source word before it       s0  its first source word     t0  its first target word
    sn  the source word behind it       s1  its last source word      t1  its last target word
    len  the number of its source words

each of them at a level of back-off, with the budget of the paper's table 1:

    .w word 5       .c character 3 (source: the one nearest to the edge)     .b Brown cluster 3
    .6 .4 the first bits of its path 2       .t part of speech 2     .y type 1 (source)

A combination is `s0.w+t0.w`; where it fires the feature is `word-edges:s0.w+t0.w|maison|house`. The
budgets of a combination add up to no more than `budget`. All combinations would be 27,012 for each
rule use: a chosen list is taken, `combinations()` below, or one of your own (`list`, `file`).
Clusters are in the model directory (`hopefear train --clusters 200`), and so are the most frequent
tags of words; a source word has its tag in this sentence if the model has a tagger.

Differs: errata 4.1: a list instead of all combinations; the length costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hopefear.base.config import option
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import display_name
from hopefear.base.registry import register
from hopefear.features.feature import EngineFeature
from hopefear.features.word_lists import WordLists
from hopefear.text.lines import read_lines

EDGES = ("sp", "s0", "s1", "sn", "t0", "t1", "len")  # the order of the engine
LEVELS = ("w", "c", "b", "6", "4", "t", "y")  # likewise
BUDGETS = {"w": 5, "c": 3, "b": 3, "6": 2, "4": 2, "t": 2, "y": 1}  # Yu et al. 2013, table 1
_ALL_LEVELS = "".join(LEVELS)
_SOURCE_ONLY = ("c", "y")
_CLUSTERS = ("b", "6", "4")

Atom = tuple[int, int]  # edge and level, by number


def combinations() -> Iterator[str]:
    """The list that is taken unless another one is given."""
    # What stands beside what: inside the rule, across its borders, across languages.
    pairs = "s0+t0 s1+t1 s0+t1 s1+t0 s0+s1 t0+t1 sp+s0 s1+sn sp+t0 sn+t1 sp+sn sp+t1 sn+t0"
    for first, second in (pair.split("+") for pair in pairs.split()):
        for a, b in ("ww", "wb", "bw", "bb", "66", "tt"):
            yield f"{first}.{a}+{second}.{b}"
    for edge in EDGES[:-1]:
        yield f"{edge}.w"
        yield f"len+{edge}.w"
        yield f"len+{edge}.b"
    for edge in ("sp", "s0", "s1", "sn"):  # source words only
        yield f"{edge}.c+t0.b+t1.b"
        yield f"{edge}.y+t0.w"
    for three in ("sp+s0+t0", "s1+sn+t1", "s0+s1+t0", "s0+t0+t1", "sp+t0+t1", "sn+t0+t1"):
        a, b, c = three.split("+")
        yield f"{a}.b+{b}.b+{c}.b"
        yield f"{a}.w+{b}.6+{c}.6"
        yield f"{a}.t+{b}.t+{c}.w"
    yield "sp.4+s0.4+t0.4+t1.4"
    yield "s1.4+sn.4+t0.4+t1.4"
    yield "sp.t+s0.t+s1.t+sn.t"
    yield "len+sp.4+s0.4+s1.4+sn.4"
    yield "s0.4+s1.4+t0.4+t1.4+sp.4"


def parse_combination(text: str) -> list[Atom]:
    """The atoms of `s0.w+t0.w`; an `OptionError` says what is wrong with it."""
    atoms: list[Atom] = []
    for part in text.split("+"):
        edge, _, level = part.partition(".")
        if edge == "len" and not level:
            atoms.append((EDGES.index("len"), 0))
            continue
        if edge not in EDGES or level not in LEVELS or edge == "len":
            raise OptionError(
                f"word-edges: combination {text!r}: {part!r} is no edge with a level; give one of "
                f"{', '.join(EDGES[:-1])} with one of .{', .'.join(LEVELS)}, or len"
            )
        if edge.startswith("t") and level in _SOURCE_ONLY:
            raise OptionError(
                f"word-edges: combination {text!r}: level .{level} is for source words only"
            )
        atoms.append((EDGES.index(edge), LEVELS.index(level)))
    if len({edge for edge, _ in atoms}) < len(atoms):
        raise OptionError(f"word-edges: combination {text!r} has an edge twice; leave one out")
    return atoms


def levels_of(atoms: Sequence[Atom]) -> list[str]:
    """Those of words; the length has none."""
    return [LEVELS[level] for edge, level in atoms if EDGES[edge] != "len"]


def _needs(atoms: Sequence[Atom]) -> set[str]:
    """What a model must have for a combination."""
    needed = set()
    for edge, level in atoms:
        side = "target" if EDGES[edge].startswith("t") else "source"
        if EDGES[edge] != "len" and LEVELS[level] in _CLUSTERS:
            needed.add(f"{side} clusters")
        if EDGES[edge] != "len" and LEVELS[level] == "t":
            needed.add(f"{side} tags")
    return needed


def _read(file: Path) -> list[str]:
    """The combinations of a file; # is for remarks."""
    lines = [line.strip() for line in read_lines(file)]
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise InputError(f"{display_name(file)}: no combinations; give one on each line")
    return found


@register("feature", "word-edges")
@dataclass(frozen=True, kw_only=True)
class WordEdges(EngineFeature):
    label: ClassVar[str] = "word-edges"

    file: Path | None = option(
        None, help="combinations to take, one on each line, instead of the usual list"
    )
    list_: list[str] = option([], help="the same, combinations between commas")
    levels: str = option(
        _ALL_LEVELS, help="take those of the list that have these levels only ('b64': classes)"
    )
    budget: int = option(
        10,
        min=1,
        help="what a combination may cost at most; those of the usual list that cost "
        "more are left out",
    )

    @classmethod
    def settled(cls, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        given = dict(options)
        if isinstance(given.get("file"), str | Path):
            if given.get("list"):
                raise OptionError("word-edges: file and list are both given; give one")
            given["list"] = _read(folder / given.pop("file"))
        return given

    @property
    def own(self) -> list[str]:
        """Combinations that were asked for by name."""
        return self.list_ if self.file is None else _read(self.file)

    def combinations(self) -> list[str]:
        """Those that fire, with the levels and the classes there are."""
        own = self.own
        unknown = set(self.levels) - set(LEVELS)
        if unknown or not self.levels:
            raise OptionError(f"word-edges: levels={self.levels}: give some of {_ALL_LEVELS}")
        chosen = []
        for text in dict.fromkeys(own or combinations()):
            levels = levels_of(parse_combination(text))
            if not set(levels) <= set(self.levels):
                continue
            cost = sum(BUDGETS[level] for level in levels)
            if cost <= self.budget:
                chosen.append(text)
            elif own:
                raise OptionError(
                    f"word-edges: combination {text!r} costs {cost}, more than the budget of "
                    f"{self.budget}; take coarser levels or set a larger budget"
                )
        if not chosen:
            raise OptionError(
                f"word-edges: no combination has the levels {self.levels} only and costs at most "
                f"{self.budget}"
            )
        return chosen

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        classes = lists.classes
        rows = {side: getattr(classes, side).rows() for side in ("source", "target")}
        known = {
            f"{side} {what}": any(row[column] for row in rows[side])
            for side in rows
            for column, what in ((1, "clusters"), (2, "tags"))
        }
        known["source tags"] |= classes.tagger
        chosen, left_out = [], ""
        for text in self.combinations():
            atoms = parse_combination(text)
            missing = sorted(one for one in _needs(atoms) if not known[one])
            if any(one.endswith("clusters") for one in missing):
                raise InputError(
                    f"{classes.place}: has no {missing[0]}, which the feature template word-edges "
                    "needs; train with --clusters 200, or set levels=wcy"
                )
            if missing:
                left_out = missing[0]
            else:
                chosen.append((text, atoms))
        # Without tags those of the usual list that ask for them are all alike: they are left out,
        # unless tags were asked for.
        tagged = any("t" in levels_of(atoms) for _, atoms in chosen)
        if left_out and (self.own or (self.levels != _ALL_LEVELS and not tagged)):
            raise InputError(
                f"{classes.place}: has no {left_out}, which combinations of the feature template "
                f"word-edges ask for; train with --{left_out.replace(' ', '-')}, or leave .t out"
            )
        return {"combinations": chosen, **rows}
