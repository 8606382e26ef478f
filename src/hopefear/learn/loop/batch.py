"""The loop of batch tuners: decode, add to the pool, optimise, repeat.  [och2003mert, cherry2012]

Decoding with the weights of iteration i adds candidates or forests to the pool, on which the
weights of iteration i + 1 are optimised. Everything else is in `base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
from hopefear.learn.loop.base import BaseLoop, Outcome, summary, without_rise, word_count
from hopefear.learn.loop.judge import Judge, TuningSet
from hopefear.learn.loop.options import TrainingOptions
from hopefear.learn.loop.run import Record
from hopefear.learn.pool.candidate_builder import DENSE_LIMIT
from hopefear.learn.pool.candidates import FeatureTable
from hopefear.learn.pool.feature_selection import rare_features
from hopefear.learn.pool.look import Look
from hopefear.learn.pool.sanity import describe, useless_features
from hopefear.learn.pool.search_aware import SearchAware, check_search_aware
from hopefear.learn.pool.store import STORES, Added, BinStore, Store
from hopefear.learn.tuner import BatchTuner, Pool, Task, optimized

__all__ = ["Judge", "Loop", "Outcome", "TuningSet", "summary", "without_rise"]


@register("loop", "batch")
class Loop(BaseLoop):
    """One run of a batch tuner."""

    @classmethod
    def make(
        cls,
        make_tuner: Callable[[], Any],
        *,
        training: TuningSet | None,
        training_options: TrainingOptions,
        **shared: Any,
    ) -> Loop:
        tuner = make_tuner()
        for name in (*(["train"] if training is not None else []), *training_options.given()):
            raise OptionError(
                f"--{name.replace('_', '-')}: {tuner.name} learns from the development set; omit "
                "it or use an online tuner such as mira or violation"
            )
        return cls(tuner=tuner, **shared)

    def __init__(self, *, tuner: BatchTuner, **more: Any) -> None:
        self.tuner = tuner
        super().__init__(tuner=tuner, **more)
        self.store: Store

    def _check(self) -> None:
        self.restriction.check_space(self.tuner.pool_space)
        self.tuner.check(self.metric)
        check_search_aware(self.tuner, self.decoder, self.metric)

    def _state(self) -> Mapping[str, Any]:
        return self.tuner.state()

    def _restore(self, state: Mapping[str, Any], decodings: int) -> None:
        self.store = self._open_store()
        self.tuner.restore(state)
        self.store.reload(decodings)

    def _pool_files(self, decodings: int) -> list[Path]:
        return self.store.files_of(decodings) if decodings else []

    def _open_store(self) -> Store:
        kind: Callable[..., Store] = STORES[self.tuner.pool_space]
        tuner = self._search_aware
        if tuner is not None:
            kind = partial(
                BinStore,
                tuner=tuner,
                untranslated=self.decoder.untranslated,
                words=sum(map(word_count, self.judge.data.sentences)),
            )
        return kind(
            directory=self.directory.pool,
            metric=self.metric,
            references=self.judge.data.references,
            names=self.decoder.names,
            k=self.options.kbest or self.tuner.kbest,
            distinct=self.options.distinct,
            threads=self.threads,
            decodings=self.options.iterations + 1,
            **self._moved(),
        )

    def _moved(self) -> dict[str, Any]:
        """The options of a store that say which features move, if sparse ones are collapsed."""
        if self._sparse == "collapsed":
            return {"dense": [*self.dense, SPARSE_SCORE]}
        return {"dense": self.dense, "collapse": self.start} if self._collapses else {}

    def _wants_collapsed(self) -> bool:
        return self._collapses and self._search_aware is None

    @property
    def _named(self) -> bool:
        return not self._collapses  # names of features that never move are not needed

    @property
    def _spans(self) -> bool:
        return self._search_aware is not None and self._search_aware.needs_spans

    @property
    def _search_aware(self) -> SearchAware | None:
        """The tuner, if it learns from bins."""
        tuner = self.tuner
        return tuner if isinstance(tuner, SearchAware) and tuner.search_aware != "off" else None

    @cached_property
    def _collapses(self) -> bool:
        """Whether the sparse features of candidates are collapsed into one score.

        True for a tuner of dense features if there are many initial sparse weights. These do not
        change, and storing the hundreds of sparse features of each candidate would take much
        memory: half a GB for the 42,000 features of a MAXFORCE model.
        """
        known = sum(name in self.start for name in self.dense)
        return (
            self.tuner.dense_only
            and self.tuner.pool_space == "kbest"
            and bool(self.decoder.dense)
            and not self.restriction.tied
            and len(self.start) - known > DENSE_LIMIT
        )

    def _look(self) -> Look[Any]:
        return self.store.look(self._forest_weights)

    def _take(self, results: Iterator[Any]) -> tuple[Added, Record]:
        added = self.store.add(self.iteration, results)
        return added, {"new_candidates": added.new, "candidates": added.total}

    def _learn(self) -> tuple[Weights, Record, frozenset[int]]:
        """Optimise on everything decoded so far."""
        pool, seen = self.restriction.narrow(self.store.pool(), self.weights)
        held = self._hold(pool)
        with self._step(f"iteration {self.iteration + 1}: {self.tuner.name}", None) as step:
            task = Task(
                random=np.random.default_rng([self.options.seed, self.iteration]),
                threads=self.threads,
                iteration=self.iteration,
                fixed=held,
                searching=True,
                collapsed=self._collapses,
                progress=step.update,
                executor=self.executor,
            )
            begin = seen.copy()
            if self._collapses:
                begin[SPARSE_SCORE] = 1.0
            result = optimized(self.tuner, pool, begin, task)
        record: Record = {"objective": float(result.objective)}
        if result.notes:
            record["notes"] = dict(result.notes)
        if self._collapses:
            new = self.weights.copy()
            moved = [name for name in self.dense if name in result.weights]
            new.update({name: result.weights[name] for name in moved})
            return new, record, held
        return result.weights, record, held

    def _hold(self, pool: Pool) -> frozenset[int]:
        """Return the features whose weights must stay: fixed and unlearnable ones.

        Warns about unlearnable features once; moving their weights would only add noise.
        """
        unseen = {id for group in self.restriction.tied for id in group[1:]}
        skip = self.restriction.fixed | unseen
        useless = useless_features(pool, self.dense, skip)
        if useless != self.useless:
            self.useless = useless
            for text in describe(useless):
                self._warn(text)
        intern = FeatureNames().intern
        held = self.restriction.fixed | {intern(n) for names in useless.values() for n in names}
        own = {intern(name) for name in self.dense}
        if self.tuner.dense_only and self.decoder.dense and pool.candidates is not None:
            held |= _of_templates(pool.candidates.features, own)
        if self._collapses:
            held |= {intern(SPARSE_SCORE)}
        return held | rare_features(
            pool, self.options.min_sentences, own, self.options.most_frequent
        )


def _of_templates(features: FeatureTable, own: set[int]) -> frozenset[int]:
    """Return the dense columns of frequent template features, which a dense tuner must not move.

    None of them if there are few features in total: then all of them are dense by intention.
    """
    if len(features.ids) <= DENSE_LIMIT:
        return frozenset()
    return frozenset(features.ids[: features.columns].tolist()) - own
