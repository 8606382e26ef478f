"""N-best lists read for tuning a reranker.

Takes a file of n-best lists (`forest.io.nbest`) and the metrics (`rerank_metrics`), and returns the
candidates with their features and statistics. The lists are kept, too: their words, for the texts
of chosen candidates, and their given scores, for reports. Memory: about 0.8 KB per candidate of 15
words with 5 features while `mert` tunes on two threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name
from hopefear.base.weights import FeatureNames
from hopefear.forest.io.nbest import Format, NbestList, id_number, read_nbest
from hopefear.learn.pool.candidate_builder import CandidateBuilder, entries, entry
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.rerank_metrics import ListMetrics, column
from hopefear.metrics.metric import Metric

_BATCH = 4096  # candidates that are counted at once


@dataclass(frozen=True)
class Lists:
    """N-best lists read for tuning."""

    metric: Metric
    candidates: Candidates
    ids: Sequence[str]  # of the groups
    repeated: int  # number of duplicate candidates left out
    read: Sequence[NbestList]
    rows: NDArray[np.int64]  # (candidates, 2): the list and the entry of each
    missing: Sequence[int] = ()  # sentences with references but without candidates

    @property
    def first(self) -> NDArray[np.int64]:
        """The first candidate of each list."""
        return np.asarray(self.candidates.begin[:-1])

    def texts(self, rows: ArrayLike) -> list[str]:
        """Return the texts of candidates."""
        places = self.rows[np.asarray(rows, np.int64)].tolist()
        return [entry(self.read[number].forest, place).text for number, place in places]

    def given(self, name: str, rows: ArrayLike) -> NDArray[np.float64]:
        """Return given scores of candidates by name."""
        places = self.rows[np.asarray(rows, np.int64)].tolist()
        return np.array([column(self.read[number], name)[place] for number, place in places])


def read_lists(
    path: PathLike,
    metrics: ListMetrics,
    *,
    format: Format | None = None,
    entries: Iterable[Mapping[str, Any]] | None = None,
    threads: int = 1,
    advance: Callable[[int], None] = lambda count: None,
) -> Lists:
    """Read lists and return them with the statistics of the metric to optimise.

    `entries` are candidates in memory instead of the file, with the keys of JSON lines. With
    references, ids are numbers of sentences, from 0, in any order; lists of the same id are merged.
    """
    names = FeatureNames()
    read: list[NbestList] = []
    sentences: list[int] = []
    numbers: dict[str, int] = {}
    counts = [
        _Counts(metrics.texts[term.name], threads) if term.name in metrics.texts else None
        for term in metrics.terms
    ]
    references = len(metrics.references)
    for list_ in read_nbest(path, format, names=names, entries=entries):
        if references:
            sentence = sentence_number(list_.id, references, path)
            numbers.setdefault(list_.id, sentence)
        else:
            sentence = numbers.setdefault(list_.id, len(numbers))
        read.append(list_)
        sentences.append(sentence)
        for counted in counts:
            if counted is not None:
                counted.add(list_, sentence)
        advance(1)
    if not read:
        raise InputError(f"{display_name(path)}: no list in it; expected n-best lists")
    metrics.check_lower(read, path)
    metric, _ = metrics.objective(read, path)
    blocks = [
        counted.rows() if counted is not None else _given_rows(metrics, metric, place, read)
        for place, counted in enumerate(counts)
    ]
    return _lists(metric, np.hstack(blocks), read, sentences, numbers, names, references, path)


def _given_rows(
    metrics: ListMetrics, metric: Metric, place: int, read: Sequence[NbestList]
) -> NDArray[Any]:
    """Return the statistics of given scores, the part `place` of the metric."""
    part: Any = getattr(metric, "parts", [metric])[place]
    name = metrics.terms[place].name
    return np.asarray(part.rows(np.concatenate([column(list_, name) for list_ in read])))


def _lists(
    metric: Metric,
    statistics: NDArray[Any],
    read: Sequence[NbestList],
    sentences: Sequence[int],
    numbers: Mapping[str, int],
    names: FeatureNames,
    references: int,
    path: PathLike,
) -> Lists:
    builder = CandidateBuilder(metric, names=names)
    begin = 0
    added, of_sentence = [], []
    for number, (list_, sentence) in enumerate(zip(read, sentences, strict=True)):
        size = list_.forest.edges
        try:
            rows = statistics[begin : begin + size]
            new = builder.add_entries(sentence, entries(list_.forest), rows)
        except InputError as error:
            raise InputError(f"{display_name(path)}: id {list_.id}: {error}") from None
        begin += size
        added.append(np.stack([np.full(len(new), number), new], axis=1))
        of_sentence.append(np.full(len(new), sentence))
    candidates = builder.candidates()
    order = np.argsort(np.concatenate(of_sentence), kind="stable")
    id_of = {sentence: id for id, sentence in numbers.items()}
    return Lists(
        metric,
        candidates,
        [id_of[int(number)] for number in candidates.sentences],
        begin - len(builder),
        read,
        np.concatenate(added)[order].astype(np.int64),
        sorted(set(range(references)) - id_of.keys()),
    )


class _Counts:
    """Statistics of a metric of text, counted in batches of lists."""

    def __init__(self, metric: Any, threads: int) -> None:
        self._metric, self._threads = metric, threads
        self._texts: list[str] = []
        self._sentences: list[int] = []
        self._blocks: list[NDArray[Any]] = []

    def add(self, list_: NbestList, sentence: int) -> None:
        self._texts += [derivation.text for derivation in entries(list_.forest)]
        self._sentences += [sentence] * list_.forest.edges
        if len(self._texts) >= _BATCH:
            self._count()

    def rows(self) -> NDArray[Any]:
        self._count()
        return np.concatenate(self._blocks)

    def _count(self) -> None:
        self._blocks.append(self._metric.rows(self._texts, self._sentences, self._threads))
        self._texts, self._sentences = [], []


def sentence_number(id: str, sentences: int, path: PathLike) -> int:
    """Take the id of a list and return the number of its sentence in the references."""
    number = id_number(id)
    if number is None:
        raise InputError(
            f"{display_name(path)}: id {id!r} is no number; with references, ids are their line "
            "numbers from 0"
        )
    if number >= sentences:
        raise InputError(
            f"{display_name(path)}: id {id}, but the references have {sentences:,} lines (numbered "
            "from 0); give the references of these lists"
        )
    return number
