"""Folds of the training text: which one a sentence pair is of.

A language model and rule scores have seen the references of the text that they come from. For
learning on that text `hopefear train --folds K` makes K more tables and language models, each
without a block of it. Goes in: a model with folds, sentence pairs of its training text as the
decoder takes them. Comes out: the sentences, which now say what they are to be decoded without.

Pairs are found by their words in the prepared text that training keeps in `work/`. So the text need
not be all of it, nor in its order. Those that cleaning dropped are not there: the whole model has
not seen them either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hopefear.base.errors import InputError
from hopefear.model.directory import WORK, Model
from hopefear.text.lines import read_parallel

if TYPE_CHECKING:
    from hopefear.decode.contract import Sentence

SIDES = ("source", "target")


def fold_range(number: int, folds: int, size: int) -> tuple[int, int]:
    """The sentences of a fold: blocks, so that neighbours in a document stay together."""
    return number * size // folds, (number + 1) * size // folds


def in_folds(
    model: Model, pairs: Iterable[tuple[Sentence, Sequence[str]]], place: Path
) -> list[Sentence]:
    """The sentences of pairs, each with its fold; without one if training dropped the pair.

    `place` is the file that they are from. A pair that the training text has several times is of
    the fold of each in turn.
    """
    of_text = _folds_of_text(model)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    found = []
    foreign = []
    for number, (sentence, target) in enumerate(pairs, 1):
        pair = (" ".join(sentence.words), " ".join(target))
        folds = of_text.get(pair)
        if folds is None:
            foreign.append(number)
            found.append(sentence)
            continue
        found.append(replace(sentence, fold=folds[seen[pair] % len(folds)]))
        seen[pair] += 1
    text = model.settings["training"]["steps"]["text"]
    if len(foreign) > text["pairs"] - text["kept"] or 0 < len(foreign) == len(found):
        raise InputError(
            f"{place}:{foreign[0]}: {len(foreign):,} of {len(found):,} sentence pairs, this one "
            f"the first, are not of the text that {model.directory} was trained on, so they have "
            "no fold; give that text, and --tokenized only if training had it"
        )
    return found


def _folds_of_text(model: Model) -> dict[tuple[str, str], list[int]]:
    """Of each pair of the training text the folds that have it."""
    paths = [model.directory / WORK / f"{side}.txt" for side in SIDES]
    for path in paths:
        if not path.is_file():
            raise InputError(
                f"{path}: no such file, so the folds of sentence pairs are not known; copy the "
                "whole model directory"
            )
    found: dict[tuple[str, str], list[int]] = {}
    rows = list(read_parallel(paths))
    count = len(model.folds)
    for fold in range(count):
        for row in rows[slice(*fold_range(fold, count, len(rows)))]:
            found.setdefault((row[0], row[1]), []).append(fold)
    return found
