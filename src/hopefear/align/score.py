"""Precision, recall, F1 and alignment error rate against gold alignments.  [och2003]

Takes a file of links and a file of gold alignments, a line each per sentence pair. Gold links are
sure (`i-j`) or possible (`ipj`); a sure link is also possible. With the links A, the sure links S
and the possible links P,

    precision = |A & P| / |A|    recall = |A & S| / |S|    F1 = their harmonic mean
    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import tee, zip_longest

from hopefear.align.pharaoh import (
    MAX_POSITION,
    Alignment,
    Point,
    check_points,
    read_alignments,
    sentence_lengths,
)
from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, open_input

_GOLD_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})")


@dataclass(frozen=True)
class GoldAlignment:
    """The gold links of a sentence pair; the possible links include the sure ones."""

    sure: frozenset[Point]
    possible: frozenset[Point]


@dataclass(frozen=True)
class AlignmentScore:
    """The quality of links, from 0 to 1, and the numbers of links, sure and possible gold links."""

    precision: float
    recall: float
    f1: float
    aer: float
    links: int
    sure: int
    possible: int


def read_gold(
    path: PathLike, *, lengths: Iterable[tuple[int, int]] | None = None
) -> Iterator[GoldAlignment]:
    """Take a file of gold alignments and yield those of each sentence pair.

    With `lengths`, the numbers of source and target words of each pair, positions are checked.
    """
    sizes = iter(lengths) if lengths is not None else None
    with open_input(path) as file:
        for number, line in enumerate(file, 1):
            place = f"{display_name(path)}:{number}"
            gold = _parse_gold(line.decode("utf-8", "replace"), place)
            if sizes is not None:
                check_points(gold.possible, next(sizes, (0, 0)), place)
            yield gold


def _parse_gold(line: str, place: str) -> GoldAlignment:
    sure: set[Point] = set()
    possible: set[Point] = set()
    for word in line.split():
        match = _GOLD_LINK.fullmatch(word)
        if match is None or max(int(match[1]), int(match[3])) > MAX_POSITION:
            raise InputError(
                f"{place}: {word!r} is no gold link; give links as 'i-j' (sure) or 'ipj' "
                "(possible), source-target, counted from 0"
            )
        point = (int(match[1]), int(match[3]))
        possible.add(point)
        if match[2] == "-":
            sure.add(point)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def score_alignments(
    alignments: Iterable[Alignment], gold: Iterable[GoldAlignment]
) -> AlignmentScore:
    """Take alignments and gold alignments of the same sentence pairs and return the score.

    Without links precision is 0, and without sure links recall is 0.
    """
    links = sure = possible = correct_sure = correct = 0
    for points, reference in zip(alignments, gold, strict=True):
        found = set(points)
        links += len(found)
        sure += len(reference.sure)
        possible += len(reference.possible)
        correct_sure += len(found & reference.sure)
        correct += len(found & reference.possible)
    precision = correct / links if links else 0.0
    recall = correct_sure / sure if sure else 0.0
    both = precision + recall
    return AlignmentScore(
        precision,
        recall,
        2 * precision * recall / both if both else 0.0,
        1 - (correct_sure + correct) / (links + sure) if links + sure else 0.0,
        links,
        sure,
        possible,
    )


def score_files(
    links: PathLike, gold: PathLike, *, text: tuple[PathLike, PathLike] | None = None
) -> AlignmentScore:
    """Take two files and return the score of the first one against the second one.

    With `text` (the source and the target file), positions are checked against sentence lengths.
    """
    lengths = tee(sentence_lengths(*text)) if text is not None else (None, None)
    alignments: list[Alignment] = []
    golds: list[GoldAlignment] = []
    pairs = zip_longest(
        read_alignments(links, lengths=lengths[0]), read_gold(gold, lengths=lengths[1])
    )
    for points, reference in pairs:
        if points is not None:
            alignments.append(points)
        if reference is not None:
            golds.append(reference)
    if len(alignments) != len(golds):
        raise InputError(
            f"{display_name(links)} has {len(alignments)} lines, {display_name(gold)} has "
            f"{len(golds)}; give the links of the gold sentences only"
        )
    if not golds:
        raise InputError(f"{display_name(gold)}: the file is empty; give gold alignments")
    return score_alignments(alignments, golds)
