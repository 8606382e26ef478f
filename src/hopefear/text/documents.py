"""Document boundaries of a corpus.

Takes a file parallel to the corpus (`train.doc`, `dev.docids`) and returns the document name of
each line, or `Document` spans. Each line of the file has a document name, or with a separator a
sentence name, whose last part is dropped (`Gen.1.7` is in document `Gen.1` with separator `.`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name
from hopefear.text.lines import read_lines


class Document(NamedTuple):
    """Lines `first` to `last` (counted from 0, excluding `last`) of a corpus."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> range:
        """Line numbers of the document."""
        return range(self.first, self.last)


def document_names(lines: Iterable[str], place: str, separator: str = "") -> Iterator[str]:
    """Take lines and yield their document names; raises `InputError` for a line without a name."""
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if separator:
            name = name.rpartition(separator)[0]
        if not name:
            fault = f"no {separator!r} in {line.strip()!r}" if line.strip() else "an empty line"
            raise InputError(
                f"{place}:{number}: {fault}; expected the name of the document this line belongs to"
            )
        yield name


def read_documents(path: PathLike, separator: str = "") -> list[str]:
    """Take a file of document names and return the document of each line."""
    return list(document_names(read_lines(path), display_name(path), separator))


def group(names: Sequence[str], place: str = "documents") -> list[Document]:
    """Take the document of each line and return the documents, whose lines must be adjacent."""
    documents: list[Document] = []
    starts: dict[str, int] = {}
    for i, name in enumerate(names):
        if documents and documents[-1].name == name:
            documents[-1] = documents[-1]._replace(last=i + 1)
        elif name in starts:
            raise InputError(
                f"{place}:{i + 1}: document {name!r} began at line {starts[name] + 1} and occurs "
                f"again after {documents[-1].name!r}; sort the corpus by document"
            )
        else:
            starts[name] = i
            documents.append(Document(name, i, i + 1))
    return documents
