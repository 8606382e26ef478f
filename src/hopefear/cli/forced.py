"""`hopefear forced`: forced decoding, the derivations of sentence pairs under a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.errors import OptionError
from hopefear.base.files import check_directory, check_one_stdin, check_writable, is_device
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "forced")
@dataclass(kw_only=True)
class Forced(ClusterOptions, Command):
    """Find and count all derivations of sentence pairs (forced decoding).

    Searches exactly for the derivations that translate each source sentence into its target.
    Reports how many pairs are reachable and, for unreachable pairs, the longest reachable prefix:
    the first source words, translated into the beginning of the target. All phrases of the rule
    table are used; train the model with --limit 0 to keep them all. Each target of a source is a
    pair of its own; --union instead derives any of the targets.

    Word counts in the report are source words; prefix_sentences and prefix_words count pairs that
    are only partly reachable; limit_hits counts searches that reached --max-states.
    """

    section = "Learn"
    examples = (
        "hopefear forced --model zh-en train.zh train.en --leave-out",
        "hopefear forced --model zh-en dev.zh dev.en.? --tokenized --distortion-limit 10",
        "hopefear forced --model zh-en train.zh train.en --figures plots --limits 0 2 4 6 -1",
    )

    source: Path = argument(metavar="SRC", help="source text, one sentence per line")
    targets: list[Path] = argument(metavar="TGT", help="target texts, one file per reference")
    model: Path = option(metavar="DIR", help="model directory")
    distortion_limit: int | None = option(
        None, min=-1, help="widest jump in source words, -1: unlimited (default: the model's)"
    )
    leave_out: bool = option(
        False,
        help="for training data: leave out the rules that were extracted from the pair alone",
    )
    folds: bool = option(
        False,
        help="for training data: use the rule table of each pair's held-out fold; needs a model "
        "trained with --folds",
    )
    union: bool = option(
        False, help="with several targets: find the derivations of any of them in one search"
    )
    shortest_prefix: int = option(
        5, min=1, help="least length of a reachable prefix, in source words"
    )
    max_states: int = option(
        1_000_000, min=1, help="largest number of search states for one sentence pair"
    )
    table_limit: int = option(
        0,
        min=0,
        help="number of translations for each source phrase, the best by the weights (0: all in "
        "the table)",
    )
    weights: Path | None = option(
        None, help="weights file for --table-limit (default: the model's weights)"
    )
    tokenized: bool = option(False, help="the texts are already tokenised")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define components of the model"
    )
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )
    output: Path | None = option(
        None,
        flags=("-o",),
        help="file with one line per pair: line number, target number, full, prefix, none or limit "
        "(state limit reached), derived words of both sides, number of derivations",
    )
    gold_out: Path | None = option(
        None, metavar="FILE", help="pool file for the derivations, as forests named LINE.TARGET"
    )
    figures: Path | None = option(
        None,
        metavar="DIR",
        help="directory for reachability.svg and derivations.svg: reachable pairs and mean number "
        "of derivations by sentence length",
    )
    limits: list[int] = option(
        [],
        metavar="N",
        help="further distortion limits to report on; -1 (no limit): only pairs of up to 30 words",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.analysis.forced import draw, force_bitext
        from hopefear.analysis.reachability import ForcedOptions
        from hopefear.model.directory import Model

        self._check(console)
        model = Model.load(self.model)
        weights = model.weights(self.weights, warn=console.warn) if self.table_limit else None
        limit = model.rules.info.get("limit", 0)
        if limit:
            console.note(
                f"the rule table has at most {limit} translations for each source phrase; "
                "'hopefear train --limit 0' keeps them all"
            )
        with self.executor(self.threads, plugins=self.plugin, tell=console.note) as executor:
            report = force_bitext(
                model,
                self.source,
                self.targets,
                ForcedOptions(
                    shortest_prefix=self.shortest_prefix,
                    max_states=self.max_states,
                    table_limit=self.table_limit,
                    weights=weights,
                    leave_out=self.leave_out,
                ),
                distortion_limit=self.distortion_limit,
                limits=self.limits,
                union=self.union,
                folds=self.folds,
                tokenized=self.tokenized,
                output=self.output,
                gold_out=self.gold_out,
                executor=executor,
                display=console.display,
                warn=console.warn,
            )
        if self.figures is not None:
            draw(report, self.figures)
        return report

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        from hopefear.analysis.forced import FIGURE_6, FIGURE_7, limits_of
        from hopefear.analysis.reachability import shares

        rows = [
            (name, f"{sentences:.1%}", f"{words:.1%}")
            for name, (sentences, words) in shares(report).items()
        ]
        console.print(table(rows, ("", "sentences", "words")))
        console.print(
            f"\n{report['sentences']:,} pairs, {report['words']:,} words; distortion limit "
            f"{report['distortion_limit']}"
        )
        for limit, hits in report["limit_hits_by_limit"].items():
            if hits:
                console.print(
                    f"distortion limit {limit}: {hits:,} searches reached the limit of "
                    f"{self.max_states:,} states; they count as not reachable; raise --max-states"
                )
        lengths: list[tuple[str, ...]] = []
        limits = limits_of(report)
        for row in report["lengths"]:
            counts = [f"{row['by_limit'][x]:.1%}" if x in row["by_limit"] else "-" for x in limits]
            mean = "-" if row["derivations"] is None else f"{row['derivations']:.3g}"
            lengths.append((f"{row['from']}-{row['to']}", f"{row['sentences']:,}", *counts, mean))
        head = [f"limit {x}" if x != "-1" else "no limit" for x in limits]
        console.print("\n" + table(lengths, ("words", "sentences", *head, "derivations")))
        if self.figures is not None:
            console.note(f"{self.figures / FIGURE_6}, {self.figures / FIGURE_7}")

    def _check(self, console: Console) -> None:
        weights = [self.weights] if self.weights is not None else []
        check_one_stdin(self.source, *self.targets, *weights)
        for path in (self.output, self.gold_out):
            if path is not None:
                check_writable(path)
        if self.gold_out is not None and (str(self.gold_out) == "-" or is_device(self.gold_out)):
            raise OptionError(
                f"--gold-out {self.gold_out}: a pool cannot be written to stdout or a device; "
                "give a file"
            )
        if self.figures is not None:
            check_directory(self.figures)
        if self.folds and (self.leave_out or len(self.targets) > 1):
            raise OptionError(
                "--folds: excludes --leave-out and several targets; it is for the training text, "
                "which has one target"
            )
        if self.weights is not None and not self.table_limit:
            raise OptionError("--weights: used only with --table-limit; give that too")
        for limit in self.limits:
            if limit < -1:
                raise OptionError(f"--limits {limit}: expected numbers from 0, or -1 for no limit")
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        if self.output is not None and self.output == self.gold_out:
            raise OptionError(f"--gold-out {self.gold_out}: same file as -o; give another file")
