"""Adding features to n-best lists, one list at a time.

Takes a file of lists and specifications such as `length` or `lm:model=FILE`, and returns the
entries of JSON lines with the new features beside the old ones. Memory: as many lists as there are
threads, times sixteen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base import registry
from hopefear.base.config import parse_pairs
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import display_name
from hopefear.forest.io.nbest import Format, NbestList, id_number, read_nbest
from hopefear.forest.io.nbest_entries import entries_of_list, short
from hopefear.learn.list_features.base import CandidateList, ListFeature

_BLOCK = 16  # lists per thread that are read at once
_LARGEST = float(np.finfo(np.float32).max)


def make_features(specifications: Sequence[str]) -> list[ListFeature]:
    """Take `NAME` or `NAME:KEY=VALUE,KEY=VALUE` and return the list features."""
    features = []
    for text in specifications:
        name, _, settings = text.partition(":")
        cls = registry.get("list-feature", name)
        pairs = parse_pairs(cls, [pair for pair in settings.split(",") if pair], f"--add {name}")
        features.append(registry.create("list-feature", name, pairs))
    if not features:
        raise OptionError("--add: name at least one list feature")
    return features


def with_features(
    nbest: Path,
    features: Sequence[ListFeature],
    *,
    format: Format | None = None,
    source: Sequence[str] | None = None,
    prefix: str = "",
    threads: int = 1,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries of each list with the new features, in the order of the lists.

    The names of new features begin with `prefix`. A feature that the lists have already is kept:
    another one of its name is an error, unless its values are the same.
    """
    if source is None and any(feature.needs_source for feature in features):
        names = [feature.name for feature in features if feature.needs_source]
        raise OptionError(f"--source is missing: {', '.join(names)} needs the source text")

    def work(list_: NbestList, number: int) -> list[dict[str, Any]]:
        sentence = None
        if source is not None:
            sentence = source_of(list_.id, number, source, nbest)
        return _extended(CandidateList(list_, sentence), features, nbest, prefix)

    # Lists are read between blocks: the reader adds words to the vocabulary that the others use.
    lists = enumerate(read_nbest(nbest, format))
    pool = ThreadPoolExecutor(max(1, threads))
    try:
        while block := list(islice(lists, _BLOCK * threads)):
            yield from pool.map(lambda job: work(job[1], job[0]), block)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def source_of(id: str, number: int, source: Sequence[str], nbest: Path) -> str:
    """Return the source of a list: the line of its id, or for other ids of its place."""
    line = id_number(id)
    line = number if line is None else line
    if line >= len(source):
        raise InputError(
            f"{display_name(nbest)}: id {id}, but the source text has {len(source):,} lines; give "
            "the source of these lists"
        )
    return source[line]


def _extended(
    list_: CandidateList, features: Sequence[ListFeature], nbest: Path, prefix: str
) -> list[dict[str, Any]]:
    columns: dict[str, Sequence[float]] = {}
    for feature in features:
        for own_name, values in feature.columns(list_).items():
            name = prefix + own_name
            column = np.asarray(values, np.float64)
            place = f"{display_name(nbest)}: id {list_.nbest.id}: {feature.name}"
            if column.shape != (list_.nbest.forest.edges,):
                raise InputError(
                    f"{place}: {name} has the shape {column.shape}, expected a number for each of "
                    f"{list_.nbest.forest.edges} candidates; correct the list feature"
                )
            wrong = np.flatnonzero(~(np.abs(column) <= _LARGEST))
            if len(wrong):
                raise InputError(
                    f"{place}: {name} of candidate {int(wrong[0]) + 1} is {column[wrong[0]]}, "
                    "expected a finite number"
                )
            if name in columns:
                raise InputError(f"{place}: {name} is added twice; add each feature once")
            columns[name] = short(column)
    entries = list(entries_of_list(list_.nbest))
    for name, added in columns.items():
        if any(name in entry["features"] for entry in entries):
            _check_same(entries, name, added, f"{display_name(nbest)}: id {list_.nbest.id}")
        for entry, value in zip(entries, added, strict=True):
            entry["features"][name] = value
    return entries


def _check_same(
    entries: Sequence[Mapping[str, Any]], name: str, added: Sequence[float], place: str
) -> None:
    for entry, value in zip(entries, added, strict=True):
        old = entry["features"].get(name, 0.0)
        if not math.isclose(old, value, rel_tol=1e-5, abs_tol=1e-6):
            raise InputError(
                f"{place}: the lists have a feature {name} already, {old:.6g} and not {value:.6g}; "
                "give the new ones other names with --prefix"
            )
