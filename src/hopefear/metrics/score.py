"""Scores of translations, and significance tests of the differences between systems.

Takes `ScoreOptions` and returns `Scores`: the metrics of the first system, by default BLEU, chrF,
TER and length, and the comparisons of the other systems with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hopefear.base import registry
from hopefear.base.config import fields_of
from hopefear.base.console import html_table, table
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import display_name
from hopefear.base.progress import Display
from hopefear.metrics.metric import IntArray, Metric, Prepared, create
from hopefear.metrics.score_options import ScoreOptions
from hopefear.metrics.significance import (
    Outcome,
    Summary,
    approximate_randomization,
    paired_bootstrap,
    summarize,
)
from hopefear.metrics.tokenizing import tokenized
from hopefear.text.lines import read_parallel
from hopefear.text.spacing import is_tokenized, tokenization_mismatch

RAW_TEXT = (
    "the references are raw text, and --tokenize none splits at blanks only: 'house.' is not "
    "'house'; give --tokenize 13a for the BLEU of sacreBLEU"
)

JSON_NAMES = {"length": "length_ratio"}  # where they are not those of the metrics


@dataclass(frozen=True, repr=False)
class SystemScores:
    """The scores of a system, as means over its runs."""

    name: str
    summaries: Mapping[str, Summary]  #: means and deviations, by metric name

    def score(self, metric: str) -> float:
        """Return the score of a metric by its name, as shown."""
        if metric not in self.summaries:
            raise OptionError(f"{metric} is not among the metrics {', '.join(self.summaries)}")
        return self.summaries[metric].mean

    @property
    def bleu(self) -> float:
        """BLEU, 0 to 100."""
        return self.score("bleu")

    @property
    def chrf(self) -> float:
        """chrF, 0 to 100."""
        return self.score("chrf")

    @property
    def ter(self) -> float:
        """TER, in percent; lower is better."""
        return self.score("ter")

    @property
    def length_ratio(self) -> float:
        """Words of the output divided by words of the reference."""
        return self.score("length")

    def __repr__(self) -> str:
        pairs = zip(self.summaries, self._means(), strict=True)
        return f"{self.name}: " + ", ".join(f"{title(key)} {value}" for key, value in pairs)

    def _means(self) -> list[str]:
        return [shown(key, summary.mean) for key, summary in self.summaries.items()]

    def to_mapping(self) -> dict[str, Any]:
        """Return what `hopefear score --json` prints for the system."""
        means = {key: summary.mean for key, summary in self.summaries.items()}
        return {
            "name": self.name,
            **{JSON_NAMES.get(key, key): mean for key, mean in means.items()},
            "summaries": {key: summary._asdict() for key, summary in self.summaries.items()},
        }


@dataclass(frozen=True, repr=False)
class Comparison(SystemScores):
    """Another system's scores, and its comparison with the first system by a paired test."""

    differences: Mapping[str, float]  #: differences from the first system, by metric name
    p_values: Mapping[str, float]  #: p-values, by metric name
    test: str  #: signature of the test

    @property
    def p_value(self) -> float:
        """The p-value for BLEU, or for the first metric if BLEU is not among them."""
        return self.p_values.get("bleu", next(iter(self.p_values.values())))

    def to_mapping(self) -> dict[str, Any]:
        return super().to_mapping() | {
            "differences": dict(self.differences),
            "p_values": dict(self.p_values),
            "p_value": self.p_value,
            "test": self.test,
        }


