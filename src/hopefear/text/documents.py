"""Documents: which lines of a corpus belong together.

Goes in: a file parallel to the corpus with the name of its document on each line (`train.doc`,
`dev.docids`), or with the name of the line, whose last part is left out (`Gen.1.7` is a line of
document `Gen.1` with separator `.`). Comes out: the names line by line, or `Document` spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name
from hopefear.text.lines import read_lines


class Document(NamedTuple):
    """Lines `first` to `last` (from 0, without `last`) of a corpus."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> range:
        return range(self.first, self.last)


def document_names(lines: Iterable[str], place: str, separator: str = "") -> Iterator[str]:
    """The document of each line; a line without a name is an `InputError`."""
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if separator:
            name = name.rpartition(separator)[0]
        if not name:
            what = f"no {separator!r} in {line.strip()!r}" if line.strip() else "an empty line"
            raise InputError(
                f"{place}:{number}: {what}; expected the name of the document this line belongs to"
            )
        yield name


def read_documents(path: PathLike, separator: str = "") -> list[str]:
    """The document of each line of the corpus beside `path`."""
    return list(document_names(read_lines(path), display_name(path), separator))


def group(names: Sequence[str], place: str = "documents") -> list[Document]:
    """Documents in the order of the corpus; the lines of one must stand together."""
    documents: list[Document] = []
    began: dict[str, int] = {}
    for i, name in enumerate(names):
        if documents and documents[-1].name == name:
            documents[-1] = documents[-1]._replace(last=i + 1)
        elif name in began:
            raise InputError(
                f"{place}:{i + 1}: document {name!r} began at line {began[name] + 1} and comes "
                f"again after {documents[-1].name!r}; sort the corpus by document"
            )
        else:
            began[name] = i
            documents.append(Document(name, i, i + 1))
    return documents
