"""`hopefear align`: word alignment of two texts, or symmetrisation of two alignments."""

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
from hopefear.base.files import check_writable
from hopefear.base.progress import Progress
from hopefear.base.registry import register
from hopefear.cli.command import Command

if TYPE_CHECKING:
    from hopefear.align.model import Aligner, Iteration, Pairs

Method = Literal[
    "intersection", "intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]


@register("command", "align")
@dataclass(kw_only=True)
class Align(Settings, Command):
    """Align the words of two texts.

    SRC and TGT correspond line by line, words separated by blanks. Learns IBM Model 1 and an HMM in
    both directions and writes the symmetrised alignment, one line per line: '0-0 1-2', positions
    from 0, source-target. With --model nothing is learned, a saved model aligns the text. With
    --forward and --reverse two given alignments (Pharaoh or GIZA++ format) are symmetrised; SRC and
    TGT may then be given to check the positions.

    A line with an empty side is skipped, its alignment is empty. Words are bytes to the aligner:
    text that is not UTF-8 is aligned like any other. With -o - the report follows on stderr (with
    --json as the last line of stdout).
    """

    section = "Train"
    examples = (
        "hopefear align train.fr train.en -o train.align",
        "hopefear align train.fr train.en -o train.align --save-model aligner",
        "hopefear align new.fr new.en -o new.align --model aligner",
        "hopefear align --symmetrize grow-diag --forward f.align --reverse r.align -o both.align",
    )

    source: Path | None = argument(None, metavar="SRC", help="source text, tokenised")
    target: Path | None = argument(None, metavar="TGT", help="target text, tokenised")
    output: Path = option(flags=("-o",), help="where the alignment goes")
    symmetrize: Method | None = option(
        None,
        metavar="NAME",
        help="how the directions are joined: intersection, union, grow-diag, grow-diag-final or "
        "grow-diag-final-and (the default)",
    )
    direction: Literal["forward", "reverse", "both"] = option(
        "both",
        help="both, or only one, not symmetrised; forward: each target word has a source word",
    )
    posterior: float | None = option(
        None,
        min=1e-9,
        max=1,
        help="all links of at least this probability in each direction instead of the best path",
    )
    forward: Path | None = option(None, help="alignment to symmetrise: the forward direction")
    reverse: Path | None = option(None, help="alignment to symmetrise: the reverse direction")
    model: Path | None = option(None, metavar="DIR", help="align with this model, learn nothing")
    save_model: Path | None = option(None, metavar="DIR", help="keep the model for other text")
    max_length: int = option(1000, min=1, max=5000, help="longest sentence that is aligned, words")
    empty: Literal["skip", "error"] = option("skip", help="what to do if a side is empty")
    long: Literal["skip", "error"] = option("error", help="what to do with longer sentences")
    threads: int = option(0, min=0, max=1024, help="threads; 0: all cores; changes no result")

    def run(self, console: Console) -> Mapping[str, Any]:
        if self.forward is not None or self.reverse is not None:
            return self._symmetrise()
        return self._align(console)

    # Symmetrising what others aligned.

    def _symmetrise(self) -> Mapping[str, Any]:
        from hopefear.align.symmetrisation import DEFAULT, symmetrise_files

        if self.forward is None or self.reverse is None:
            lacks, has = ("--forward", "--reverse")[:: 1 if self.forward is None else -1]
            raise OptionError(f"{has} is given, {lacks} is missing; symmetrising needs both")
        self._refuse_changed(
            "--forward and --reverse are given and nothing is learned or aligned",
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
        lines = symmetrise_files(self.forward, self.reverse, self.output, method, text=text)
        return {
            "symmetrisation": method,
            "lines": lines,
            "seconds": round(time.monotonic() - started, 3),
        }

    # Learning and aligning.

    def _align(self, console: Console) -> Mapping[str, Any]:
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
                f"--symmetrize {self.symmetrize} needs both directions; leave out "
                f"--direction {self.direction}"
            )
        if self.model is not None:
            self._refuse_changed(
                "--model is given and nothing is learned",
                [*(f.name for f in fields_of(Settings)), "save_model"],
            )
        if self.save_model is not None:
            check_writable(self.save_model, directory=True)
            check_model_directory(self.save_model)
        check_writable(self.output)

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
                self.output,
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

        # Only what Settings declares: this object is more than that.
        settings = Settings(**part_of(Settings, self))
        # A saved model is to serve both directions later.
        direction = "both" if self.save_model is not None else self.direction
        plan = ["Model 1"] * self.model1_iterations + ["HMM"] * self.hmm_iterations
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
                current[0].say(f"log-likelihood per word: {values}")
                stack.pop_all().close()
                done += 1
                if done < len(plan):
                    begin()

            begin()
            return Aligner.train(
                pairs,
                settings,
                direction=direction,
                threads=self.threads,
                on_iteration=finish,
                progress=lambda seen: current[0].update(seen - done * pairs.pairs),
            )

    def _text(self) -> tuple[Path, Path]:
        if self.source is None or self.target is None:
            what = "SRC and TGT are" if self.source is None else "TGT is"
            raise OptionError(f"{what} missing: the two texts, or --forward and --reverse")
        return self.source, self.target

    def _refuse_changed(self, why: str, names: list[str]) -> None:
        """No option is accepted and ignored."""
        field = changed(self, names)
        if field is not None:
            raise OptionError(f"{why}, so {field.flag} has no meaning; leave it out")

    def _warn_skipped(self, pairs: Pairs, console: Console) -> None:
        skipped = pairs.skipped
        if not skipped:
            return
        shown = ", ".join(f"{line} ({reason})" for line, reason in skipped[:5])
        more = f" and {len(skipped) - 5:,} more" if len(skipped) > 5 else ""
        lines, their = ("line", "its") if len(skipped) == 1 else ("lines", "their")
        console.warn(
            f"{self.source}, {self.target}: {lines} {shown}{more} skipped, "
            f"{their} alignment is empty"
        )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = []
        for key, value in report.items():
            if key == "iterations":
                continue
            if key == "skipped":
                value = sum(value.values())
            elif key.startswith("unaligned_") and report[key[10:] + "_words"]:
                share = value / report[key[10:] + "_words"]
                value = f"{value:,} ({100 * share:.1f}%)"
            rows.append((key.replace("_", " "), format_value(value)))
        text = table(rows)
        (console.note if str(self.output) == "-" else console.print)(text)
