"""Search-aware tuning: candidates from every bin of phrase search, not only the last.  [liu2014]

The objective of a sentence x with bins B_1 .. B_|x| sums over all of them (eq. 5, 7, 9):

    sum over i = 1 .. |x| of  loss(B_i),     B_i: the partial derivations that cover i words

A partial derivation d is evaluated by its *partial* string, against a reference length of
|y| i / |x| (eq. 1), or by its *potential* string: its own words, followed by the best monotone
translation of each uncovered span (eq. 3, algorithm 1). A group of candidates is a sentence and a
bin, and the group of the last bin is that of ordinary tuning. Only the groups that a tuner gets
differ, so this is an option of tuners, not a tuner.

Takes a forest with its bins and the best translations of spans, and returns rows of candidates.

Differs: errata eq. 1: no second minus; |y| is the mean of the references' lengths, so the metric of
a `partial` pool uses that length for complete translations too. Errata eq. 5: a sentence counts |x|
times. Potential strings change with the weights; a candidate keeps the statistics that it had when
it was added to the pool. B_i holds the derivations that search kept by w.Phi and future costs; with
`future` the latter are among the features. Candidates have no features of untranslated words: a
derivation that leaves such a word uncovered must cover it later at the same cost, so that a tuner
that sees the feature in some candidates of a bin would only learn that copying words is good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hopefear import _engine
from hopefear._engine import BestSpans, Forest
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoder, refusal
from hopefear.metrics.metric import FloatArray, IntArray, Metric, Prepared
from hopefear.metrics.ngram_metric import NgramMetric
from hopefear.metrics.prepared import PreparedReferences

if TYPE_CHECKING:
    from hopefear.learn.tuner import Tuner

How = Literal["off", "partial", "potential"]
M = TypeVar("M", bound=Metric)


@dataclass(kw_only=True)
class SearchAware:
    """The options of tuners that can learn from all bins."""

    search_aware: How = option(
        "off",
        help="learn from partial derivations too, scored by their own words (partial) or with the "
        "best translations of uncovered words (potential); phrase-based models only",
    )
    future: bool = option(
        False,
        help="add the features of the best translations of uncovered words, with search_aware",
    )

    @property
    def needs_spans(self) -> bool:
        """Whether the tuner needs the best translations of spans."""
        return self.search_aware == "potential" or (self.search_aware != "off" and self.future)


class BinRows(NamedTuple):
    """Candidates of the bins of a sentence, in each bin sorted by score, best first."""

    begin: NDArray[np.int64]  # (bins + 1,): the first row of each bin
    covered: NDArray[np.int32]  # (rows,): the bin of each row
    keys: NDArray[np.uint64]
    features: NDArray[np.int64]  # (rows + 1,): the first feature of each row
    ids: NDArray[np.uint64]
    values: NDArray[np.float32]
    scores: FloatArray
    statistics: IntArray | None  # (rows, columns), if there is a metric
    texts: list[str] | None  # the strings otherwise


def check_search_aware(tuner: Tuner, decoder: Decoder | None, metric: Metric) -> None:
    """Raise an error if search-aware options do not fit; `decoder` is None for n-best lists."""
    if not isinstance(tuner, SearchAware):
        return
    how = tuner.search_aware
    if how == "off":
        if tuner.future:
            raise OptionError(
                "future: applies to search_aware only; set search_aware=potential or omit it"
            )
        return
    place, remedy = f"search_aware: {how}", "tune a phrase-based model or set search_aware=off"
    if decoder is None:
        raise OptionError(f"{place}: {refusal('spans', 'a file of lists')}; {remedy}")
    decoder.require("spans", place, remedy)
    if getattr(tuner, "space", "kbest") != "kbest":
        raise OptionError(
            f"search_aware: {how} learns from lists of partial derivations; set space=kbest"
        )
    if how == "partial":
        pool_metric(metric, "partial")


def pool_metric(metric: M, how: How) -> M:
    """Return the metric of candidates; that of partial strings has the average reference length."""
    if how != "partial":
        return metric
    if not isinstance(metric, NgramMetric):
        raise OptionError(
            f"search_aware: partial needs a metric with a reference length, and {metric.title} has "
            "none; optimise bleu or set search_aware=potential"
        )
    return cast(M, replace(metric, reference_length="average"))


def shared_out(statistics: IntArray, shares: FloatArray) -> IntArray:
    """Return statistics of `pool_metric` with a share of the reference length (eq. 1)."""
    rows = statistics.copy()
    rows[:, -1] = np.rint(rows[:, -1] * shares)
    return rows


def words_of(forest: Forest) -> int:
    """Return |x|, the number of words that a complete derivation covers."""
    return int(forest.covered[forest.goal]) if forest.goal is not None else 0


@dataclass(frozen=True)
class Bins:
    """Makes candidates from all bins but the last, which has those of the goal."""

    how: How
    future: bool
    names: FeatureNames  # the decoder's
    untranslated: frozenset[int] = frozenset()  # features to leave out, see `Decoder`

    def strings(
        self, forest: Forest, weights: Weights, spans: BestSpans | None, bin: int
    ) -> BinRows:
        """Return the rows of one bin, with strings."""
        return self._rows(forest, weights, spans, bin, bin, None, 0)

    def counted(
        self,
        forest: Forest,
        weights: Weights,
        spans: BestSpans | None,
        prepared: Prepared,
        sentence: int,
    ) -> BinRows:
        """Return the rows of the bins 1 .. |x| - 1 with statistics of `pool_metric`."""
        words = words_of(forest)
        in_engine = type(prepared) is PreparedReferences and not prepared.lowercase
        references = cast(PreparedReferences, prepared).references if in_engine else None
        rows = self._rows(forest, weights, spans, 1, words - 1, references, sentence)
        statistics = rows.statistics
        if rows.texts is not None:
            numbers = np.full(len(rows.texts), sentence, np.int32)
            statistics = prepared.statistics(rows.texts, numbers)
        if self.how == "partial":
            assert statistics is not None
            statistics = shared_out(statistics, rows.covered / max(1, words))
        return rows._replace(statistics=statistics, texts=None)

    def _rows(
        self,
        forest: Forest,
        weights: Weights,
        spans: BestSpans | None,
        first: int,
        last: int,
        references: _engine.ReferenceSet | None,
        sentence: int,
    ) -> BinRows:
        begin, keys, features, ids, values, scores, counts, texts = _engine.bin_rows(
            forest,
            weights.table,
            first,
            max(last, first - 1),
            spans,
            self.how == "potential",
            self.future,
            references,
            sentence,
            self.names,
        )
        left_out = np.isin(ids, np.array(sorted(self.untranslated), np.uint64))
        if left_out.any():
            row = np.repeat(np.arange(len(keys)), np.diff(features))
            costs = [weights[int(id)] for id in ids[left_out]] * values[left_out]
            scores = scores - np.bincount(row[left_out], costs, len(keys))
            ids, values, row = ids[~left_out], values[~left_out], row[~left_out]
            features = np.searchsorted(row, np.arange(len(keys) + 1)).astype(np.int64)
        covered = np.repeat(np.arange(first, first + len(begin) - 1), np.diff(begin))
        statistics = None
        if references is not None:
            statistics = counts.reshape(len(keys), references.columns)
        return BinRows(
            begin, covered.astype(np.int32), keys, features, ids, values, scores, statistics, texts
        )
