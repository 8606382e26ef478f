"""`hopefear lm estimate`: an n-gram language model (ARPA) from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import Size, argument, option
from hopefear.base.console import Console, table
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "lm estimate")
@dataclass(kw_only=True)
class LmEstimate(Command):
    """Estimate an n-gram language model from text.

    Uses interpolated modified Kneser-Ney smoothing; the probabilities equal those of KenLM's lmplz.
    The text has one tokenised sentence per line, with words separated by white space (space, tab,
    CR, NUL). Several files are read as one text. The output is an ARPA file.
    """

    section = "Train"
    examples = (
        "hopefear lm estimate train.en -o lm.arpa.gz --order 5",
        "hopefear lm estimate news.gz train.en -o lm.arpa --order 4 --prune 0 0 1 --memory 4G",
        "hopefear lm estimate tags.txt -o tags.arpa --order 6 --discount-fallback",
    )

    text: list[Path] = argument(
        help="tokenised text, one sentence per line ('-': stdin, .gz: compressed)"
    )
    output: Path = option(flags=["-o"], help="ARPA file to write ('-': stdout, .gz: compressed)")
    order: int = option(3, min=1, max=6, help="length of the longest n-grams, in words")
    prune: list[int] = option(
        [],
        min=0,
        help="remove n-grams with at most this count: one number per order, not decreasing; the "
        "last number applies to all higher orders",
    )
    discount_fallback: list[float] | None = option(
        None,
        min=0,
        max=3,
        may_be_empty=True,
        help="discounts of n-grams that occur once, twice and more often, for orders whose own "
        "discounts cannot be estimated; without values: 0.5 1 1.5",
    )
    memory: Size = option(
        Size(1 << 30), help="memory limit, at least 40M; larger data is sorted in scratch files"
    )
    threads: int | None = option(None, min=1, help="number of threads (default: all cores)")
    tmp: Path | None = option(
        None, metavar="DIR", help="directory for scratch files (default: $TMPDIR, else /tmp)"
    )
    skip_symbols: bool = option(
        False, help="treat <s>, </s> and <unk> in the text as white space instead of an error"
    )

    def run(self, console: Console) -> Mapping[str, Any] | None:
        from hopefear.base.files import check_one_stdin
        from hopefear.lm.estimate import estimate

        if not self.text:
            raise OptionError("TEXT is missing: give a file with one sentence per line, or '-'")
        check_one_stdin(*self.text)
        if console.json and str(self.output) == "-":
            raise OptionError("--json: the model is written to stdout; give -o a file")
        with console.step("estimate", unit="tokens") as step:
            report = estimate(
                self.text,
                self.output,
                order=self.order,
                prune=self.prune,
                discount_fallback=self.discount_fallback,
                memory=self.memory,
                threads=self.threads,
                skip_symbols=self.skip_symbols,
                tmp=self.tmp,
                progress=step.update,
            )
        if str(self.output) == "-":  # the model is on stdout
            return None
        return asdict(report)

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        rows = [
            (
                str(order["order"]),
                f"{order['ngrams']:,}",
                f"{order['distinct']:,}",
                *(f"{discount:.4f}" for discount in order["discounts"]),
                "fallback" if order["fell_back"] else "",
            )
            for order in report["orders"]
        ]
        header = ("order", "n-grams", "in the text", "D1", "D2", "D3+", "")
        console.print(table(rows, header))
        spilled = report["spilled_bytes"]
        console.print(
            f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
            f"{report['types']:,} types"
            + (f"; {spilled / 2**20:,.0f} MB in scratch files" if spilled else "")
        )
