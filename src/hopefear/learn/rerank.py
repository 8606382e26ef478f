"""Rerankers: weights that choose among the candidates of any system's n-best lists.

Takes `RerankOptions` and returns a `Reranker`, which chooses among the candidates of other lists.
The commands `hopefear rerank tune` and `apply`, and `hopefear.rerank` in Python, call this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base import registry
from hopefear.base.config import from_mapping
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import check_one_stdin, display_name
from hopefear.base.memory import check_address_space
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.learn.rerank_lists import Lists, read_lists
from hopefear.learn.rerank_metrics import GIVEN, ListMetrics
from hopefear.learn.rerank_options import RerankOptions
from hopefear.learn.rerank_report import (
    all_metrics,
    compared,
    oracle_share,
    warnings_of,
)
from hopefear.learn.rerank_tuning import (
    MakeTuner,
    Tuned,
    ablations,
    check_folds,
    oracle_of,
    tune_reranker,
)
from hopefear.learn.reranker import Reranker
from hopefear.learn.tuner import BatchTuner
from hopefear.metrics.given import GivenScore
from hopefear.metrics.mix import Mix
from hopefear.metrics.score import RAW_TEXT
from hopefear.text.lines import read_parallel
from hopefear.text.spacing import is_tokenized, tokenization_mismatch

Tell = Callable[[str], None]
Entries = Iterable[Mapping[str, Any]]  # candidates in memory, with the keys of JSON lines
EXAMPLES = 50  # lists that the report shows


def rerank(
    options: RerankOptions,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    *,
    entries: Entries | None = None,
    weights: Weights | None = None,
    texts: Mapping[Path, Sequence[str]] | None = None,
    display: Display | None = None,
    tell: Tell = lambda text: None,
    warn: Tell = lambda text: None,
) -> Reranker:
    """Tune a reranker on the lists that the options name, and return it.

    Instead of files, data may be given in memory: the `entries` of the lists, the initial
    `weights`, and `texts` by their names in the options (`text.lines.Texts`).
    """
    display = display or Display()
    if weights is None:
        weights = Weights() if options.weights is None else Weights.load(options.weights)
    job = RerankJob(
        options,
        tuner_options,
        metric_options,
        entries=entries,
        texts=texts,
        display=display,
        tell=tell,
        warn=warn,
    )
    lists = job.lists
    folds = check_folds(options.folds, lists.candidates.groups)
    fixed = job.fixed(weights)
    with display.step("tune", total=folds + 1 if folds > 1 else 1, unit="times") as step:
        tuned = job.tuned(weights, folds=folds, fixed=fixed, step=step)
    learned = tuned.optimized.weights
    if learned.active == 0:
        warn("all weights are 0: nothing was learned; are the features all constant?")
    rare = tuned.optimized.notes.get("sparse_features", 0)
    if options.tuner == "mert" and rare:
        warn(
            f"{rare:,} features are sparse, and mert does not tune them; use batch-mira, which "
            "tunes all features"
        )
    report = job.report(tuned, folds)
    if options.ablation:
        report["ablation"] = job.ablation(tuned, weights, folds, fixed)
    report["warnings"] = warnings_of(report)
    for text in report["warnings"]:
        warn(text)
    reranker = Reranker.of(learned, report, options, tuner_options, metric_options)
    reranker.examples = job.examples(tuned)
    return reranker


class RerankJob:
    """Lists, metrics and a tuner, ready to be tuned with different parts of the lists."""

    def __init__(
        self,
        options: RerankOptions,
        tuner_options: Mapping[str, Any] | None = None,
        metric_options: Mapping[str, Any] | None = None,
        *,
        entries: Entries | None = None,
        texts: Mapping[Path, Sequence[str]] | None = None,
        display: Display | None = None,
        tell: Tell = lambda text: None,
        warn: Tell = lambda text: None,
    ) -> None:
        check_address_space()
        display = display or Display()
        self.options, self.display = options, display
        self.threads = options.threads or all_cores()
        weight_files = [options.weights] if options.weights is not None else []
        check_one_stdin(options.nbest, *options.refs, *weight_files)
        tuner_class = registry.get("tuner", options.tuner)

        def make_tuner() -> BatchTuner:
            tuner: BatchTuner = from_mapping(
                tuner_class, tuner_options or {}, f"tuner {options.tuner}"
            )
            return tuner

        _check_tuner(options.tuner, make_tuner())
        if options.skip_missing and not options.refs:
            raise OptionError("--skip-missing: has no effect without references; omit it")
        self.make_tuner: MakeTuner = make_tuner
        columns = _references(options, texts)
        self.references = [list(row) for row in columns]
        self.metrics = ListMetrics(
            options.metric,
            self.references,
            metric_options,
            tokenize=options.tokenize,
            lower=options.lower,
        )
        with display.step("read", unit="lists") as step:
            self.lists: Lists = read_lists(
                options.nbest,
                self.metrics,
                format=options.format,
                entries=entries,
                threads=self.threads,
                advance=step.advance,
            )
        _check_lists(options, self.lists, tell, warn)
        if options.tokenize == "none" and self.references:
            first = self.lists.texts(self.lists.first)
            mismatch = tokenization_mismatch(first, chain.from_iterable(self.references))
            is_raw = is_tokenized(chain.from_iterable(self.references)) is False
            if mismatch is not None:
                warn(mismatch)
            elif "bleu" in self.metrics.texts and is_raw:
                warn(RAW_TEXT)

    def fixed(self, start: Weights) -> frozenset[int]:
        """Return the ids of the features that keep their weights."""
        return _fixed(self.options, self.lists, start)

    def tuned(self, start: Weights, *, folds: int, fixed: frozenset[int], step: Any) -> Tuned:
        """Tune on all lists and on the folds."""
        return tune_reranker(
            self.lists.metric,
            self.lists.candidates,
            self.make_tuner,
            start,
            folds=folds,
            seed=self.options.seed,
            threads=self.threads,
            fixed=fixed,
            advance=step.advance,
        )

    def report(self, tuned: Tuned, folds: int) -> dict[str, Any]:
        """Return what the reranker gains, as values for JSON."""
        lists, metric, candidates = self.lists, self.lists.metric, self.lists.candidates
        rows = all_metrics(lists, self.metrics, tuned.held_out, self.threads)
        main = rows[0]
        oracle = oracle_of(metric, candidates)
        return {
            "tuner": self.options.tuner,
            "metric": main["metric"],
            "lists": candidates.groups,
            "candidates": candidates.rows,
            "repeated": lists.repeated,
            "features": len(candidates.features.ids),
            "active_features": tuned.optimized.weights.active,
            "folds": folds,
            "first_best": main["first_best"],
            "tuned": main["tuned"],
            "tuned_on_all": float(metric.shown(candidates.total(tuned.on_all))),
            "oracle": oracle,
            "oracle_share": oracle_share(main["first_best"], main["tuned"], oracle),
            "gain": main["difference"],
            "gain_low": main["low"],
            "gain_high": main["high"],
            "p_value": main["p_value"],
            "test": main["test"],
            "signature": self._signature(),
            "metrics": rows,
            "ablation": [],
            "warnings": [],
        }

    def _signature(self) -> str:
        metric = self.lists.metric
        if isinstance(metric, GivenScore):
            return GIVEN
        if isinstance(metric, Mix):
            return f"mix|{metric.describe()}"
        tokens = self.options.tokenize
        return metric.signature() + (f"|tok:{tokens}" if tokens != "none" else "")

    def ablation(
        self, tuned: Tuned, start: Weights, folds: int, fixed: frozenset[int]
    ) -> list[dict[str, Any]]:
        """Return what each feature contributes: the loss when it is left out."""
        lists, candidates = self.lists, self.lists.candidates
        ids = candidates.features.ids[: candidates.features.columns].tolist()
        ids = [id for id in ids if id not in fixed]
        names = [candidates.names.name(id) or f"id:{id:016x}" for id in ids]
        total = len(ids) * (folds + 1 if folds > 1 else 1)
        with self.display.step("leave out", total=total, unit="times") as step:
            chosen = ablations(
                lists,
                ids,
                self.make_tuner,
                start,
                folds=folds,
                seed=self.options.seed,
                threads=self.threads,
                fixed=fixed,
                advance=step.advance,
            )
        statistics = candidates.statistics
        rows = []
        for id, name, without in zip(ids, names, chosen, strict=True):
            row = compared(lists.metric, statistics[tuned.held_out], statistics[without])
            rows.append(
                {
                    "feature": name,
                    "weight": float(tuned.optimized.weights[id]),
                    "tuned": row["tuned"],
                    "difference": row["difference"],
                    "p_value": row["p_value"],
                }
            )
        lower = lists.metric.lower_is_better or getattr(lists.metric, "lower", False)
        return sorted(rows, key=lambda row: -row["difference"] if lower else row["difference"])

    def examples(self, tuned: Tuned) -> list[dict[str, Any]]:
        """Return the lists where the choice changes the sentence score most, for the report."""
        lists = self.lists
        statistics, first = lists.candidates.statistics, lists.first
        scores = lists.metric.sentence_scores(statistics[tuned.held_out])
        gains = scores - lists.metric.sentence_scores(statistics[first])
        changed = np.flatnonzero(tuned.held_out != first)
        changed = changed[gains[changed] != 0]
        order = changed[np.argsort(-np.abs(gains[changed]), kind="stable")][:EXAMPLES]
        before, after = lists.texts(first[order]), lists.texts(tuned.held_out[order])
        examples = []
        for place, group in enumerate(order.tolist()):
            number = int(lists.candidates.sentences[group])
            references = self.references[number] if self.references else []
            examples.append(
                {
                    "id": lists.ids[group],
                    "first_best": before[place],
                    "tuned": after[place],
                    "references": references,
                    "gain": float(gains[group]),
                }
            )
        return examples


def _check_tuner(name: str, tuner: Any) -> None:
    if tuner.loop == "online":
        raise OptionError(f"--tuner {name}: learns while decoding; choose a batch tuner")
    if "kbest" not in tuner.spaces:
        raise OptionError(
            f"--tuner {name}: learns from forests; use 'hopefear tune --lattices', which also "
            "reads n-best lists"
        )
    if tuner.pool_space != "kbest":
        raise OptionError(f"--tuner {name}: learns from forests; give --set space=kbest")


def _references(
    options: RerankOptions, texts: Mapping[Path, Sequence[str]] | None
) -> list[list[str]]:
    refs = options.refs
    rows = [list(row) for row in read_parallel(refs, texts)] if refs else []
    if refs and not rows:
        raise InputError(f"{display_name(refs[0])}: no line in it; expected references")
    return rows


def _check_lists(options: RerankOptions, lists: Lists, tell: Tell, warn: Tell) -> None:
    if lists.missing and not options.skip_missing:
        raise InputError(
            f"{display_name(options.nbest)}: no candidate for sentence {lists.missing[0]} "
            f"({len(lists.missing):,} of them have none); add them, or give --skip-missing"
        )
    if lists.missing:
        warn(f"{len(lists.missing):,} sentences have no candidate and are left out")
    if lists.repeated:
        tell(f"{lists.repeated:,} repeated candidates left out")


def _fixed(options: RerankOptions, lists: Lists, start: Weights) -> frozenset[int]:
    names = lists.candidates.names
    known = set(lists.candidates.features.ids.tolist())
    ids = set()
    for feature in options.fixed:
        id = names.intern(feature)
        if id not in known and feature not in start:
            raise OptionError(f"--fixed {feature}: no candidate has this feature")
        ids.add(id)
    return frozenset(ids)
