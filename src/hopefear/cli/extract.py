"""`hopefear extract`: a rule table from a word-aligned bitext."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.decode.system_options import SystemExtractOptions, described
from hopefear.decode.systems.base import get_system


@register("command", "extract")
@dataclass(kw_only=True)
class Extract(SystemExtractOptions, Command):
    """Extract and score the rules of a word-aligned bitext.

    Writes DIR/rules.bin, the rule table that the decoders read. --export moses also writes
    DIR/phrase-table.gz, DIR/reordering-table.gz, DIR/lex.f2e.gz and DIR/lex.e2f.gz in Moses's
    formats (for hierarchical rules DIR/rule-table.gz and the two lex files); --export cdec writes
    DIR/grammar.gz. Exported tables contain every rule that passes the filters, regardless of
    --limit.

    Options whose description begins with the name of a system apply to that system only. --memory
    limits the sort buffers; the vocabulary, the word translation probabilities and, with
    --significance, an index of the text (12 bytes per word) need memory in addition.
    """

    section = "Train"
    examples = (
        "hopefear extract train.fr train.en train.align --system phrase -o tables",
        "hopefear extract a.fr a.en a.align --system phrase -o tables --export moses --json",
        "hopefear extract train.fr train.en train.align --system hiero -o tables --export cdec",
        "hopefear extract a.fr a.en a.align --system tree --trees a.en.trees -o tables",
    )

    source: Path = argument(help="source text, tokenised, one sentence per line")
    target: Path = argument(help="target text, likewise")
    alignment: Path = argument(help="word alignment, one line such as '0-0 1-2' per sentence pair")
    system: str = option(metavar="KIND", help=f"kind of rules: {described()}")
    output: Path = option(
        flags=("-o",), metavar="DIR", help="output directory, created if it does not exist"
    )
    export: str | None = option(
        None, metavar="moses|cdec", help="also write tables in this text format"
    )
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define your own systems"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_writable
        from hopefear.rules.extract import TextExport
        from hopefear.rules.table import TABLE_FILE

        system, options = get_system(self.system), self.extract_options()
        exports = system.exports(options)
        if self.export is not None and self.export not in exports:
            legal = ", ".join(exports) or "none"
            raise OptionError(f"--export: {self.export!r} is not valid; give one of {legal}")
        new = not self.output.exists()
        check_writable(self.output, directory=True)
        self.output.mkdir(exist_ok=True)
        names = exports[self.export] if self.export is not None else {}
        texts = {kind: self.output / name for kind, name in names.items()}
        files = {"table": self.output / TABLE_FILE, **texts}
        try:
            report = system.extract(
                self.source,
                self.target,
                self.alignment,
                files["table"],
                options,
                export=TextExport(**texts),
                display=console.display,
            )
        except BaseException:
            if new:  # remove the empty directory of a failed extraction
                with contextlib.suppress(OSError):
                    self.output.rmdir()
            raise
        return {"system": self.system, "files": {k: str(v) for k, v in files.items()}, **report}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        noun = get_system(self.system).noun
        console.print(f"wrote {', '.join(report['files'].values())}")
        console.print(
            f"{report['occurrences']:,} occurrences of {report['pairs']:,} {noun} in "
            f"{report['sentences']:,} sentence pairs"
        )
        if report["trees"]:
            console.print(
                f"{report['trees']:,} pairs have a tree; the rules have {report['labels']:,} labels"
            )
        if report["truncated_nodes"]:
            count = f"{report['truncated_nodes']:,}"
            console.print(f"{count} tree nodes have too many rules to compose all of them")
        for key, reason in (
            ("below_min_count", "with too few occurrences"),
            ("not_significant", f"with -ln p below {report['significance']:.2f}"),
            ("over_limit", f"beyond the best {self.limit} of their source side"),
        ):
            if report[key]:
                console.print(f"removed {report[key]:,} {reason}")
        console.print(
            f"kept {report['rules']:,} rules for {report['source_sides']:,} source sides, "
            f"{report['one_sentence']:,} of the rules seen in one sentence only"
        )
