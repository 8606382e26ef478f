"""The corpora of the studies: their files, relative to the folder with `data/` and `golden/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Corpus:
    """A task: its files by part, the source first, then the references."""

    name: str
    title: str
    files: Mapping[str, Sequence[str]]
    align: str | None = None
    tokenized: bool = True
    tokenize: Any = "none"  # how output is scored
    short: int | None = None  # of the dev set only sentences with fewer source words


def _files(folder: str, source: str, *references: str) -> dict[str, tuple[str, ...]]:
    """dev, test and train; all references are of one language, training text is packed."""
    files = {
        part: tuple(f"{folder}/{part}.{side}" for side in (source, *references))
        for part in ("dev", "test")
    }
    sides = (name.partition(".")[0] for name in (source, references[0]))
    return files | {"train": tuple(f"{folder}/train.{side}.gz" for side in sides)}


FOUR = ("en.0", "en.1", "en.2", "en.3")
_FR = "golden/aligned/fr-en"
_ZH = "golden/aligned/zh-en"
_RAW: dict[str, Any] = {"tokenized": False, "tokenize": "13a"}

CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus("fr-en", "Multi30k fr-en", _files(_FR, "fr", "en.0"), f"{_FR}/train.gdfa.gz"),
        Corpus("zh-en", "Bible zh-en", _files(_ZH, "zh", *FOUR), f"{_ZH}/train.gdfa.gz"),
        Corpus("de-en", "Multi30k de-en", _files("data/multi30k/de-en", "de", "en"), **_RAW),
        Corpus("es-en", "Bible es-en", _files("data/bible-es-en", "es", *FOUR), **_RAW),
        # There is one reference, and words are no unit that readers agree on.
        Corpus("en-zh", "Bible en-zh", _files(_ZH, "en.0", "zh"), tokenize="char"),
    )
}


def with_short_dev(name: str, words: int) -> str:
    """Makes known a corpus like this one whose dev set has its short sentences only; its name."""
    corpus, new = CORPORA[name], f"{name}-short"
    title = f"{corpus.title}, tuned on short sentences"
    CORPORA[new] = replace(corpus, name=new, title=title, short=words)
    return new
