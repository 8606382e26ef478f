"""Tuning of rerankers on n-best lists with a batch tuner.

Takes a file of n-best lists (`forest.io.nbest`), references or given scores, and a batch tuner.
Returns weights and the scores of the first candidates (the system's own choice), of the tuned
choice and of the oracle, with a significance test. With folds, every sentence is reranked by
weights tuned on other sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, display_name
from hopefear.base.weights import FeatureNames, Weights
from hopefear.forest.io.nbest import Format, NbestList, id_number, read_nbest
from hopefear.learn.pool.candidate_builder import CandidateBuilder, entries, entry
from hopefear.learn.pool.candidates import Candidates
from hopefear.learn.pool.search_aware import check_search_aware
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task, optimized
from hopefear.metrics.bleu import Bleu
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.metrics.given import GivenScore
from hopefear.metrics.metric import Metric
from hopefear.metrics.oracle import oracle
from hopefear.metrics.significance import paired_bootstrap


@dataclass(frozen=True)
class Lists:
    """N-best lists read for tuning."""

    metric: Metric
    candidates: Candidates
    ids: Sequence[str]  # of the groups
    repeated: int  # number of duplicate candidates left out
    missing: Sequence[int] = ()  # sentences with references but without candidates
    first_texts: Sequence[str] = ()  # of the lists, if there are references

    @property
    def first(self) -> NDArray[np.int64]:
        """The first candidate of each list."""
        return np.asarray(self.candidates.begin[:-1])


def read_lists(
    path: PathLike,
    references: Sequence[Sequence[str]],
    metric: Metric | None,
    *,
    format: Format | None = None,
    entries: Sequence[Mapping[str, Any]] | None = None,
    directory: PathLike | None = None,
    threads: int = 1,
    advance: Callable[[int], None] = lambda count: None,
) -> Lists:
    """Read lists and return them with the statistics of a metric (None: mean of given scores).

    `entries` are candidates in memory instead of the file, with the keys of JSON lines. With
    references, ids are numbers of sentences, from 0, in any order; lists of the same id are merged.
    """
    names = FeatureNames()
    if metric is None:
        read = read_nbest(path, format, names=names, entries=entries)
        return _read_scored(read, path, names, directory, advance)
    builder = CandidateBuilder(
        metric, references, names=names, directory=directory, threads=threads
    )
    id_of: dict[int, str] = {}  # the id of each sentence's list
    first_texts = []
    total = 0
    for list_ in read_nbest(path, format, names=names, entries=entries):
        sentence = sentence_number(list_.id, len(references), path)
        id_of.setdefault(sentence, list_.id)
        total += list_.forest.edges
        if list_.forest.edges:
            first_texts.append(entry(list_.forest, 0).text)
        try:
            builder.add_list(sentence, list_.forest)
        except InputError as error:
            raise InputError(f"{display_name(path)}: id {list_.id}: {error}") from None
        advance(1)
    _check_not_empty(id_of, path)
    candidates = builder.candidates()
    missing = sorted(set(range(len(references))) - id_of.keys())
    ids = [id_of[int(number)] for number in candidates.sentences]
    return Lists(metric, candidates, ids, total - len(builder), missing, first_texts)


def _read_scored(
    read: Iterator[NbestList],
    path: PathLike,
    names: FeatureNames,
    directory: PathLike | None,
    advance: Callable[[int], None],
) -> Lists:
    """Read lists with given scores; the scale of all scores is needed before they are added."""
    lists: list[NbestList] = []
    for list_ in read:
        absent = np.flatnonzero(np.isnan(list_.scores))
        if len(absent):
            raise InputError(
                f"{display_name(path)}: entry {int(absent[0]) + 1} of id {list_.id!r} has no "
                'score; give each a "score", or choose another metric and references'
            )
        wrong = np.flatnonzero(np.isinf(list_.scores))
        if len(wrong):
            raise InputError(
                f"{display_name(path)}: the score of entry {int(wrong[0]) + 1} of id {list_.id!r} "
                "is infinite, expected a finite number; mend or drop the entry"
            )
        lists.append(list_)
        advance(1)
    _check_not_empty(lists, path)
    metric = GivenScore.of(np.concatenate([list_.scores for list_ in lists]))
    builder = CandidateBuilder(metric, names=names, directory=directory)
    numbers: dict[str, int] = {}
    total = 0
    for list_ in lists:
        sentence = numbers.setdefault(list_.id, len(numbers))
        builder.add_rows(sentence, entries(list_.forest), metric.rows(list_.scores))
        total += list_.forest.edges
    return Lists(metric, builder.candidates(), list(numbers), total - len(builder))


def _check_not_empty(lists: Any, path: PathLike) -> None:
    if not lists:
        raise InputError(f"{display_name(path)}: no list in it; expected at least one candidate")


def sentence_number(id: str, sentences: int, path: PathLike) -> int:
    """Return the number of the sentence that an id denotes."""
    number = id_number(id)
    if number is None:
        raise InputError(
            f"{display_name(path)}: id {id[:40]!r} is no number; with references, ids are the "
            "numbers of their lines, from 0"
        )
    if number >= sentences:
        raise InputError(
            f"{display_name(path)}: id {id}, but the references have {sentences:,} lines (numbered "
            "from 0); give the references of these lists"
        )
    return number


@dataclass(frozen=True)
class Reranked:
    """Tuned weights and corpus scores as displayed."""

    optimized: Optimized  # on all lists
    first_best: float
    tuned: float  # with folds: of lists not used to tune the weights
    tuned_on_all: float
    oracle: float
    p_value: float
    test: str  # signature of the significance test


def tune_reranker(
    lists: Lists,
    make_tuner: Callable[[], BatchTuner],
    start: Weights,
    *,
    folds: int = 1,
    seed: int = 1,
    threads: int = 1,
    fixed: frozenset[int] = frozenset(),
    advance: Callable[[int], None] = lambda count: None,
) -> Reranked:
    """Tune on all lists; with folds, score by cross-validation over sentences."""
    metric, candidates = lists.metric, lists.candidates
    check_search_aware(make_tuner(), None, metric)  # lists have no bins
    if folds > candidates.groups:
        raise OptionError(
            f"--folds {folds}: there are {candidates.groups} lists; give at most as many folds"
        )

    def tuned_on(part: Candidates, number: int) -> Optimized:
        task = Task(random=np.random.default_rng([seed, number]), threads=threads, fixed=fixed)
        result = optimized(make_tuner(), Pool(metric=metric, candidates=part), start, task)
        advance(1)
        return result

    on_all = tuned_on(candidates, 0)
    chosen = candidates.best(candidates.scores(candidates.vector(on_all.weights)))
    held_out = chosen.copy()
    if folds > 1:
        for number, (learned, tested) in enumerate(split(candidates, folds, seed), 1):
            weights = tuned_on(candidates.part(learned), number).weights
            part = candidates.part(tested)
            rows = part.best(part.scores(part.vector(weights)))
            held_out[tested] = rows - part.begin[:-1] + candidates.begin[:-1][tested]

    tuned, first = candidates.statistics[held_out], candidates.statistics[lists.first]
    outcome = paired_bootstrap(metric, [tuned], [first])
    return Reranked(
        optimized=on_all,
        first_best=float(metric.shown(candidates.total(lists.first))),
        tuned=float(metric.shown(candidates.total(held_out))),
        tuned_on_all=float(metric.shown(candidates.total(chosen))),
        oracle=oracle_of(metric, candidates),
        p_value=outcome.p_value,
        test=outcome.signature,
    )


def split(
    candidates: Candidates, folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and test groups of each fold; a sentence's groups stay together."""
    sentences = np.unique(candidates.sentences)
    order = np.random.default_rng([seed, folds]).permutation(sentences)
    for part in np.array_split(order, folds):
        tested = np.isin(candidates.sentences, part)
        yield np.flatnonzero(~tested), np.flatnonzero(tested)


def oracle_of(metric: Metric, candidates: Candidates) -> float:
    """Return the displayed score of the best candidates."""
    by_sentence: Metric | None = None
    if type(metric) is Bleu:  # BLEU of single sentences is 0 too often
        by_sentence = BleuPlusOne(order=metric.order, reference_length=metric.reference_length)
    groups = np.repeat(np.arange(candidates.groups), np.diff(candidates.begin))
    best = oracle(candidates.statistics, groups, metric=metric, by_sentence=by_sentence)
    return float(metric.shown(candidates.total(best.rows)))
