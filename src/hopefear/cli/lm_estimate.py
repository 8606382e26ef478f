"""`hopefear lm estimate`: text to ARPA."""

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

    Interpolated modified Kneser-Ney smoothing; the numbers are those of KenLM's lmplz. The text has
    one tokenised sentence per line; words are separated by white space (blank, tab, CR, NUL).
    Several texts count as one. The output is an ARPA file.
    """

    section = "Train"
    examples = (
        "hopefear lm estimate train.en -o lm.arpa.gz --order 5",
        "hopefear lm estimate news.gz train.en -o lm.arpa --order 4 --prune 0 0 1 --memory 4G",
        "hopefear lm estimate tags.txt -o tags.arpa --order 6 --discount-fallback",
    )

    text: list[Path] = argument(help="one sentence per line; '-' is stdin, .gz is unpacked")
    output: Path = option(flags=["-o"], help="ARPA file to write; '-' is stdout, .gz is packed")
    order: int = option(3, min=1, max=6, help="words in the longest n-grams")
    prune: list[int] = option(
        [],
        min=0,
        help="leave out n-grams that occur this often or less: one number per order, not "
        "decreasing, the last one holds for the higher orders",
    )
    discount_fallback: list[float] | None = option(
        None,
        min=0,
        max=3,
        may_be_empty=True,
        help="discounts for n-grams seen once, twice, more often (alone: 0.5 1 1.5), for orders "
        "where the text is too small or too regular to have its own",
    )
    memory: Size = option(
        Size(1 << 30), help="memory to use, at least 40M; what does not fit goes to scratch files"
    )
    threads: int | None = option(None, min=1, help="threads to use; all cores if not given")
    tmp: Path | None = option(
        None, metavar="DIR", help="directory for scratch files; $TMPDIR or /tmp if not given"
    )
    skip_symbols: bool = option(
        False, help="treat <s>, </s> and <unk> in the text as white space, not as an error"
    )

    def run(self, console: Console) -> Mapping[str, Any] | None:
        from hopefear.base.files import check_one_stdin
        from hopefear.lm.estimate import estimate

        if not self.text:
            raise OptionError("TEXT is missing: one sentence per line; '-' is stdin")
        check_one_stdin(*self.text)
        if console.json and str(self.output) == "-":
            raise OptionError("--json: stdout is the model's already; give -o a file")
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
        if str(self.output) == "-":  # stdout is the model's
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
