"""`hopefear rerank features`: n-best lists with further features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hopefear.base.config import option
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "rerank features")
@dataclass(kw_only=True)
class RerankFeatures(Command):
    """Add features to n-best lists: language model, alignment, length, agreement, rank.

    Writes the lists as JSON lines with the new features beside the old ones, list by list. --add
    names list features, each with options after a colon: length (words, characters, ratio to the
    source), rank, lm:model=FILE (an n-gram model), align:model=DIR (a word alignment model, both
    ways), agreement:metric=chrf (the mean metric against the other candidates, the utility of
    minimum Bayes risk). A plugin may define others (guides/reranking.md).
    """

    section = "Learn"
    examples = (
        "hopefear rerank features --nbest dev.jsonl --add length agreement:metric=chrf -o d.jsonl",
        "hopefear rerank features --nbest dev.jsonl --source dev.de --add lm:model=lm.bin "
        "align:model=align -o d.jsonl",
    )

    nbest: Path = option(help="file of n-best lists (.gz: compressed)")
    add: list[str] = option(metavar="NAME[:KEY=VALUE,…]", help="list features to add")
    source: Path | None = option(None, help="source text: line i is that of the list with id i")
    prefix: str = option(
        "", help="text before the names of the new features, if the lists have such names"
    )
    output: Path = option(flags=("-o",), metavar="OUT", help="file for the lists, JSON lines")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None,
        help="format of the lists (default: detected from the name or the beginning of the file)",
    )
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define further list features"
    )
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        import json

        from hopefear.base.files import check_writable, write_text
        from hopefear.base.threads import all_cores
        from hopefear.learn.rerank_features import make_features, with_features
        from hopefear.text.lines import read_lines

        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        check_one_stdin(self.nbest, *([self.source] if self.source else []))
        check_writable(self.output)
        features = make_features(self.add)
        source = None if self.source is None else list(read_lines(self.source))
        lists = candidates = 0
        names: dict[str, None] = {}
        with console.step("features", unit="lists") as step, write_text(self.output) as out:
            for entries in with_features(
                self.nbest,
                features,
                format=self.format,
                source=source,
                prefix=self.prefix,
                threads=self.threads or all_cores(),
            ):
                lists, candidates = lists + 1, candidates + len(entries)
                names.update(dict.fromkeys(name for e in entries for name in e["features"]))
                out.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
                step.advance()
        return {"lists": lists, "candidates": candidates, "features": list(names)}

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.note(
            f"{report['lists']:,} lists, {report['candidates']:,} candidates with the features "
            + ", ".join(report["features"])
        )
