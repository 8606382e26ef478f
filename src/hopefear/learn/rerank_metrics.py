"""The metrics of a reranker: the one to optimise, and those that are reported.

Takes `--metric NAME[=WEIGHT] …`, where a name is that of a registered metric (bleu, wer …), `given`
(the "score" of the lists) or a name among the "scores" of the lists (comet, metricx …), and returns
the columns of statistics that each candidate needs, and a metric of them. Everything that can be
measured is reported, so that a gain in one metric at the cost of another is seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base import registry
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.files import PathLike, display_name
from hopefear.forest.io.nbest import NbestList
from hopefear.metrics.given import GivenScore
from hopefear.metrics.metric import IntArray, Metric, Prepared, create
from hopefear.metrics.mix import Mix
from hopefear.metrics.tokenizing import tokenized

GIVEN = "given"
_TEXT = {True: ("wer", "cer"), False: ("bleu", "chrf", "ter")}  # reported; True: of transcripts
_TOKENIZED_ITSELF = ("chrf", "cer")  # counts characters of the untokenised line


@dataclass(frozen=True)
class Term:
    """A metric by its name and its weight in the sum to optimise."""

    name: str
    weight: float = 1.0


def parse_terms(names: Sequence[str] | str) -> list[Term]:
    """Take `NAME` or several `NAME=WEIGHT` and return the terms."""
    terms = []
    for text in [names] if isinstance(names, str) else names:
        name, equals, number = text.partition("=")
        try:
            weight = float(number) if equals else 1.0
        except ValueError:
            weight = math.nan
        if not name or not math.isfinite(weight) or weight == 0:
            raise OptionError(
                f"--metric {text}: expected NAME or NAME=WEIGHT with a weight other than 0"
            )
        terms.append(Term(name, weight))
    if len({term.name for term in terms}) != len(terms) or not terms:
        raise OptionError("--metric: name each metric once, and at least one")
    return terms


class TextMetric:
    """A metric of text with its references, prepared for counting."""

    def __init__(
        self, metric: Metric, references: Sequence[Sequence[str]], tokenize: str = "none"
    ) -> None:
        self.metric = metric
        plain = metric.name in _TOKENIZED_ITSELF or (metric.name == "ter" and tokenize == "13a")
        self._tokenize = "none" if plain else tokenize
        self._prepared: Prepared = metric.prepare(
            [self._tokens(list(texts)) for texts in references]
        )

    def rows(self, texts: Sequence[str], sentences: Sequence[int], threads: int) -> IntArray:
        """Return the statistics of texts, each with the number of its sentence."""
        numbers = np.asarray(sentences, np.int32)
        return self._prepared.statistics(self._tokens(texts), numbers, threads)

    def _tokens(self, lines: Sequence[str]) -> Sequence[str]:
        if self._tokenize == "none":
            return lines
        return list(tokenized(lines, self._tokenize))  # type: ignore[arg-type]


class ListMetrics:
    """The metrics of n-best lists: what to optimise, and what to report."""

    def __init__(
        self,
        names: Sequence[str] | str,
        references: Sequence[Sequence[str]],
        options: Mapping[str, Any] | None = None,
        *,
        tokenize: str = "none",
        lower: Sequence[str] = (),
    ) -> None:
        self.terms = parse_terms(names)
        self.references, self.lower = references, frozenset(lower)
        self._options, self._tokenize = dict(options or {}), tokenize
        self.texts: dict[str, TextMetric] = {}
        for term in self.terms:
            if is_text_metric(term.name):
                if not references:
                    raise OptionError(
                        "--refs is missing: references, one file each; or --metric given"
                    )
                metric = create(term.name, self._options)
                self.texts[term.name] = TextMetric(metric, references, tokenize)
        if self._options and not self.texts:
            raise OptionError("--metric-set: given scores have no options; omit it")

    def objective(self, lists: Sequence[NbestList], path: PathLike) -> tuple[Metric, list[str]]:
        """Return the metric to optimise, and the names of its parts."""
        parts: list[Metric] = []
        for term in self.terms:
            if term.name in self.texts:
                parts.append(self.texts[term.name].metric)
            else:
                parts.append(self.given(term.name, lists, path))
        names = [term.name for term in self.terms]
        if len(parts) == 1 and self.terms[0].weight == 1.0:
            return parts[0], names
        return Mix(names=names, weights=[term.weight for term in self.terms], parts=parts), names

    def given(self, name: str, lists: Sequence[NbestList], path: PathLike) -> GivenScore:
        """Return the metric of given scores, which all entries must have."""
        known = dict.fromkeys(key for list_ in lists for key in list_.named)
        if name != GIVEN and name not in known:
            raise OptionError(
                f"unknown metric {name!r}, and no score of that name in {display_name(path)}; "
                + suggestion(name, [*names_of_metrics(), GIVEN, *known])
            )
        for list_ in lists:
            _check_scores(column(list_, name), name, list_.id, path)
        scores = [column(list_, name) for list_ in lists]
        return GivenScore.of(np.concatenate(scores), lower=name in self.lower)

    def check_lower(self, lists: Sequence[NbestList], path: PathLike) -> None:
        """Refuse a name of `lower` that is not that of a score in the lists."""
        known = dict.fromkeys(key for list_ in lists for key in list_.named)
        if any(np.isfinite(list_.scores).any() for list_ in lists):
            known[GIVEN] = None
        for name in sorted(self.lower - known.keys()):
            if is_text_metric(name):
                raise OptionError(f"--lower {name}: only for scores in the lists; remove it")
            raise OptionError(
                f"--lower {name}: no score of that name in {display_name(path)}; "
                + suggestion(name, known)
            )

    def report_text_metrics(self) -> dict[str, TextMetric]:
        """Return the metrics of text to report besides the optimised ones."""
        if not self.references:
            return {}
        speech = bool({"wer", "cer"} & self.texts.keys())
        return {
            name: TextMetric(create(name), self.references, self._tokenize)
            for name in _TEXT[speech]
            if name not in self.texts
        }


def is_text_metric(name: str) -> bool:
    """Whether a name is that of a registered metric, which needs references."""
    return name != GIVEN and (registry.has_module("metric", name) or name in names_of_metrics())


def names_of_metrics() -> list[str]:
    """Return the names of all registered metrics."""
    return registry.names("metric")


def column(list_: NbestList, name: str) -> NDArray[np.float64]:
    """Return the scores of a list by name; NaN where an entry has none."""
    if name == GIVEN:
        return list_.scores
    return list_.named.get(name, np.full(list_.forest.edges, math.nan))


def complete_scores(lists: Sequence[NbestList]) -> list[str]:
    """Return the names of the scores that all entries have, `given` for "score"."""
    names = [GIVEN, *dict.fromkeys(key for list_ in lists for key in list_.named)]
    return [
        name for name in names if all(np.isfinite(column(list_, name)).all() for list_ in lists)
    ]


def _check_scores(scores: NDArray[np.float64], name: str, id: str, path: PathLike) -> None:
    called = "score" if name == GIVEN else f"score {name!r}"
    absent = np.flatnonzero(np.isnan(scores))
    if len(absent):
        example = '"score"' if name == GIVEN else f'"scores": {{"{name}": …}}'
        raise InputError(
            f"{display_name(path)}: entry {int(absent[0]) + 1} of id {id!r} has no {called}; give "
            f"each a {example}, or choose another metric and references"
        )
    wrong = np.flatnonzero(np.isinf(scores))
    if len(wrong):
        raise InputError(
            f"{display_name(path)}: the {called} of entry {int(wrong[0]) + 1} of id {id!r} is "
            "infinite, expected a finite number; mend or drop the entry"
        )
