"""`hopefear forced`: which sentence pairs a model can derive, and their derivations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.errors import OptionError
from hopefear.base.files import check_directory, check_one_stdin, check_writable, is_device
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "forced")
@dataclass(kw_only=True)
class Forced(Command):
    """Find all derivations of sentence pairs (forced decoding), and count them.

    Exact search for the derivations of each target: how many pairs are reachable, and of the
    others the longest reachable prefix (its first words are translated by the beginning of the
    target). Every phrase of the table may be used; a model for this is best trained with --limit
    0, so that the table has them all. Several targets of a source are pairs of their own, unless
    --union asks for a derivation of any of them.

    The report counts source words; prefix_sentences and prefix_words are of pairs that are not
    reachable as a whole. limit_hits are searches that gave up.
    """

    section = "Learn"
    examples = (
        "hopefear forced --model zh-en train.zh train.en --leave-out",
        "hopefear forced --model zh-en dev.zh dev.en.? --tokenized --distortion-limit 10",
        "hopefear forced --model zh-en train.zh train.en --figures plots --limits 0 2 4 6 -1",
    )

    source: Path = argument(metavar="SRC", help="source text, one sentence per line")
    targets: list[Path] = argument(metavar="TGT", help="its translations, one file each")
    model: Path = option(metavar="DIR", help="the model directory")
    distortion_limit: int | None = option(
        None, min=-1, help="widest jump in source words; -1: any; by default the model's"
    )
    leave_out: bool = option(
        False, help="training data: without the rules that the table has from the pair alone"
    )
    folds: bool = option(
        False,
        help="training data: with the rules that leave the pair's fold out, of a model that was "
        "trained with --folds",
    )
    union: bool = option(False, help="several targets: all derivations of any of them at once")
    shortest_prefix: int = option(5, min=1, help="source words of a prefix")
    max_states: int = option(1_000_000, min=1, help="search of a sentence gives up beyond so many")
    table_limit: int = option(
        0, min=0, help="phrases of a source phrase, the best by the weights; 0: all of the table"
    )
    weights: Path | None = option(None, help="for --table-limit; by default those of the model")
    tokenized: bool = option(False, help="the texts are words between blanks: take them so")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files with what the model has of your own"
    )
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")
    output: Path | None = option(
        None,
        flags=("-o",),
        help="a line for each pair: its line, the number of its target, full, prefix, none or "
        "limit (gave up), words of both sides that are derived, number of derivations",
    )
    gold_out: Path | None = option(
        None, metavar="FILE", help="the derivations, as a pool of forests named LINE.TARGET"
    )
    figures: Path | None = option(
        None,
        metavar="DIR",
        help="draw reachability.svg and derivations.svg: what is reachable, and the mean number of "
        "derivations, by sentence length",
    )
    limits: list[int] = option(
        [], metavar="N", help="count for these distortion limits, too; -1 up to 30 words only"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.analysis.forced import draw, force_bitext
        from hopefear.analysis.reachability import ForcedOptions
        from hopefear.base.threads import all_cores
        from hopefear.model.directory import Model

        self._check(console)
        model = Model.load(self.model)
        weights = model.weights(self.weights, warn=console.warn) if self.table_limit else None
        limit = model.rules.info.get("limit", 0)
        if limit:
            console.note(
                f"the table has at most {limit} phrases of a source phrase; 'hopefear train "
                "--limit 0' keeps them all"
            )
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
            threads=self.threads or all_cores(),
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
                    f"distortion limit {limit}: {hits:,} searches gave up after "
                    f"{self.max_states:,} states, counted as not reachable; --max-states allows "
                    "more"
                )
        lengths: list[tuple[str, ...]] = []
        limits = limits_of(report)
        for here in report["lengths"]:
            counts = [
                f"{here['by_limit'][x]:.1%}" if x in here["by_limit"] else "-" for x in limits
            ]
            mean = "-" if here["derivations"] is None else f"{here['derivations']:.3g}"
            lengths.append(
                (f"{here['from']}-{here['to']}", f"{here['sentences']:,}", *counts, mean)
            )
        head = [f"limit {x}" if x != "-1" else "no limit" for x in limits]
        console.print("\n" + table(lengths, ("words", "sentences", *head, "derivations")))
        if self.figures is not None:
            console.note(f"{self.figures / FIGURE_6}, {self.figures / FIGURE_7}")

    # -- parts --

    def _check(self, console: Console) -> None:
        weights = [self.weights] if self.weights is not None else []
        check_one_stdin(self.source, *self.targets, *weights)
        for path in (self.output, self.gold_out):
            if path is not None:
                check_writable(path)
        if self.gold_out is not None and (str(self.gold_out) == "-" or is_device(self.gold_out)):
            raise OptionError(f"--gold-out {self.gold_out}: a pool is a real file; give it a name")
        if self.figures is not None:
            check_directory(self.figures)
        if self.folds and (self.leave_out or len(self.targets) > 1):
            raise OptionError(
                "--folds: is for the text that the model was trained on, with one target, and "
                "leaves all rules of a pair out; give neither --leave-out nor more targets"
            )
        if self.weights is not None and not self.table_limit:
            raise OptionError("--weights is for --table-limit; give that, too")
        for limit in self.limits:
            if limit < -1:
                raise OptionError(f"--limits {limit}: expected numbers from 0, or -1 for no limit")
        if console.json and str(self.output) == "-":
            raise OptionError("-o -: stdout belongs to the report with --json; name a file")
        if self.output is not None and self.output == self.gold_out:
            raise OptionError(f"--gold-out {self.gold_out}: is -o too; name another file")
