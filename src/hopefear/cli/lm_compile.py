"""`hopefear lm compile`: an ARPA file as a binary file that opens at once."""

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
    """Turn an ARPA language model into a binary file that opens in milliseconds.

    Reads ARPA files as lmplz, SRILM and IRSTLM write them (.gz is unpacked), orders 1 to 6. The
    binary file is mapped into memory, shared by all processes that use it, and checked when it is
    opened. Given a compiled model, checks all of it and copies it.
    """

    section = "Train"
    examples = ("hopefear lm compile lm.arpa.gz -o lm.bin",)

    lm: Path = argument(help="language model, ARPA or compiled", metavar="LM")
    output: Path = option(flags=["-o"], help="the binary file")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_writable
        from hopefear.lm.model import LanguageModel, check_compiled_path

        check_compiled_path(self.output)
        check_writable(self.output)
        with console.step("read", unit="n-grams") as step:
            lm = LanguageModel.load(self.lm, verify=True, progress=step.update)
            step.update(sum(lm.ngrams))
        if lm.unknown_added:
            console.warn(f"{self.lm}: no <unk> in it; unknown words get log10 p = -100")
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
