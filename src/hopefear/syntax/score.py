"""Labelled bracketing scores of trees against gold trees, as in evalb.

Takes trees and gold trees of the same sentences and returns precision, recall and F1 of labelled
spans, the share of exact matches, and tagging accuracy. The brackets are those of phrases: of all
nodes except preterminals and a root called TOP, ROOT or S1. Punctuation (words whose gold tag is
one of , : . `` '' -LRB- -RRB- LRB RRB) does not count: spans are in other words only, and a phrase
of nothing else is left out. PRT is the same label as ADVP. A tree that is missing where there is a
gold tree has no brackets; a sentence without gold tree is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name
from hopefear.syntax.tree import Tree, normalised, plain_word, read_trees

PUNCTUATION = frozenset((",", ":", ".", "``", "''", "-LRB-", "-RRB-", "LRB", "RRB"))
ROOTS = frozenset(("TOP", "ROOT", "S1"))
_SAME = {"PRT": "ADVP"}


@dataclass(frozen=True)
class TreeScore:
    """Scores from 0 to 1, and what they are computed from."""

    precision: float
    recall: float
    f1: float
    exact: float  # share of the sentences whose brackets are all right
    tags: float  # share of the words whose tag is right, punctuation included
    sentences: int
    missing: int  # sentences without a tree
    brackets: int
    gold_brackets: int


Bracket = tuple[str, int, int]


def brackets_of(tree: Tree, counted: list[bool]) -> Counter[Bracket]:
    """Return the labelled spans of a tree, in positions of the counted words."""
    position = [0]
    for counts in counted:
        position.append(position[-1] + counts)
    leaves = set(tree.preterminals)
    found: Counter[Bracket] = Counter()
    for node, label in enumerate(tree.labels):
        if node in leaves or (tree.parents[node] < 0 and label in ROOTS):
            continue
        begin, end = position[tree.begins[node]], position[tree.ends[node]]
        if begin < end:
            found[_SAME.get(label, label), begin, end] += 1
    return found


def score_trees(
    trees: Iterable[Tree | None], gold: Iterable[Tree | None], *, punctuation: bool = False
) -> TreeScore:
    """Take trees and gold trees of the same sentences and return the score.

    Both are normalised first. With `punctuation`, punctuation counts like other words. Without any
    bracket, precision or recall is 0.
    """
    brackets = gold_brackets = right = exact = sentences = missing = words = right_tags = 0
    for number, (tree, reference) in enumerate(zip(trees, gold, strict=True), 1):
        reference = None if reference is None else normalised(reference)
        if reference is None:
            continue
        sentences += 1
        tags = reference.tags
        counted = [punctuation or tag not in PUNCTUATION for tag in tags]
        wanted = brackets_of(reference, counted)
        gold_brackets += wanted.total()
        words += len(tags)
        tree = None if tree is None else normalised(tree)
        if tree is None:
            missing += 1
            continue
        _check_words(number, tree, reference)
        found = brackets_of(tree, counted)
        brackets += found.total()
        right += (found & wanted).total()
        exact += found == wanted
        right_tags += sum(a == b for a, b in zip(tree.tags, tags, strict=True))
    precision = right / brackets if brackets else 0.0
    recall = right / gold_brackets if gold_brackets else 0.0
    both = precision + recall
    return TreeScore(
        precision,
        recall,
        2 * precision * recall / both if both else 0.0,
        exact / sentences if sentences else 0.0,
        right_tags / words if words else 0.0,
        sentences,
        missing,
        brackets,
        gold_brackets,
    )


def score_files(trees: PathLike, gold: PathLike, *, punctuation: bool = False) -> TreeScore:
    """Take two files with a tree per line and return the score of the first one."""
    found: list[Tree | None] = []
    wanted: list[Tree | None] = []
    absent = object()
    for tree, reference in zip_longest(read_trees(trees), read_trees(gold), fillvalue=absent):
        if tree is not absent:
            found.append(tree)  # type: ignore[arg-type]
        if reference is not absent:
            wanted.append(reference)  # type: ignore[arg-type]
    if len(found) != len(wanted):
        raise InputError(
            f"{display_name(trees)} has {len(found)} lines, {display_name(gold)} has "
            f"{len(wanted)}; give trees of the same sentences, () where there is none"
        )
    if all(tree is None for tree in wanted):
        raise InputError(f"{display_name(gold)}: no gold trees; give a file with trees")
    return score_trees(found, wanted, punctuation=punctuation)


def _check_words(number: int, tree: Tree, reference: Tree) -> None:
    if tree.words == reference.words:
        return
    if len(tree.words) != len(reference.words):
        raise InputError(
            f"tree {number}: {len(tree.words)} words, but the gold tree has "
            f"{len(reference.words)}; parse the words of the gold trees"
        )
    for word, other in zip(tree.words, reference.words, strict=True):
        if plain_word(word) != plain_word(other):
            raise InputError(
                f"tree {number}: word {word!r} is {other!r} in the gold tree; parse the words of "
                "the gold trees"
            )
