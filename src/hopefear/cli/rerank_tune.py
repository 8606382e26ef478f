"""`hopefear rerank tune`: weights for the n-best lists of any system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import option
from hopefear.base.console import Console, table
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import check_one_stdin, check_writable, display_name
from hopefear.base.registry import register
from hopefear.cli.command import Command

if TYPE_CHECKING:
    from hopefear.base.weights import Weights
    from hopefear.learn.rerank import Lists
    from hopefear.metrics.metric import Metric


@register("command", "rerank tune")
@dataclass(kw_only=True)
class RerankTune(Command):
    """Learn weights that rerank the n-best lists of any system.

    Lists are those of Moses (id ||| words ||| A= 1 2 B= 3 ||| score), of cdec and Joshua
    (name=value), or JSON lines for everything else:

        {"id": 0, "text": "a house", "features": {"nmt": -3.1}, "score": 0.8}

    Ids are the numbers of the references' lines, from 0. With --metric given the mean of the
    scores in the file is what rises, whatever they are (COMET, human judgements); then there are
    no references, and an id may be any word.

    The report compares with the first candidate of each list. On the lists that the weights were
    tuned on the gain looks larger than it is: --folds 5 tunes five times and scores each list by
    weights that have not seen it. The weights written are those of all lists.
    """

    section = "Learn"
    examples = (
        "hopefear rerank tune --nbest dev.nbest --refs dev.en --tuner mert -o weights.tsv",
        "hopefear rerank tune --nbest d.jsonl --refs d.en --tuner batch-mira -o w.tsv --folds 5",
        "hopefear rerank tune --nbest d.jsonl --metric given --tuner mert -o w.tsv",
    )
    components = {"tuner": "tuner"}  # noqa: RUF012

    nbest: Path = option(help="n-best lists; .gz is unpacked")
    tuner: str = option(help="the method, such as mert or batch-mira")
    output: Path = option(flags=("-o",), metavar="WEIGHTS", help="where the weights go")
    refs: list[Path] = option([], metavar="REF", help="references, one file each")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None, help="of the lists; if not given, by the name: .jsonl and .json, else moses or cdec"
    )
    metric: str = option("bleu", help="what is to rise: bleu, ter, chrf …, or given")
    metric_set: list[str] = option([], metavar="KEY=VALUE", help="options of the metric")
    weights: Path | None = option(None, help="weights to start from; if not given, all are 0")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files with tuners or metrics of your own"
    )
    fixed: list[str] = option([], metavar="FEATURE", help="features whose weights stay")
    folds: int = option(1, min=1, help="parts for cross-validation; 1: none")
    seed: int = option(1, min=0, help="of the tuner and of the folds")
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")
    skip_missing: bool = option(False, help="leave out sentences that have no candidate")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.threads import all_cores
        from hopefear.base.weights import Weights
        from hopefear.learn.rerank import read_lists, tune_reranker
        from hopefear.learn.tuner import BatchTuner

        metric = self._metric()
        check_one_stdin(self.nbest, *self.refs, *([self.weights] if self.weights else []))
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: stdout belongs to the report with --json; name a file")
        check_writable(self.output)
        if not isinstance(tuner := self.component("tuner"), BatchTuner):
            raise OptionError(f"--tuner {self.tuner}: learns while decoding; choose a batch tuner")
        if "kbest" not in tuner.spaces:
            raise OptionError(
                f"--tuner {self.tuner}: works on forests; take 'hopefear tune --lattices', which "
                "reads n-best lists too"
            )
        if tuner.pool_space != "kbest":
            raise OptionError(f"--tuner {self.tuner}: works on forests; see --set space=kbest")
        threads = self.threads or all_cores()
        start = Weights() if self.weights is None else Weights.load(self.weights)
        with console.step("read", unit="lists") as step:
            lists = read_lists(
                self.nbest,
                self._references(),
                metric,
                format=self.format,
                threads=threads,
                advance=step.advance,
            )
        self._check(lists, console)
        parts = self.folds + 1 if self.folds > 1 else 1
        with console.step("tune", total=parts, unit="times") as step:
            found = tune_reranker(
                lists,
                lambda: self.component("tuner"),
                start,
                folds=self.folds,
                seed=self.seed,
                threads=threads,
                fixed=self._fixed(lists, start),
                advance=step.advance,
            )
        weights = found.optimized.weights
        if weights.active == 0:
            console.warn("all weights are 0: nothing was learned; are the features all constant?")
        left = found.optimized.notes.get("sparse_features", 0)
        if self.tuner == "mert" and left:
            console.warn(
                f"{left:,} features are rare; mert leaves their weights as they are, "
                "batch-mira learns them too"
            )
        weights.save(self.output)
        return {
            "tuner": self.tuner,
            "metric": lists.metric.name,
            "lists": lists.candidates.groups,
            "candidates": lists.candidates.rows,
            "repeated": lists.repeated,
            "features": len(lists.candidates.features.ids),
            "active_features": weights.active,
            "folds": self.folds,
            "first_best": found.first_best,
            "tuned": found.tuned,
            "tuned_on_all": found.tuned_on_all,
            "oracle": found.oracle,
            "p_value": found.p_value,
            "test": found.test,
            "signature": lists.metric.signature() if self.metric != "given" else "given",
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        tell = console.note if str(self.output) == "-" else console.print
        number = "{:.4f}" if self.metric == "given" else "{:.2f}"
        kind = f"tuned, {self.folds} folds" if self.folds > 1 else "tuned, on the same lists"
        rows = [["first best", number.format(report["first_best"])]]
        rows.append([kind, number.format(report["tuned"])])
        if self.folds > 1:
            rows.append(["tuned on all", number.format(report["tuned_on_all"])])
        rows.append(["oracle", number.format(report["oracle"])])
        tell(table(rows, ["", report["metric"]]))
        tell(f"p = {report['p_value']:.4f} ({report['test']})")
        tell(
            f"{report['lists']:,} lists, {report['candidates']:,} candidates, "
            f"{report['active_features']:,} of {report['features']:,} features have weights"
        )

    def _metric(self) -> Metric | None:
        from hopefear.base import registry
        from hopefear.base.config import parse_pairs
        from hopefear.metrics import create

        if self.metric == "given":
            if self.refs:
                raise OptionError("--refs: has no meaning with --metric given; leave it out")
            if self.metric_set:
                raise OptionError("--metric-set: given scores have no options; leave it out")
            if self.skip_missing:
                raise OptionError(
                    "--skip-missing: without references no sentence is missing; leave it out"
                )
            return None
        cls = registry.get("metric", self.metric)
        if not self.refs:
            raise OptionError("--refs is missing: references, one file each; or --metric given")
        return create(self.metric, parse_pairs(cls, self.metric_set))

    def _references(self) -> list[list[str]]:
        from hopefear.text.lines import read_parallel

        rows = [list(row) for row in read_parallel(self.refs)] if self.refs else []
        if self.refs and not rows:
            raise InputError(f"{display_name(self.refs[0])}: no line in it; expected references")
        return rows

    def _check(self, lists: Lists, console: Console) -> None:
        if lists.missing and not self.skip_missing:
            raise InputError(
                f"{display_name(self.nbest)}: no candidate for sentence {lists.missing[0]} "
                f"({len(lists.missing):,} of them have none); add them, or give --skip-missing"
            )
        if lists.missing:
            console.warn(f"{len(lists.missing):,} sentences have no candidate and are left out")
        if lists.repeated:
            console.note(f"{lists.repeated:,} repeated candidates left out")

    def _fixed(self, lists: Lists, start: Weights) -> frozenset[int]:
        names = lists.candidates.names
        known = set(lists.candidates.features.ids.tolist())
        ids = set()
        for feature in self.fixed:
            id = names.intern(feature)
            if id not in known and feature not in start:
                raise OptionError(f"--fixed {feature}: no candidate has this feature")
            ids.add(id)
        return frozenset(ids)
