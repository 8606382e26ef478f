"""The corpora of the studies: their files, relative to the folder with `data/` and `golden/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Corpus:
    """A translation task: its files by part (train, dev, test), source first, then references."""

    name: str
    title: str
    files: Mapping[str, Sequence[str]]
    align: str | None = None
    tokenized: bool = True
    tokenize: Any = "none"  # tokenisation for scoring
    short: int | None = None  # dev sentences have fewer source words than this
    held_out: int = 0  # the last training pairs, which are the test set instead
    drawn: bool = False  # training pairs are drawn at random: the first ones are not typical


def _files(folder: str, source: str, *references: str) -> dict[str, tuple[str, ...]]:
    """Returns the files of dev, test and train; training text is compressed."""
    files = {
        part: tuple(f"{folder}/{part}.{side}" for side in (source, *references))
        for part in ("dev", "test")
    }
    sides = (name.removesuffix(".0") for name in (source, references[0]))
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
        Corpus(
            "bible-ar-en", "Bible ar-en", _files("data/bible-ar-en", "nodiac.ar", *FOUR), **_RAW
        ),
        Corpus("cs-en", "Multi30k cs-en", _files("data/multi30k/cs-en", "cs", "en"), **_RAW),
        Corpus(
            "ar-en", "Tatoeba ar-en", _files("data/tatoeba-ar-en", "ar", "en"), drawn=True, **_RAW
        ),
        Corpus(
            "fisher-es-en",
            "Fisher and CALLHOME es-en",
            _files("data/fisher-callhome-es-en", "es", *FOUR),
            drawn=True,
            **_RAW,
        ),
        # Scored by characters: there is no agreed segmentation of Chinese into words.
        Corpus("en-zh", "Bible en-zh", _files(_ZH, "en.0", "zh"), tokenize="char"),
    )
}


def with_short_dev(name: str, words: int) -> str:
    """Register a copy of a corpus with only short dev sentences; returns the copy's name."""
    corpus, new = CORPORA[name], f"{name}-short"
    title = f"{corpus.title}, tuned on short sentences"
    CORPORA[new] = replace(corpus, name=new, title=title, short=words)
    return new


def with_in_domain_test(name: str, pairs: int) -> str:
    """Register a copy of a corpus whose test set is held out from its training text."""
    corpus, new = CORPORA[name], f"{name}-in-domain"
    title = f"{corpus.title}, tested on {pairs:,} training pairs held out"
    CORPORA[new] = replace(corpus, name=new, title=title, held_out=pairs)
    return new
