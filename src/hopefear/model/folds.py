"""Folds of the training text: the fold of each sentence pair.

Rule scores and the language model of a model have seen the references of its training text. For
learning on that text `hopefear train --folds K` makes K more tables and language models, each
trained without one block of it. Takes a model with folds and sentence pairs of its training text,
and returns the sentences with their fold (`Sentence.fold`), which they are then decoded without.

Pairs are looked up by their words in the prepared text that training keeps in `work/`, so they may
be a part of the text in any order. Pairs that cleaning dropped have no fold: the whole model has
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
from hopefear.text.tokenizers.plain import split_words

if TYPE_CHECKING:
    from hopefear.decode.contract import Sentence

SIDES = ("source", "target")


def fold_range(number: int, folds: int, size: int) -> tuple[int, int]:
    """The range of the fold's sentences: a block, so that a document stays together."""
    return number * size // folds, (number + 1) * size // folds


def in_folds(
    model: Model, pairs: Iterable[tuple[Sentence, Sequence[str]]], place: Path
) -> list[Sentence]:
    """The source sentences of the pairs, each with its fold, or with none if cleaning dropped it.

    `place`: the source file, for error messages. The copies of a pair that occurs several times
    get the folds of its occurrences in turn.
    """
    of_text = _folds_of_text(model)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    sentences = []
    unknown = []
    for number, (sentence, target) in enumerate(pairs, 1):
        pair = (" ".join(sentence.words), " ".join(target))
        folds = of_text.get(pair)
        if folds is None:
            unknown.append(number)
            sentences.append(sentence)
            continue
        sentences.append(replace(sentence, fold=folds[seen[pair] % len(folds)]))
        seen[pair] += 1
    text = model.settings["training"]["steps"]["text"]
    if len(unknown) > text["pairs"] - text["kept"] or 0 < len(unknown) == len(sentences):
        raise InputError(
            f"{place}:{unknown[0]}: {len(unknown):,} of {len(sentences):,} sentence pairs, this "
            f"one the first, are not in the text that {model.directory} was trained on, so they "
            "have no fold; give that text, and --tokenized only if training had it"
        )
    return sentences


def training_text(model: Model) -> tuple[list[Sentence], list[list[str]]]:
    """The prepared text that the model was trained on: sentences with their folds, references."""
    from hopefear.decode.contract import Sentence

    paths = text_files(model)
    rows = list(read_parallel(paths))
    count = len(model.folds)
    sentences, references = [], []
    for fold in range(count):
        for source, target in rows[slice(*fold_range(fold, count, len(rows)))]:
            sentences.append(Sentence(tuple(split_words(source)), fold=fold))
            references.append([target])
    return sentences, references


def text_files(model: Model) -> list[Path]:
    """The prepared texts that the model was trained on, which are checked to exist."""
    paths = [model.directory / WORK / f"{side}.txt" for side in SIDES]
    for path in paths:
        if not path.is_file():
            raise InputError(
                f"{path}: no such file, so the folds of sentence pairs are unknown; copy the "
                "whole model directory"
            )
    return paths


def _folds_of_text(model: Model) -> dict[tuple[str, str], list[int]]:
    """The folds of each pair of the training text, one for each occurrence."""
    folds: dict[tuple[str, str], list[int]] = {}
    rows = list(read_parallel(text_files(model)))
    count = len(model.folds)
    for fold in range(count):
        for row in rows[slice(*fold_range(fold, count, len(rows)))]:
            folds.setdefault((row[0], row[1]), []).append(fold)
    return folds
