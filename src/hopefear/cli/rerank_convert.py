"""`hopefear rerank convert`: n-best lists of other systems as JSON lines or tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hopefear.base.config import argument, option
from hopefear.base.console import Console
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import check_one_stdin, display_name
from hopefear.base.registry import register
from hopefear.cli.command import Command


@register("command", "rerank convert")
@dataclass(kw_only=True)
class RerankConvert(Command):
    """Convert the n-best lists of another system.

    --system is fairseq (fairseq-generate), marian, sockeye (JSON), ctranslate2, huggingface, vllm
    (or any server with OpenAI's interface), kaldi, srilm, moses, cdec, jsonl, csv, tsv or parquet;
    guides/reranking.md has an example of each. Several files are read one after the other; lists of
    the same id in several files are joined with --join, so that systems can be combined. The output
    is JSON lines, or by its name CSV (.csv), TSV (.tsv), Parquet (.parquet) or Moses's format
    (.nbest). Files are read and written entry by entry, with --join as a whole.
    """

    section = "Learn"
    examples = (
        "hopefear rerank convert generate-test.txt --system fairseq -o test.jsonl",
        "hopefear rerank convert words --system kaldi --system-set costs=ac=ac_cost,lm=lm_cost "
        "-o test.jsonl --keys keys.txt",
        "hopefear rerank convert test.jsonl --system jsonl -o test.parquet",
    )

    files: list[Path] = argument(metavar="FILE", help="files of the system (.gz: compressed)")
    system: str = option(metavar="NAME", help="format of the files")
    system_set: list[str] = option([], metavar="KEY=VALUE", help="options of the format")
    output: Path = option(flags=("-o",), metavar="OUT", help="file for the lists")
    to: Literal["jsonl", "csv", "tsv", "parquet", "moses"] | None = option(
        None, help="format of the output (default: by its name, else JSON lines)"
    )
    join: bool = option(
        False, help="join the lists of the same id; the features of file i > 1 begin with i:"
    )
    sort: bool = option(False, help="sort the lists by id (numbers by value)")
    keys: Path | None = option(
        None, help="file of ids, one per line; ids become their line numbers, from 0"
    )
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define further formats"
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base import registry
        from hopefear.base.config import parse_pairs
        from hopefear.base.files import check_writable
        from hopefear.forest.io.list_writers import write_entries
        from hopefear.text.lines import read_lines

        if console.json and str(self.output) == "-":
            raise OptionError("-o -: --json writes the report to stdout; give a file")
        if self.join and len(self.files) < 2:
            raise OptionError("--join: joins several files; give more than one")
        check_one_stdin(*self.files, *([self.keys] if self.keys else []))
        check_writable(self.output)
        cls = registry.get("list-format", self.system)
        settings = parse_pairs(cls, self.system_set, "--system-set")
        self._format = registry.create("list-format", self.system, settings)
        self._numbers: dict[str, int] | None = None
        if self.keys is not None:
            self._numbers = {key: line for line, key in enumerate(read_lines(self.keys))}
        self._lists = self._candidates = 0
        with console.step("convert", unit="candidates") as step:
            write_entries(self.output, self._counted(self._entries(), step), self.to)
        return {"lists": self._lists, "candidates": self._candidates}

    def _entries(self) -> Iterator[Mapping[str, Any]]:
        if not (self.join or self.sort):
            for path in self.files:
                yield from map(self._numbered, self._format.read(path))
            return
        lists: dict[Any, list[Mapping[str, Any]]] = {}
        for place, path in enumerate(self.files, 1):
            for entry in map(self._numbered, self._format.read(path)):
                if self.join and place > 1:
                    features = {f"{place}:{name}": v for name, v in entry["features"].items()}
                    entry = {**entry, "features": features}
                lists.setdefault(entry["id"], []).append(entry)
        ids = sorted(lists, key=lambda id: (isinstance(id, str), id)) if self.sort else list(lists)
        for id in ids:
            yield from lists[id]

    def _numbered(self, entry: dict[str, Any]) -> Mapping[str, Any]:
        if self._numbers is None:
            return entry
        number = self._numbers.get(str(entry["id"]))
        if number is None:
            assert self.keys is not None
            raise InputError(f"{display_name(self.keys)}: no line is the id {entry['id']!r:.40}")
        return {**entry, "id": number}

    def _counted(
        self, entries: Iterator[Mapping[str, Any]], step: Any
    ) -> Iterator[Mapping[str, Any]]:
        last: Any = None
        for entry in entries:
            self._candidates += 1
            if self._candidates == 1 or entry["id"] != last:
                self._lists += 1
                last = entry["id"]
            if self._candidates % 1000 == 0:
                step.advance(1000)
            yield entry
        if not self._candidates:
            raise InputError(
                f"{display_name(self.files[0])}: no candidate in it; is --system {self.system} the "
                "format of the file?"
            )

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        console.note(f"{report['lists']:,} lists, {report['candidates']:,} candidates")