@dataclass(frozen=True, repr=False)
class Scores(SystemScores):
    """The scores of the first system, and the comparisons of the others with it."""

    runs: int  #: number of runs per system
    signatures: Mapping[str, str]  #: metric signatures, by metric name
    sentences: Sequence[Mapping[str, float]] | None = None  #: scores per sentence, if requested
    versus: Sequence[Comparison] = ()

    @property
    def signature(self) -> str:
        """The signatures of all metrics."""
        return "; ".join(self.signatures.values())

    def to_mapping(self) -> dict[str, Any]:
        """Return what `hopefear score --json` prints."""
        sentences = {} if self.sentences is None else {"sentences": list(self.sentences)}
        return {
            **super().to_mapping(),
            "signature": self.signature,
            "signatures": dict(self.signatures),
            **sentences,
            "versus": [system.to_mapping() for system in self.versus],
        }

    def __repr__(self) -> str:
        return "\n".join([table(*self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        rows, header = self._table()
        return html_table(rows, header, self.signature)

    @property
    def _several_runs(self) -> bool:
        return self.runs > 1

    def _table(self) -> tuple[list[list[str]], list[str]]:
        """Return rows and header: a line of scores, or MultEval's table with a block per metric."""
        systems = [self, *self.versus]
        if len(systems) == 1 and not self._several_runs:
            return [[self.name, *self._means()]], ["system", *map(title, self.summaries)]
        rows = []
        for key in self.summaries:
            for number, system in enumerate(systems):
                summary = system.summaries[key]
                row = ["" if number else title(key), system.name, shown(key, summary.mean)]
                row.append(shown(key, summary.resampling_deviation))
                if self._several_runs:
                    row.append(shown(key, summary.run_deviation or 0.0))
                row.append(f"{system.p_values[key]:.4f}" if isinstance(system, Comparison) else "-")
                rows.append(row)
        return rows, ["", "system", "mean", "s_sel", *["s_run"] * self._several_runs, "p"]

    def _notes(self) -> Iterator[str]:
        if not self.versus and not self._several_runs:
            return
        yield ""
        yield "s_sel: standard deviation over resampled test sets"
        if self._several_runs:
            yield f"s_run: standard deviation over {self.runs} runs"
        if self.versus:
            yield f"p: against {self.name}, {self.versus[0].test}"


def score(
    options: ScoreOptions,
    *,
    texts: Mapping[Path, Sequence[str]] | None = None,
    display: Display | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> Scores:
    """Score and compare the systems that the options name.

    `texts` holds texts in memory, by the names that stand for them in the options
    (`text.lines.Texts`); `warn` is called with each warning.
    """
    systems = [(_label(files, name, texts or {}), files) for name, files in options.systems()]
    files = [path for _, runs in systems for path in runs]
    columns = read_columns([*files, *options.refs], texts)
    references = columns[len(files) :]
    if options.tokenize != "char":  # which sets no store by blanks
        mismatches = (
            tokenization_mismatch(column, chain(*references)) for column in columns[: len(files)]
        )
        for warning in filter(None, mismatches):
            warn(warning)
            break
        else:
            if (
                "bleu" in options.metric
                and options.tokenize == "none"
                and is_tokenized(chain(*references)) is False
            ):
                warn(RAW_TEXT)
    scoring = _Scoring(options, references)
    display = display or Display()
    statistics = []
    with display.step("score", total=len(files), unit="files") as step:
        for begin in range(0, len(files), options.runs):
            runs = columns[begin : begin + options.runs]
            statistics.append({name: scoring.counted(name, runs) for name in options.metric})
            step.advance(len(runs))
    (name, _), *others = systems
    summaries = scoring.summaries(statistics[0])
    sentences = scoring.sentences(statistics[0]) if options.sentences else None
    versus = []
    if others:
        with display.step("compare", total=len(others), unit="systems") as step:
            for (other, _), rows in zip(others, statistics[1:], strict=True):
                versus.append(scoring.comparison(other, statistics[0], rows))
                step.advance()
    return Scores(name, summaries, options.runs, scoring.signatures(), sentences, versus)


def _label(files: Sequence[Path], name: str, texts: Mapping[Path, Sequence[str]]) -> str:
    """Return the name of a system, without the brackets of the name of a text in memory."""
    return name.strip("<>") if files[0] in texts else name


_Rows = Mapping[str, Sequence[IntArray]]  # statistics of each run, by metric name


class _Scoring:
    """The metrics that the options ask for, with prepared references."""

    def __init__(self, options: ScoreOptions, references: Sequence[Sequence[str]]) -> None:
        self.options = options
        self.lines, self.references = len(references[0]), len(references)
        self.metrics = {name: _metric(name, options) for name in options.metric}
        self.prepared: dict[str, Prepared] = {
            name: metric.prepare(
                list(zip(*(self._tokens(name, lines) for lines in references), strict=True))
            )
            for name, metric in self.metrics.items()
        }

    def _tokenization(self, name: str) -> Literal["none", "13a", "zh", "char"]:
        if name in ("chrf", "cer") or (name == "ter" and self.options.tokenize == "13a"):
            return "none"
        return self.options.tokenize

    def _tokens(self, name: str, lines: Sequence[str]) -> Sequence[str]:
        tokenization = self._tokenization(name)
        if name == "bleu" and self.options.lowercase:  # before tokenising, as in sacreBLEU
            lines = [line.lower() for line in lines]
        return lines if tokenization == "none" else tokenized(lines, tokenization)

    def counted(self, name: str, runs: Sequence[Sequence[str]]) -> list[IntArray]:
        """Take the runs of a system and return their statistics of a metric."""
        prepared, threads = self.prepared[name], self.options.threads
        return [prepared.statistics(self._tokens(name, run), threads=threads) for run in runs]

    def summaries(self, rows: _Rows) -> dict[str, Summary]:
        options = self.options
        return {
            name: summarize(metric, rows[name], samples=options.resamples, seed=options.seed)
            for name, metric in self.metrics.items()
        }

    def comparison(self, name: str, first: _Rows, rows: _Rows) -> Comparison:
        """Take statistics of the first and of another system and return their comparison."""
        outcomes = {
            key: self._compare(metric, first[key], rows[key])
            for key, metric in self.metrics.items()
        }
        return Comparison(
            name,
            self.summaries(rows),
            differences={key: outcome.difference for key, outcome in outcomes.items()},
            p_values={key: outcome.p_value for key, outcome in outcomes.items()},
            test=next(iter(outcomes.values())).signature,
        )

    def _compare(
        self, metric: Metric, first: Sequence[IntArray], second: Sequence[IntArray]
    ) -> Outcome:
        """Test the second system against the first."""
        options = self.options
        if options.randomization:
            return approximate_randomization(
                metric,
                second,
                first,
                trials=options.samples or 10_000,
                seed=options.seed,
                coin=options.coin or "sentence",
            )
        return paired_bootstrap(
            metric,
            second,
            first,
            samples=options.resamples,
            seed=options.seed,
            form=options.form or "two-sided",
        )

    def sentences(self, rows: _Rows) -> list[dict[str, float]]:
        """Return the scores of each sentence, as means over runs."""
        columns = {}
        for key, metric in self.metrics.items():
            value = metric.shown if key == "length" else metric.sentence_scores
            scores = np.mean([value(run) for run in rows[key]], axis=0)
            if key != "length":
                scores = scores * (-100.0 if metric.lower_is_better else 100.0) + 0.0  # no -0.0
            columns[key] = scores.tolist()
        return [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]

    def signatures(self) -> dict[str, str]:
        parts = {}
        for name, metric in self.metrics.items():
            options, _, version = metric.signature().rpartition("|version:")
            shared = f"tok:{self._tokenization(name)}|nrefs:{self.references}|lines:{self.lines}"
            parts[name] = f"{options}|{shared}|version:{version}"
        return parts


def _metric(name: str, options: ScoreOptions) -> Metric:
    """Return a metric with those of the options that it has; TER ignores case by itself."""
    given: dict[str, Any] = {"reference_length": options.reference_length}
    if name != "ter":
        given["lowercase"] = options.lowercase
    known = {field.name for field in fields_of(registry.get("metric", name))}
    return create(name, {key: value for key, value in given.items() if key in known})


def title(key: str) -> str:
    """Take a metric's name and return its name in tables."""
    cls: type[Metric] = registry.get("metric", key)
    return cls.title


def read_columns(
    paths: Sequence[Path], texts: Mapping[Path, Sequence[str]] | None = None
) -> list[list[str]]:
    """Take parallel files and return the lines of each; raises `InputError` if they are empty."""
    rows = list(read_parallel(paths, texts))
    if not rows:
        names = ", ".join(map(display_name, paths))
        raise InputError(f"{names}: no lines; expected a sentence per line")
    return [list(column) for column in zip(*rows, strict=True)]


def shown(key: str, value: float) -> str:
    """Take a metric's name and a score and return the score as text."""
    return f"{value:.3f}" if key == "length" else f"{value:.2f}"
