"""`hopefear align`: word alignment of two texts, symmetrisation or scores of alignments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.align.settings import Settings
from hopefear.base.config import argument, changed, fields_of, option, part_of
from hopefear.base.console import Console, format_value, table
from hopefear.base.errors import OptionError
from hopefear.base.files import check_writable, is_same_file
from hopefear.base.progress import Progress
from hopefear.base.registry import register
from hopefear.cli.command import Command, Reporting

if TYPE_CHECKING:
    from hopefear.align.model import Aligner, Iteration, Pairs

Method = Literal[
    "intersection", "intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]


PERCENT = ("precision", "recall", "f1", "aer")  # values of a score


@register("command", "align")
@dataclass(kw_only=True)
class Align(Settings, Command):
    """Align the words of a parallel text.

    SRC and TGT are tokenised and correspond line by line. Trains IBM Model 1, an HMM and
    fertilities in both directions, which are made to agree, and writes the symmetrised alignment of
    each sentence pair as one line of source-target positions, counted from 0: '0-0 1-2'. With
    --model, a saved model aligns the text and nothing is trained. With --forward and --reverse, two
    existing alignments (Pharaoh or GIZA++ format) are symmetrised; SRC and TGT are then optional
    and serve to check the positions.

    With --score and --gold, an alignment A is compared with a gold alignment, whose links are sure
    (S, 'i-j') or possible (P, 'ipj'; sure links are also possible): precision |A & P| / |A|, recall
    |A & S| / |S|, F1, their harmonic mean, and the alignment error rate, AER = 1 - (|A & S| +
    |A & P|) / (|A| + |S|), lower is better; all four in per cent.

    A pair with an empty side is skipped and gets an empty alignment. The text need not be UTF-8:
    words are compared as bytes. With -o -, the report goes to stderr (with --json, to the last line
    of stdout).
    """

    section = "Train"
    examples = (
        "hopefear align train.fr train.en -o train.align",
        "hopefear align train.fr train.en -o train.align --save-model aligner",
        "hopefear align new.fr new.en -o new.align --model aligner",
        "hopefear align --symmetrize grow-diag --forward f.align --reverse r.align -o both.align",
        "hopefear align --score both.align --gold both.gold",
    )

    source: Path | None = argument(
        None, metavar="SRC", help="source text, tokenised, one sentence per line"
    )
    target: Path | None = argument(None, metavar="TGT", help="target text, likewise")
    output: Path | None = option(None, flags=("-o",), help="file for the alignment")
    symmetrize: Method | None = option(
        None,
        metavar="NAME",
        help="symmetrisation of the two directions: intersection, union, grow-diag, "
        "grow-diag-final or grow-diag-final-and (the default)",
    )
    direction: Literal["forward", "reverse", "both"] = option(
        "both",
        help="both, symmetrised, or a single direction; forward: at most one source word for each "
        "target word",
    )
    posterior: float | None = option(
        None,
        min=1e-9,
        max=1,
        help="in each direction, take all links of at least this posterior probability instead of "
        "the best one of each word",
    )
    forward: Path | None = option(None, help="existing alignment to symmetrise, forward direction")
    reverse: Path | None = option(None, help="existing alignment to symmetrise, reverse direction")
    score: Path | None = option(
        None, metavar="LINKS", help="alignment to compare with --gold; trains nothing"
    )
    gold: Path | None = option(
        None, metavar="GOLD", help="gold alignment of the same sentences, a line per pair"
    )
    model: Path | None = option(
        None, metavar="DIR", help="align with this saved model instead of training one"
    )
    save_model: Path | None = option(
        None, metavar="DIR", help="directory to save the trained model to, for aligning other text"
    )
    max_length: int = option(
        1000, min=1, max=5000, help="length of the longest sentence to align, in words"
    )
    empty: Literal["skip", "error"] = option("skip", help="treatment of pairs with an empty side")
    long: Literal["skip", "error"] = option(
        "error", help="treatment of sentences longer than the maximum length"
    )
    threads: int = option(
        0,
        min=0,
        max=1024,
        help="number of threads (0: all cores); does not change the result",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        if self.score is not None or self.gold is not None:
            return self._score()
        if self.output is None:
            raise OptionError("--output is missing: give a file for the alignment with -o")
        if self.forward is not None or self.reverse is not None:
            return self._symmetrise(self.output)
        if self.save_model is not None and is_same_file(self.output, self.save_model):
            raise OptionError(f"-o and --save-model are both {self.output}; give different names")
        return self._align(console, self.output)

    # -- compare with a gold alignment --

    def _score(self) -> Mapping[str, Any]:
        from dataclasses import asdict

        from hopefear.align.score import score_files

        if self.score is None or self.gold is None:
            missing, present = ("--score", "--gold")[:: 1 if self.score is None else -1]
            raise OptionError(f"{present} is given, {missing} is missing; a score needs both")
        inputs = {"source", "target", "score", "gold"}
        own = {f.name for f in fields_of(Align)} - {f.name for f in fields_of(Reporting)}
        self._refuse_changed("--score only compares alignments", sorted(own - inputs))
        text = None
        if self.source is not None or self.target is not None:
            text = self._text()
        score = asdict(score_files(self.score, self.gold, text=text))
        return {key: 100 * value if key in PERCENT else value for key, value in score.items()}

    # -- symmetrise existing alignments --

    def _symmetrise(self, output: Path) -> Mapping[str, Any]:
        from hopefear.align.symmetrisation import DEFAULT, symmetrise_files

        if self.forward is None or self.reverse is None:
            missing, present = ("--forward", "--reverse")[:: 1 if self.forward is None else -1]
            raise OptionError(f"{present} is given, {missing} is missing; symmetrising needs both")
        self._refuse_changed(
            "--forward and --reverse only symmetrise",
            [
                *(f.name for f in fields_of(Settings)),
                *("direction", "posterior", "model", "save_model"),
                *("max_length", "empty", "long", "threads"),
            ],
        )
        text = None
        if self.source is not None or self.target is not None:
            text = self._text()
        started = time.monotonic()
        method = self.symmetrize or DEFAULT
        lines = symmetrise_files(self.forward, self.reverse, output, method, text=text)
        return {
            "symmetrisation": method,
            "lines": lines,
            "seconds": round(time.monotonic() - started, 3),
        }

    # -- train and align --

    def _align(self, console: Console, output: Path) -> Mapping[str, Any]:
        from hopefear.align.model import (
            Aligner,
            Summary,
            check_model_directory,
            check_trainable,
            read_pairs,
            skipped_by_reason,
        )
        from hopefear.align.symmetrisation import DEFAULT

        source, target = self._text()
        if self.direction != "both" and self.symmetrize is not None:
            raise OptionError(
                f"--symmetrize {self.symmetrize}: needs both directions; remove "
                f"--direction {self.direction}"
            )
        if self.model is not None:
            self._refuse_changed(
                "--model aligns without training",
                [*(f.name for f in fields_of(Settings)), "save_model"],
            )
        if self.save_model is not None:
            check_writable(self.save_model, directory=True)
            check_model_directory(self.save_model)
        check_writable(output)

        started, cpu = time.monotonic(), time.process_time()
        aligner = Aligner.load(self.model) if self.model is not None else None
        with console.step("read", unit="pairs") as step:
            pairs = read_pairs(
                source, target, max_length=self.max_length, empty=self.empty, long=self.long
            )
            step.update(pairs.pairs)
        self._warn_skipped(pairs, console)
        if aligner is None:
            check_trainable(pairs, source, target)
            aligner = self._train(pairs, console)
        if self.save_model is not None:
            aligner.save(self.save_model)
        with console.step("align", total=pairs.pairs, unit="pairs") as step:
            report = aligner.write(
                pairs,
                output,
                symmetrise=self.symmetrize or DEFAULT,
                direction=self.direction,
                posterior=self.posterior,
                threads=self.threads,
                progress=step.update,
            )
        summary = Summary(
            report,
            pairs.lines,
            skipped_by_reason(pairs),
            aligner.iterations,
            time.monotonic() - started,
            time.process_time() - cpu,
        )
        return {
            "symmetrisation": self.symmetrize or DEFAULT if self.direction == "both" else None,
            "direction": self.direction,
            **summary.to_mapping(),
        }

    def _train(self, pairs: Pairs, console: Console) -> Aligner:
        from hopefear.align.model import Aligner

        settings = Settings(**part_of(Settings, self))
        plan = ["Model 1"] * self.model1_iterations
        plan += ["HMM"] * (settings.passes - self.model1_iterations)
        with ExitStack() as stack:
            current: list[Progress] = []
            done = 0

            def begin() -> None:
                name = plan[done]
                number = plan[: done + 1].count(name)
                step = console.step(f"{name} {number}", total=pairs.pairs, unit="pairs")
                current[:] = [stack.enter_context(step)]

            def finish(iteration: Iteration) -> None:
                nonlocal done
                values = " ".join(f"{d} {v:.4f}" for d, v in iteration.per_word.items())
                name = "log-likelihood"
                if iteration.model == "hmm" and self.aligner == "fertility":
                    name = "log score"  # ratios of fertilities are no probabilities
                current[0].say(f"{name} per word: {values}")
                stack.pop_all().close()
                done += 1
                if done < len(plan):
                    begin()

            begin()
            return Aligner.train(
                pairs,
                settings,
                threads=self.threads,
                on_iteration=finish,
                progress=lambda seen: current[0].update(seen - done * pairs.pairs),
            )

    def _text(self) -> tuple[Path, Path]:
        if self.source is None or self.target is None:
            missing = "SRC and TGT are" if self.source is None else "TGT is"
            raise OptionError(
                f"{missing} missing: give the two texts, --forward and --reverse, or --score and "
                "--gold"
            )
        return self.source, self.target

    def _refuse_changed(self, reason: str, names: list[str]) -> None:
        """Refuse options that would have no effect."""
        field = changed(self, names)
        if field is not None:
            raise OptionError(f"{reason}, so {field.flag} has no effect; remove it")

    def _warn_skipped(self, pairs: Pairs, console: Console) -> None:
        skipped = pairs.skipped
        if not skipped:
            return
        shown = ", ".join(f"{line} ({reason})" for line, reason in skipped[:5])
        more = f" and {len(skipped) - 5:,} more" if len(skipped) > 5 else ""
        lines, their = ("line", "its") if len(skipped) == 1 else ("lines", "their")
        console.warn(
            f"{self.source}, {self.target}: skipped {lines} {shown}{more}; "
            f"{their} alignment is empty"
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = []
        for key, value in report.items():
            if key == "iterations":
                continue
            if key == "skipped":
                value = sum(value.values())
            elif key in PERCENT:
                value = f"{value:.2f}%"
            elif key.startswith("unaligned_") and report[key[10:] + "_words"]:
                share = value / report[key[10:] + "_words"]
                value = f"{value:,} ({100 * share:.1f}%)"
            rows.append((key.replace("_", " "), format_value(value)))
        text = table(rows)
        (console.note if str(self.output) == "-" else console.print)(text)
