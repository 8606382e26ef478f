"""Rerankers: weights that choose among the candidates of any system's n-best lists.

Takes `RerankOptions` and returns a `Reranker`, which chooses among the candidates of other lists.
The commands `hopefear rerank tune` and `apply`, and `hopefear.rerank` in Python, call this module.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hopefear.base import registry
from hopefear.base.console import html_table, table
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, check_one_stdin, display_name
from hopefear.base.memory import check_address_space
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.base.weights import Weights
from hopefear.forest import edge_scores
from hopefear.forest.io.nbest import Format, NbestList, id_number, read_nbest
from hopefear.learn.pool.candidate_builder import entry
from hopefear.learn.rerank_lists import Lists, read_lists, tune_reranker
from hopefear.learn.rerank_options import RerankOptions
from hopefear.learn.tuner import BatchTuner
from hopefear.metrics.metric import Metric
from hopefear.text.lines import read_parallel
from hopefear.text.spacing import tokenization_mismatch

Tell = Callable[[str], None]
Entries = Sequence[Mapping[str, Any]]  # candidates in memory, with the keys of JSON lines


@dataclass(frozen=True, repr=False)
class Reranker:
    """Weights that choose among the candidates of n-best lists."""

    weights: Weights
    report: Mapping[str, Any]  #: as in `hopefear rerank tune --json`; empty for a loaded reranker

    @property
    def first_best(self) -> float:
        """The score of the first candidates."""
        return float(self.report["first_best"])

    @property
    def tuned(self) -> float:
        """The score of the chosen candidates; with folds, on lists not used in tuning."""
        return float(self.report["tuned"])

    @property
    def oracle(self) -> float:
        """The score of the best candidates."""
        return float(self.report["oracle"])

    @property
    def p_value(self) -> float:
        """The p-value of the difference between `tuned` and `first_best`."""
        return float(self.report["p_value"])

    def apply(
        self,
        nbest: PathLike | Iterable[Mapping[str, Any]],
        *,
        format: Format | None = None,
        ids: bool = False,
    ) -> list[str]:
        """Return the chosen candidate of each list, in the order of the sentences.

        Takes a file of lists, or its entries in memory: `{"id": 0, "text": …, "features": {…}}`.
        With `ids`, each line begins with the list's id and a tab, in the order of the lists.
        """
        choice = Choice(Path("<nbest>"), self.weights, format, ids)
        if isinstance(nbest, str | os.PathLike):
            choice.nbest = Path(nbest)
        else:
            choice.entries = list(nbest)
        chosen = list(choice.texts())
        for text in choice.remarks("the weights"):
            warnings.warn(text, stacklevel=2)
        return chosen

    def save(self, path: PathLike) -> None:
        """Write the weights, as 'hopefear rerank tune -o' does."""
        self.weights.save(path)

    @classmethod
    def load(cls, path: PathLike) -> Reranker:
        """Return a reranker with saved weights; it has no scores."""
        return cls(Weights.load(path), {})

    def __repr__(self) -> str:
        if not self.report:
            return f"Reranker({self.weights!r})"
        report = self.report
        return "\n".join(
            [
                table(self._rows(), ["", report["metric"]]),
                f"p = {report['p_value']:.4f} ({report['test']})",
                f"{report['lists']:,} lists, {report['candidates']:,} candidates, "
                f"{report['active_features']:,} of {report['features']:,} features have weights",
            ]
        )

    def _repr_html_(self) -> str:
        if not self.report:
            return html_table([[repr(self)]], [""])
        title = f"{self.report['tuner']}, p = {self.p_value:.4f}"
        return html_table(self._rows(), ["", self.report["metric"]], title)

    def _rows(self) -> list[list[str]]:
        report = self.report
        number = "{:.4f}" if report["signature"] == "given" else "{:.2f}"
        folds = report["folds"]
        kind = f"tuned, {folds} folds" if folds > 1 else "tuned, on the same lists"
        rows = [("first best", "first_best"), (kind, "tuned")]
        rows += [("tuned on all", "tuned_on_all")] if folds > 1 else []
        rows += [("oracle", "oracle")]
        return [[name, number.format(report[key])] for name, key in rows]


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
    check_address_space()
    display = display or Display()
    metric = _metric(options, metric_options or {})
    weight_files = [options.weights] if options.weights is not None else []
    check_one_stdin(options.nbest, *options.refs, *weight_files)

    def make_tuner() -> BatchTuner:
        tuner: BatchTuner = registry.create("tuner", options.tuner, tuner_options)
        return tuner

    _check_tuner(options.tuner, make_tuner())
    if weights is None:
        weights = Weights() if options.weights is None else Weights.load(options.weights)
    threads = options.threads or all_cores()
    references = _references(options, texts)
    with display.step("read", unit="lists") as step:
        lists = read_lists(
            options.nbest,
            references,
            metric,
            format=options.format,
            entries=entries,
            threads=threads,
            advance=step.advance,
        )
    _check_lists(options, lists, tell, warn)
    mismatch = tokenization_mismatch(lists.first_texts, chain.from_iterable(references))
    if mismatch is not None:
        warn(mismatch)
    parts = options.folds + 1 if options.folds > 1 else 1
    with display.step("tune", total=parts, unit="times") as step:
        tuned = tune_reranker(
            lists,
            make_tuner,
            weights,
            folds=options.folds,
            seed=options.seed,
            threads=threads,
            fixed=_fixed(options, lists, weights),
            advance=step.advance,
        )
    learned = tuned.optimized.weights
    if learned.active == 0:
        warn("all weights are 0: nothing was learned; are the features all constant?")
    rare = tuned.optimized.notes.get("sparse_features", 0)
    if options.tuner == "mert" and rare:
        warn(
            f"{rare:,} features are sparse, and mert does not tune them; use batch-mira, which "
            "tunes all features"
        )
    return Reranker(
        learned,
        {
            "tuner": options.tuner,
            "metric": lists.metric.name,
            "lists": lists.candidates.groups,
            "candidates": lists.candidates.rows,
            "repeated": lists.repeated,
            "features": len(lists.candidates.features.ids),
            "active_features": learned.active,
            "folds": options.folds,
            "first_best": tuned.first_best,
            "tuned": tuned.tuned,
            "tuned_on_all": tuned.tuned_on_all,
            "oracle": tuned.oracle,
            "p_value": tuned.p_value,
            "test": tuned.test,
            "signature": "given" if metric is None else lists.metric.signature(),
        },
    )


def _metric(options: RerankOptions, metric_options: Mapping[str, Any]) -> Metric | None:
    """Return the metric of the options; None is the mean of given scores."""
    if options.metric == "given":
        if options.refs:
            raise OptionError("--refs: has no effect with --metric given; omit it")
        if metric_options:
            raise OptionError("--metric-set: given scores have no options; omit it")
        if options.skip_missing:
            raise OptionError("--skip-missing: has no effect with --metric given; omit it")
        return None
    metric: Metric = registry.create("metric", options.metric, metric_options)
    if not options.refs:
        raise OptionError("--refs is missing: references, one file each; or --metric given")
    return metric


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


# -- choosing --


@dataclass
class Choice:
    """The best candidates of n-best lists under given weights, read one list at a time."""

    nbest: Path
    weights: Weights
    format: Format | None = None
    ids: bool = False  # lines begin with the list's id and a tab
    entries: Entries | None = None  # candidates in memory instead of the file
    lists: int = 0
    candidates: int = 0
    changed: int = 0  # lists whose best candidate is not the first one
    missing: int = 0  # sentences without candidates
    matched: bool = False  # whether some feature has a weight

    def texts(self, advance: Callable[[], None] = lambda: None) -> Iterator[str]:
        """Yield the best candidate of each list, the first in a tie."""
        places = _Places(self.nbest, self.ids)
        for list_ in read_nbest(self.nbest, self.format, entries=self.entries):
            best = int(np.argmax(edge_scores(list_.forest, self.weights)))
            self.lists += 1
            self.changed += best != 0
            self.candidates += list_.forest.edges
            if not self.matched:
                self.matched = any(int(id) in self.weights for id in list_.forest.feature_ids)
            yield from places.take(list_, entry(list_.forest, best).text)
            advance()
        yield from places.rest()
        self.missing = places.missing

    def remarks(self, place: str) -> Iterator[str]:
        """Yield warnings after all lists are read; `place` names the source of the weights."""
        if self.lists and not self.matched:
            yield f"no feature of the lists has a weight in {place}; are these its lists?"
        if self.missing:
            yield f"{self.missing:,} sentences without candidates are empty lines"


class _Places:
    """Keeps the output parallel to the input of the system that made the lists."""

    def __init__(self, nbest: Path, ids: bool) -> None:
        self.nbest, self.ids = nbest, ids
        self.lists = self.missing = 0
        self._next = 0  # the number of the next sentence to write
        self._waiting: dict[int, str] = {}
        self._seen: set[str] = set()

    def take(self, list_: NbestList, text: str) -> Iterator[str]:
        """Take the translation of a list and yield the lines that can be written now."""
        id = list_.id
        self.lists += 1
        number = None if self.ids else id_number(id)
        if number is None:
            if id in self._seen:
                raise self._second(id)
            self._seen.add(id)
            yield f"{id}\t{text}" if self.ids else text
            return
        if number < self._next or number in self._waiting:
            raise self._second(id)
        if number - self._next - len(self._waiting) > 10_000_000:
            raise InputError(
                f"{display_name(self.nbest)}: id {id} after {self.lists - 1:,} lists; expected the "
                "numbers of sentences, give --ids"
            )
        self._waiting[number] = text
        while self._next in self._waiting:
            yield self._waiting.pop(self._next)
            self._next += 1

    def rest(self) -> Iterator[str]:
        """Yield the remaining lines, with empty lines for sentences without a list."""
        for number in sorted(self._waiting):
            for _ in range(number - self._next):
                self.missing += 1
                yield ""
            yield self._waiting[number]
            self._next = number + 1

    def _second(self, id: str) -> InputError:
        return InputError(
            f"{display_name(self.nbest)}: a second list of id {id!r}; put the candidates of one id "
            "together"
        )
