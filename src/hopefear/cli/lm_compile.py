"""`hopefear lm compile`: a binary language model from an ARPA file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console, table
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "lm compile")
@dataclass(kw_only=True)
class LmCompile(Command):
    """Convert an ARPA language model to a binary file that opens at once.

    Reads ARPA files of lmplz, SRILM and IRSTLM, plain or .gz, of orders 1 to 6. The binary file is
    memory-mapped, shared by all processes that use it, and checked when it is opened. A model that
    is already binary is verified completely and copied.
    """

    section = "Train"
    examples = ("hopefear lm compile lm.arpa.gz -o lm.bin",)

    lm: Path = argument(help="language model, ARPA or binary", metavar="LM")
    output: Path = option(flags=["-o"], help="binary file to write")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_writable
        from hopefear.lm.model import LanguageModel, check_compiled_path

        check_compiled_path(self.output)
        check_writable(self.output)
        with console.step("read", unit="n-grams") as step:
            lm = LanguageModel.load(self.lm, progress=step.update)
            step.update(sum(lm.ngrams))
        if lm.unknown_added:
            console.warn(f"{self.lm}: has no <unk>; unknown words get log10 p = -100")
        for mark in lm.missing_marks:
            console.warn(f"{self.lm}: has no {mark}, which is scored as <unk>")
        lm.compile(self.output)
        return {
            "order": lm.order,
            "vocabulary": lm.vocabulary_size,
            "ngrams": lm.ngrams,
            "filled": lm.filled,
            "bytes": self.output.stat().st_size,
        }

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            (f"{n}-grams", f"{count:,}", f"{filled:,}")
            for n, (count, filled) in enumerate(
                zip(report["ngrams"], report["filled"], strict=True), 1
            )
        ]
        console.print(table(rows, header=("order", "read", "filled in")))
        console.print(f"{self.output}: {report['bytes'] / 2**20:,.1f} MB")
