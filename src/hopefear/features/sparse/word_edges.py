"""WordEdges: combinations of the words at the edges of a rule use.  [yu2013]

The edges of a rule at a place of the sentence are

    sp  the source word before it       s0  its first source word     t0  its first target word
    sn  the source word after it        s1  its last source word      t1  its last target word
    len  the number of its source words

Each edge is used at a level of back-off, with the cost in the paper's table 1:

    .w word 5       .c character 3 (source: the one nearest to the edge)     .b Brown cluster 3
    .6 .4 the first bits of its path 2       .t part of speech 2     .y type 1 (source)

A combination such as `s0.w+t0.w` fires features such as `word-edges:s0.w+t0.w|maison|house`. The
costs of a combination add up to at most `budget`. There are 27,012 combinations for each rule use;
only a list of them fires, by default `combinations()` below, or your own (`list`, `file`). Clusters
and the most frequent tags of words are in the model directory (`hopefear train --clusters 200`); if
the model has a tagger, a source word has the tag that it has in the sentence.

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

EDGES = ("sp", "s0", "s1", "sn", "t0", "t1", "len")  # in the engine's order
LEVELS = ("w", "c", "b", "6", "4", "t", "y")  # in the engine's order
BUDGETS = {"w": 5, "c": 3, "b": 3, "6": 2, "4": 2, "t": 2, "y": 1}  # Yu et al. 2013, table 1
_ALL_LEVELS = "".join(LEVELS)
_SOURCE_ONLY = ("c", "y")
_CLUSTERS = ("b", "6", "4")

Atom = tuple[int, int]  # edge and level, by number


def combinations() -> Iterator[str]:
    """Yield the default list of combinations."""
    # Pairs of edges: inside the rule, across its borders, across languages.
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
    """Parse a combination such as `s0.w+t0.w`; raise an `OptionError` if it is malformed."""
    atoms: list[Atom] = []
    for part in text.split("+"):
        edge, _, level = part.partition(".")
        if edge == "len" and not level:
            atoms.append((EDGES.index("len"), 0))
            continue
        if edge not in EDGES or level not in LEVELS or edge == "len":
            raise OptionError(
                f"word-edges: combination {text!r}: {part!r} is not an edge with a level; give one "
                f"of {', '.join(EDGES[:-1])} with one of .{', .'.join(LEVELS)}, or len"
            )
        if edge.startswith("t") and level in _SOURCE_ONLY:
            raise OptionError(
                f"word-edges: combination {text!r}: level .{level} is for source words only; give "
                "another one"
            )
        atoms.append((EDGES.index(edge), LEVELS.index(level)))
    if len({edge for edge, _ in atoms}) < len(atoms):
        raise OptionError(f"word-edges: combination {text!r} has an edge twice; leave one out")
    return atoms


def levels_of(atoms: Sequence[Atom]) -> list[str]:
    """Return the levels of a combination's words; the length has no level."""
    return [LEVELS[level] for edge, level in atoms if EDGES[edge] != "len"]


def _needs(atoms: Sequence[Atom]) -> set[str]:
    """Return the word classes that a combination needs in a model."""
    needed = set()
    for edge, level in atoms:
        side = "target" if EDGES[edge].startswith("t") else "source"
        if EDGES[edge] != "len" and LEVELS[level] in _CLUSTERS:
            needed.add(f"{side} clusters")
        if EDGES[edge] != "len" and LEVELS[level] == "t":
            needed.add(f"{side} tags")
    return needed


def _read(file: Path) -> list[str]:
    """Read the combinations in a file, one on each line; lines with # are comments."""
    lines = [line.strip() for line in read_lines(file)]
    texts = [line for line in lines if line and not line.startswith("#")]
    if not texts:
        raise InputError(f"{display_name(file)}: no combinations; give one on each line")
    return texts


@register("feature", "word-edges")
@dataclass(frozen=True, kw_only=True)
class WordEdges(EngineFeature):
    """Combinations of the words at the edges of a rule use."""

    label: ClassVar[str] = "word-edges"

    file: Path | None = option(
        None, help="file of combinations, one on each line (default: the built-in list)"
    )
    list_: list[str] = option(
        [], help="combinations, separated by commas (default: the built-in list)"
    )
    levels: str = option(
        _ALL_LEVELS, help="levels; combinations with others do not fire ('b64': clusters only)"
    )
    budget: int = option(
        10,
        min=1,
        help="largest cost of a combination; costlier ones of the built-in list do not fire",
    )

    @classmethod
    def inline_files(cls, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        inlined = dict(options)
        if isinstance(inlined.get("file"), str | Path):
            if inlined.get("list"):
                raise OptionError("word-edges: file and list are both given; give one")
            inlined["list"] = _read(folder / inlined.pop("file"))
        return inlined

    @property
    def requested(self) -> list[str]:
        """The combinations of the options `list` and `file`; empty: the built-in list."""
        return self.list_ if self.file is None else _read(self.file)

    def combinations(self) -> list[str]:
        """Return the combinations that have the chosen levels only and respect the budget."""
        requested = self.requested
        unknown = set(self.levels) - set(LEVELS)
        if unknown or not self.levels:
            raise OptionError(f"word-edges: levels={self.levels}: give some of {_ALL_LEVELS}")
        chosen = []
        for text in dict.fromkeys(requested or combinations()):
            levels = levels_of(parse_combination(text))
            if not set(levels) <= set(self.levels):
                continue
            cost = sum(BUDGETS[level] for level in levels)
            if cost <= self.budget:
                chosen.append(text)
            elif requested:
                raise OptionError(
                    f"word-edges: combination {text!r} costs {cost}, more than the budget of "
                    f"{self.budget}; take coarser levels or set a larger budget"
                )
        if not chosen:
            raise OptionError(
                f"word-edges: no combination has the levels {self.levels} only and costs at most "
                f"{self.budget}; give more levels or a larger budget"
            )
        return chosen

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        classes = lists.classes
        rows = {side: getattr(classes, side).rows() for side in ("source", "target")}
        available = {
            f"{side} {kind}": any(row[column] for row in rows[side])
            for side in rows
            for column, kind in ((1, "clusters"), (2, "tags"))
        }
        available["source tags"] |= classes.tagger
        chosen, left_out = [], ""
        for text in self.combinations():
            atoms = parse_combination(text)
            missing = sorted(kind for kind in _needs(atoms) if not available[kind])
            if any(kind.endswith("clusters") for kind in missing):
                raise InputError(
                    f"{classes.place}: has no {missing[0]}, which the feature template word-edges "
                    "needs; train with --clusters 200, or set levels=wcy"
                )
            if missing:
                left_out = missing[0]
            else:
                chosen.append((text, atoms))
        # Without tags, combinations of the built-in list that use them are left out; it is an error
        # if tags were requested by `list`, `file` or `levels`.
        tagged = any("t" in levels_of(atoms) for _, atoms in chosen)
        if left_out and (self.requested or (self.levels != _ALL_LEVELS and not tagged)):
            raise InputError(
                f"{classes.place}: has no {left_out}, which combinations of the feature template "
                f"word-edges need; train with --{left_out.replace(' ', '-')}, or leave .t out"
            )
        return {"combinations": chosen, **rows}
