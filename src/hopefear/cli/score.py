"""`hopefear score`: BLEU, chrF, TER and length of translations, and what a difference means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import display_name
from hopefear.base.registry import register
from hopefear.cli.command import Command

if TYPE_CHECKING:
    from hopefear.metrics.metric import IntArray, Metric, Prepared
    from hopefear.metrics.significance import Outcome

METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "length": "length"}


@register("command", "score")
@dataclass(kw_only=True)
class Score(Command):
    """Score translations against references: BLEU, chrF, TER, length; compare systems.

    BLEU on the same tokens equals sacreBLEU's. --versus adds other systems, each
    compared with the first one by a paired test. Systems that were tuned several
    times: give all runs of the first, then with --versus all runs of the second,
    and so on, and --runs N says how many there are of each; then the table has
    means, deviations over runs and over resampled test sets, and the test is
    stratified approximate randomisation.

    With --tokenize 13a, chrF and TER see the lines as they are, as in sacreBLEU;
    TER sees the tokens of zh and char, since the lines have no words.
    """

    section = "Use and look"
    examples = (
        "hopefear score test.out --refs test.en.0 test.en.1 test.en.2 test.en.3",
        "hopefear score mira.out --refs test.en --versus mert.out pro.out",
        "hopefear score mira.1 mira.2 mira.3 --refs test.en --versus mert.1 mert.2 mert.3 --runs 3",
    )

    hyp: list[Path] = argument(help="translations, one per line; with --runs its N runs")
    refs: list[Path] = option(help="references, one file each, parallel to HYP")
    versus: list[Path] = option([], help="other systems to compare with; with --runs N files each")
    runs: int = option(1, min=1, help="tuning runs of each system")
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none", help="how lines are split into tokens; none: at white space, as they are"
    )
    lowercase: bool = option(False, help="ignore case in BLEU and chrF (TER always does)")
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", help="the reference length that BLEU and the length ratio use"
    )
    test: Literal["auto", "bootstrap", "randomization"] = option(
        "auto", help="the paired test; auto: bootstrap, randomization with several runs"
    )
    form: Literal["two-sided", "one-sided", "sacrebleu"] | None = option(
        None, help="how the bootstrap counts, see docs/metrics.md; two-sided if not given"
    )
    coin: Literal["sentence", "run"] | None = option(
        None,
        help="what randomization swaps at once; sentence if not given; run: as MultEval, p-values "
        "too small",
    )
    samples: int | None = option(
        None, min=1, help="resamples (1000 if not given) or trials of randomization (10000)"
    )
    seed: int = option(12345, min=0, help="of the resampling")
    sentences: bool = option(False, help="report the scores of each sentence too")
    threads: int = option(1, min=1, help="threads for counting")

    def run(self, console: Console) -> Mapping[str, Any]:
        systems = self._systems()
        files = [path for _, runs in systems for path in runs]
        columns = read_columns([*files, *self.refs])
        texts = dict(zip(files, columns, strict=False))
        references = columns[len(files) :]

        metrics = self._metrics()
        prepared = {
            name: self._prepare(name, metric, references) for name, metric in metrics.items()
        }
        statistics: list[dict[str, list[IntArray]]] = []
        with console.step("score", total=len(files), unit="files") as step:
            for _, runs in systems:
                rows: dict[str, list[IntArray]] = {name: [] for name in metrics}
                for path in runs:
                    for name in metrics:
                        lines = self._texts(name, texts[path])
                        counted = prepared[name].statistics(lines, threads=self.threads)
                        rows[name].append(counted)
                    step.advance()
                statistics.append(rows)

        report: dict[str, Any] = {"name": systems[0][0]}
        report |= self._scores(metrics, statistics[0])
        report |= self._signatures(metrics, len(references[0]))
        if self.sentences:
            report["sentences"] = self._sentences(metrics, statistics[0])
        report["versus"] = []
        if len(systems) > 1:
            with console.step("compare", total=len(systems) - 1, unit="systems") as step:
                for (name, _), rows in zip(systems[1:], statistics[1:], strict=True):
                    entry = self._against(metrics, statistics[0], rows)
                    report["versus"].append({"name": name} | entry)
                    step.advance()
        return report

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        systems = [report, *report["versus"]]
        if len(systems) == 1 and self.runs == 1:
            values = [self._number(key, report["summaries"][key]["mean"]) for key in METRICS]
            console.print(table([[report["name"], *values]], ["system", *METRICS.values()]))
        else:
            self._show_table(systems, console)
        for number, scores in enumerate(report.get("sentences", []), 1):
            values = [f"{title} {self._number(key, scores[key])}" for key, title in METRICS.items()]
            console.print(f"{number}: " + ", ".join(values))
        console.print()
        for signature in report["signatures"].values():
            console.print(signature)

    def _show_table(self, systems: Sequence[Mapping[str, Any]], console: Console) -> None:
        """MultEval's table: a block for each metric."""
        rows = []
        for key, title in METRICS.items():
            for i, system in enumerate(systems):
                summary = system["summaries"][key]
                row = ["" if i else title, system["name"], self._number(key, summary["mean"])]
                row.append(self._number(key, summary["resampling_deviation"]))
                if self.runs > 1:
                    row.append(self._number(key, summary["run_deviation"]))
                row.append(f"{system['p_values'][key]:.4f}" if "p_values" in system else "-")
                rows.append(row)
        header = ["", "system", "mean", "s_sel", *(["s_run"] if self.runs > 1 else []), "p"]
        console.print(table(rows, header))
        console.print()
        console.print("s_sel: standard deviation over resampled test sets")
        if self.runs > 1:
            console.print(f"s_run: standard deviation over {self.runs} runs")
        if len(systems) > 1:
            console.print(f"p: against {systems[0]['name']}, {systems[1]['test']}")

    @staticmethod
    def _number(key: str, value: float) -> str:
        return f"{value:.3f}" if key == "length" else f"{value:.2f}"

    def _systems(self) -> list[tuple[str, list[Path]]]:
        """Name and files of each system, the first one first."""
        if len(self.hyp) != self.runs:
            files = " ".join(map(str, self.hyp))
            hint = (
                f"give --runs {len(self.hyp)} if they are runs of one system, or put the others "
                "behind --versus"
                if self.runs == 1
                else f"--runs {self.runs} needs {self.runs}"
            )
            raise OptionError(f"{len(self.hyp)} files for the first system ({files}); {hint}")
        if len(self.versus) % self.runs:
            raise OptionError(
                f"--versus: {len(self.versus)} files do not divide into systems of "
                f"--runs {self.runs}; give as many runs of each system"
            )
        every = [*self.hyp, *self.versus]
        self._check_test()
        groups = [every[i : i + self.runs] for i in range(0, len(every), self.runs)]
        return [(group_name(files), files) for files in groups]

    def _check_test(self) -> None:
        """No option without effect."""
        if not self.versus and (self.test != "auto" or self.form or self.coin):
            raise OptionError("--test, --form and --coin compare systems; name others by --versus")
        if self.form and self._randomization:
            raise OptionError(f"--form {self.form}: is for --test bootstrap; leave it out")
        if self.coin and not self._randomization:
            raise OptionError(f"--coin {self.coin}: is for --test randomization; leave it out")

    def _metrics(self) -> dict[str, Metric]:
        from hopefear.metrics import create

        length = {"reference_length": self.reference_length}
        return {
            "bleu": create("bleu", length | {"lowercase": self.lowercase}),
            "chrf": create("chrf", {"lowercase": self.lowercase}),
            "ter": create("ter"),
            "length": create("length", length),
        }

    def _prepare(self, name: str, metric: Metric, references: list[list[str]]) -> Prepared:
        texts = [self._texts(name, lines) for lines in references]
        return metric.prepare(list(zip(*texts, strict=True)))

    def _tokenization(self, name: str) -> Literal["none", "13a", "zh", "char"]:
        if name == "chrf" or (name == "ter" and self.tokenize == "13a"):
            return "none"
        return self.tokenize

    def _texts(self, name: str, lines: list[str]) -> list[str]:
        from hopefear.metrics.tokenizing import tokenized

        how = self._tokenization(name)
        if name == "bleu" and self.lowercase:  # sacreBLEU's order: case first, then tokens
            lines = [line.lower() for line in lines]
        return lines if how == "none" else tokenized(lines, how)

    def _scores(
        self, metrics: Mapping[str, Metric], rows: Mapping[str, Sequence[IntArray]]
    ) -> dict[str, Any]:
        from hopefear.metrics.significance import summarize

        summaries = {
            key: summarize(metric, rows[key], samples=self._resamples, seed=self.seed)._asdict()
            for key, metric in metrics.items()
        }
        means = {key: summary["mean"] for key, summary in summaries.items()}
        means["length_ratio"] = means.pop("length")
        return means | {"summaries": summaries}

    def _against(
        self,
        metrics: Mapping[str, Metric],
        first: Mapping[str, Sequence[IntArray]],
        rows: Mapping[str, Sequence[IntArray]],
    ) -> dict[str, Any]:
        """A system's scores, and how it compares with the first."""
        outcomes = {
            key: self._compare(metric, first[key], rows[key]) for key, metric in metrics.items()
        }
        return self._scores(metrics, rows) | {
            "differences": {key: outcome.difference for key, outcome in outcomes.items()},
            "p_values": {key: outcome.p_value for key, outcome in outcomes.items()},
            "p_value": outcomes["bleu"].p_value,
            "test": outcomes["bleu"].signature,
        }

    def _sentences(
        self, metrics: Mapping[str, Metric], rows: Mapping[str, Sequence[IntArray]]
    ) -> list[dict[str, float]]:
        """Scores of each sentence, the mean over runs."""
        import numpy as np

        columns = {}
        for key, metric in metrics.items():
            value = metric.shown if key == "length" else metric.sentence_scores
            scores = np.mean([value(run) for run in rows[key]], axis=0)
            if key != "length":
                scores = scores * (-100.0 if metric.lower_is_better else 100.0) + 0.0  # no -0.0
            columns[key] = scores.tolist()
        return [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]

    def _signatures(self, metrics: Mapping[str, Metric], lines: int) -> dict[str, Any]:
        parts = {}
        for name, metric in metrics.items():
            what, _, version = metric.signature().rpartition("|version:")
            shared = f"tok:{self._tokenization(name)}|nrefs:{len(self.refs)}|lines:{lines}"
            parts[name] = f"{what}|{shared}|version:{version}"
        return {"signature": "; ".join(parts.values()), "signatures": parts}

    @property
    def _randomization(self) -> bool:
        return self.test == "randomization" or (self.test == "auto" and self.runs > 1)

    @property
    def _resamples(self) -> int:
        trials = self._randomization and self.versus  # then --samples are of the test
        return 1000 if trials or self.samples is None else self.samples

    def _compare(
        self, metric: Metric, first: Sequence[IntArray], second: Sequence[IntArray]
    ) -> Outcome:
        """The second system against the first."""
        from hopefear.metrics import significance

        if self._randomization:
            return significance.approximate_randomization(
                metric,
                second,
                first,
                trials=self.samples or 10_000,
                seed=self.seed,
                coin=self.coin or "sentence",
            )
        return significance.paired_bootstrap(
            metric,
            second,
            first,
            samples=self._resamples,
            seed=self.seed,
            form=self.form or "two-sided",
        )


def read_columns(paths: Sequence[Path]) -> list[list[str]]:
    """The lines of parallel files; at least one."""
    from hopefear.text.lines import read_parallel

    rows = list(read_parallel(paths))
    if not rows:
        names = ", ".join(map(display_name, paths))
        raise InputError(f"{names}: no line in them; expected a sentence per line")
    return [list(column) for column in zip(*rows, strict=True)]


def group_name(files: Sequence[Path]) -> str:
    """One name for the runs of a system: `out.{1,2,3}.en`."""
    names = [display_name(path) for path in files]
    if len(names) == 1:
        return names[0]
    head = common_start(names)
    rest = [name[len(head) :] for name in names]
    tail = common_start([name[::-1] for name in rest])[::-1]
    middles = [name[: len(name) - len(tail)] for name in rest]
    return f"{head}{{{','.join(middles)}}}{tail}"


def common_start(names: Sequence[str]) -> str:
    """The longest text that all names begin with."""
    first, last = min(names), max(names)
    same = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, min(len(first), len(last)))]
