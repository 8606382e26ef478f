"""`hopefear text split`: training, development and test sets from one corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.config import argument, option, part_of
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.text.split import SplitSizes


@register("command", "text split")
@dataclass(kw_only=True)
class Split(SplitSizes, Command):
    """Split parallel files into train, dev and test sets, at random or by whole documents.

    The first file is the source text. Writes DIR/train.X, DIR/dev.X and DIR/test.X for each input
    file with the extension .X.
    """

    section = "Train"
    examples = (
        "hopefear text split all.fr all.en -o corpus --dev 1000 --test 1000 --seed 1",
        "hopefear text split all.zh all.en all.doc -o corpus --documents all.doc",
    )

    files: list[Path] = argument(help="source text, target text and further parallel files")
    output: Path = option(flags=("-o",), metavar="DIR", help="output directory")
    documents: Path | None = option(
        None, help="file with the document name of each line; documents are kept whole"
    )
    id_separator: str = option(
        "",
        help="separator in the document names; the part after its last occurrence is ignored "
        "(default: none)",
    )

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.text.documents import read_documents
        from hopefear.text.split import split_files

        if self.id_separator and self.documents is None:
            raise OptionError("--id-separator: used only with --documents; give that too")
        sizes = SplitSizes(**part_of(SplitSizes, self))
        names = None
        if self.documents is not None:
            names = read_documents(self.documents, self.id_separator)
        with console.step("split"):
            return split_files(self.files, self.output, sizes, names)
