"""`Reranker`: weights that choose among the candidates of n-best lists, as an estimator.

    reranker = Reranker(tuner="mert", metric="bleu").fit(lists, refs)
    reranker.rerank(lists)

The conventions are those of scikit-learn: options are arguments of the constructor, kept as they
are (`get_params`, `set_params`); `fit` takes the lists and one reference, or several, for each and
returns the reranker; `predict` is `rerank`; `score` is the metric, higher is better. Lists are a
file, a table (`pandas.DataFrame`), an iterable of candidates, or an iterable of lists of candidates
(`learn.rerank_entries`).
"""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.console import html_table, table
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.files import PathLike, write_text
from hopefear.base.weights import Weights
from hopefear.forest import edge_scores
from hopefear.forest.io.nbest import Format, read_nbest
from hopefear.learn.rerank_choice import Choice, second_list
from hopefear.learn.rerank_entries import entries_of, grouped, numbered, references_of
from hopefear.learn.rerank_options import RerankOptions
from hopefear.learn.rerank_report import ablation_table, metric_table, number

_MEMORY = Path("<nbest>")  # the name of lists in memory


class Reranker:
    """Weights that choose among the candidates of n-best lists."""

    def __init__(
        self,
        tuner: str = "mert",
        metric: str | Sequence[str] = "bleu",
        *,
        folds: int | None = None,
        seed: int = 1,
        tokenize: str = "none",
        fixed: Sequence[str] = (),
        lower: Sequence[str] = (),
        ablation: bool = False,
        skip_missing: bool = False,
        start: Mapping[str, float] | None = None,
        tuner_options: Mapping[str, Any] | None = None,
        metric_options: Mapping[str, Any] | None = None,
        threads: int = 0,
    ) -> None:
        self.tuner, self.metric, self.folds, self.seed = tuner, metric, folds, seed
        self.tokenize, self.fixed, self.lower = tokenize, fixed, lower
        self.ablation, self.skip_missing, self.start = ablation, skip_missing, start
        self.tuner_options, self.metric_options = tuner_options, metric_options
        self.threads = threads
        self._weights: Weights | None = None
        self.report: Mapping[str, Any] = {}  #: as `rerank tune --json`; empty for a loaded reranker
        self.examples: Sequence[Mapping[str, Any]] = ()  #: lists of which the choice changes most

    @classmethod
    def of(
        cls,
        weights: Weights,
        report: Mapping[str, Any],
        options: RerankOptions | None = None,
        tuner_options: Mapping[str, Any] | None = None,
        metric_options: Mapping[str, Any] | None = None,
    ) -> Reranker:
        """Return a reranker with weights, and the report and the options of their tuning."""
        reranker = cls(tuner_options=tuner_options, metric_options=metric_options)
        if options is not None:
            names = ("tuner", "metric", "folds", "seed", "tokenize", "fixed", "lower")
            for name in (*names, "ablation", "skip_missing", "threads"):
                setattr(reranker, name, getattr(options, name))
        reranker._weights, reranker.report = weights, report
        return reranker

    # -- scikit-learn --

    def fit(self, lists: Any, refs: Any = None) -> Reranker:
        """Tune the weights on lists, with one reference (or several) for each; return self.

        `refs` has a text, or a list of texts, for each list in their order; it may be a file, and
        it is left out if the metric is `given` or a score of the lists.
        """
        from hopefear.learn.rerank import rerank

        texts: dict[Path, Sequence[str]] = {}
        files: list[Path] = []
        if isinstance(refs, str | os.PathLike):
            files = [Path(refs)]
        elif refs is not None:
            for place, column in enumerate(references_of(refs)):
                files.append(Path(f"<refs {place + 1}>"))
                texts[files[-1]] = column
        is_file = isinstance(lists, str | os.PathLike)
        entries = None if is_file else entries_of(lists)
        options = RerankOptions(
            nbest=Path(lists) if is_file else _MEMORY,
            tuner=self.tuner,
            refs=files,
            metric=[self.metric] if isinstance(self.metric, str) else list(self.metric),
            tokenize=self.tokenize,  # type: ignore[arg-type]
            lower=list(self.lower),
            fixed=list(self.fixed),
            folds=self.folds,
            ablation=self.ablation,
            seed=self.seed,
            threads=self.threads,
            skip_missing=self.skip_missing,
        )
        tuned = rerank(
            options,
            self.tuner_options,
            self.metric_options,
            entries=numbered(entries) if entries is not None and files else entries,
            weights=Weights(dict(self.start)) if self.start else None,
            texts=texts,
            warn=lambda text: warnings.warn(text, stacklevel=4),
        )
        self._weights, self.report, self.examples = tuned.weights, tuned.report, tuned.examples
        return self

    def rerank(self, lists: Any) -> list[str]:
        """Return the chosen candidate of each list, in the order of the lists."""
        return list(self.stream(lists))

    predict = rerank

    def stream(self, lists: Any) -> Iterator[str]:
        """Yield the chosen candidate of each list as soon as the list has been read."""
        if isinstance(lists, str | os.PathLike):
            choice = Choice(Path(lists), self.weights, None)
        else:
            choice = Choice(_MEMORY, self.weights, entries=grouped(lists))
        seen: set[str] = set()
        for list_, text in choice.choices():
            if list_.id in seen:
                raise second_list(choice.nbest, list_.id)
            seen.add(list_.id)
            yield text
        for remark in choice.remarks("the weights"):
            warnings.warn(remark, stacklevel=2)

    def decision_function(self, lists: Any) -> NDArray[np.float64]:
        """Return the model score of each candidate, in their order."""
        if isinstance(lists, str | os.PathLike):
            read = read_nbest(Path(lists))
        else:
            read = read_nbest(_MEMORY, entries=entries_of(lists))
        scores = [edge_scores(list_.forest, self.weights) for list_ in read]
        return np.concatenate([np.zeros(0), *scores])

    def score(self, lists: Any, refs: Any) -> float:
        """Return the metric of the chosen candidates against references: higher is better.

        `refs` has a text, or a list of texts, for each list in their order, or is a file.
        """
        from hopefear.learn.rerank_metrics import TextMetric, is_text_metric, parse_terms
        from hopefear.metrics.metric import create
        from hopefear.text.lines import read_lines

        (term, *others) = parse_terms(self.metric)
        if others or not is_text_metric(term.name):
            raise OptionError(f"score: metric {self.metric} cannot score text; see `report`")
        if isinstance(refs, str | os.PathLike):
            refs = list(read_lines(refs))
        columns = references_of(refs)
        references = [list(row) for row in zip(*columns, strict=True)]
        metric = TextMetric(create(term.name, self.metric_options), references, self.tokenize)
        texts = self.rerank(lists)
        if len(texts) != len(references):
            raise InputError(f"refs: {len(references)} for {len(texts)} lists; give one for each")
        rows = metric.rows(texts, range(len(texts)), 1)
        shown = float(metric.metric.shown(rows.sum(axis=0, dtype=np.int64)))
        return metric.metric.quality(shown)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Reranker:
        """Set arguments of the constructor; return self."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise OptionError(
                    f"Reranker: unknown parameter {name!r}; {suggestion(name, known)}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks before it cross-validates an estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True, dict=True),
        )

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    # -- the result --

    @property
    def weights(self) -> Weights:
        """The tuned weights."""
        if self._weights is None:
            raise InputError("this Reranker has no weights yet; call fit, or Reranker.load")
        return self._weights

    @property
    def weights_(self) -> Weights:
        """The tuned weights, by scikit-learn's name for what `fit` learns."""
        return self.weights

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
        choice = Choice(_MEMORY, self.weights, format, ids)
        if isinstance(nbest, str | os.PathLike):
            choice.nbest = Path(nbest)
        else:
            choice.entries = nbest
        chosen = list(choice.texts())
        for text in choice.remarks("the weights"):
            warnings.warn(text, stacklevel=2)
        return chosen

    def save(self, path: PathLike) -> None:
        """Write the weights, as 'hopefear rerank tune -o' does."""
        self.weights.save(path)

    def save_report(self, path: PathLike) -> None:
        """Write the report with weights and examples, which 'hopefear report' takes."""
        content = {
            "kind": "rerank",
            "report": dict(self.report),
            "weights": dict(self.weights.top(1000)),
            "examples": list(self.examples),
        }
        with write_text(path) as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, path: PathLike) -> Reranker:
        """Return a reranker with saved weights; it has no scores."""
        return cls.of(Weights.load(path), {})

    def __repr__(self) -> str:
        if self._weights is None:
            return f"Reranker(tuner={self.tuner!r}, metric={self.metric!r})"
        if not self.report:
            return f"Reranker({self.weights!r})"
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        report = self.report
        main = report["metrics"][0]
        yield table(self._rows(), ["", report["metric"]])
        yield (
            f"gain {number(report['gain'], main, '+')}, 95 % interval "
            f"{number(report['gain_low'], main, '+')} … {number(report['gain_high'], main, '+')}, "
            f"p = {report['p_value']:.4f}"
        )
        yield f"test: {report['test']}"
        if report["oracle_share"] is not None:
            yield f"{100 * report['oracle_share']:.0f} % of the oracle's gain"
        if len(report["metrics"]) > 1:
            yield ""
            yield table(*metric_table(report["metrics"]))
        if report["ablation"]:
            yield ""
            yield table(*ablation_table(report["ablation"], main))
        yield (
            f"{report['lists']:,} lists, {report['candidates']:,} candidates, "
            f"{report['active_features']:,} of {report['features']:,} features have weights"
        )

    def _repr_html_(self) -> str:
        if self._weights is None or not self.report:
            return html_table([[repr(self)]], [""])
        title = f"{self.report['tuner']}, p = {self.p_value:.4f}"
        return html_table(self._rows(), ["", self.report["metric"]], title)

    def _rows(self) -> list[list[str]]:
        report = self.report
        main = report["metrics"][0]
        folds = report["folds"]
        kind = f"tuned, {folds} folds" if folds > 1 else "tuned, on the same lists"
        rows = [("first best", "first_best"), (kind, "tuned")]
        rows += [("tuned on all", "tuned_on_all")] if folds > 1 else []
        rows += [("oracle", "oracle")]
        return [[name, number(report[key], main)] for name, key in rows]
