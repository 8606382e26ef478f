"""What a study says: its rows (`Setting`), how much of the data (`Sizes`), its tables (`Study`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.corpora import Corpus

if TYPE_CHECKING:
    from harness.runner import Runner

#: For `mert` beside others, of which the best iteration is the result, too.
BEST_ITERATION = ("--average-last", "0")


@dataclass(frozen=True)
class Setting:
    """A row: how it is called, a tuner, its options."""

    label: str
    tuner: str
    options: tuple[str, ...] = ()  # --set
    tune: tuple[str, ...] = ()  # more words for `hopefear tune`
    decode: tuple[str, ...] = ()  # for `tune` and `translate`: beams, templates
    start: Setting | None = None  # whose weights to begin with …
    weights: str | None = None  # … or the text of a file of weights
    iterations: int | None = None  # other than the study's
    train: tuple[str, ...] = ()  # more words for `hopefear train`
    against: str | None = None  # label of the row that its p-values are against, if not the study's
    learn_from: str | None = None  # a part to learn from ("train"); the dev set only judges
    dev: str = "dev"  # the part that is --dev
    threads: int = 1  # of `hopefear tune`
    # More of `decode`, by corpus; of an option that is there, too, this is what holds.
    by_corpus: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def searching(self, corpus: Corpus, system: str) -> tuple[str, ...]:
        """`decode` of a corpus, without the beam where there is none."""
        words = self.decode
        if system == "hiero" and "--beam" in words:
            at = words.index("--beam")
            words = (*words[:at], *words[at + 2 :])
        return (*words, *self.by_corpus.get(corpus.name, ()))

    def key(self, corpus: Corpus, iterations: int) -> list[Any]:
        """What the run depends on, besides the data: a part of its folder's name."""
        rounds = self.iterations or iterations
        start = None if self.start is None else self.start.key(corpus, iterations)
        every = [self.tuner, self.options, self.tune, self.decode, self.train, rounds, start]
        # Older runs did not know these fields: they count where they are not as by default.
        usual = {"learn_from": None, "dev": "dev", "threads": 1, "weights": None}
        given = {name: getattr(self, name) for name in usual}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        if corpus.name in self.by_corpus:
            changed["by_corpus"] = self.by_corpus[corpus.name]
        return [*every, changed] if changed else every


@dataclass(frozen=True)
class Sizes:
    """How much of the data; None: all."""

    train: int | None = None
    dev: int | None = None
    test: int | None = None

    def of(self, part: str) -> int | None:
        size: int | None = getattr(self, part)
        return size

    def __str__(self) -> str:
        def amount(size: int | None, noun: str) -> str:
            return f"all {noun}" if size is None else f"the first {size:,} {noun}"

        return (
            f"Data: {amount(self.train, 'training pairs')}, {amount(self.dev, 'dev sentences')}, "
            f"{amount(self.test, 'test sentences')}"
        )


@dataclass(frozen=True)
class Study:
    """A table for each corpus and system."""

    name: str
    title: str
    settings: Sequence[Setting]
    corpora: Sequence[str] = ("de-en", "zh-en")
    systems: Sequence[str] = ("phrase",)
    sizes: Sizes = Sizes()
    iterations: int = 6
    seeds: int = 3
    against: str | None = None  # label of the row that p-values are against
    # More columns, of a row's finished runs; "first" and others of `COLUMNS` by name.
    columns: Sequence[str] = ()
    text: str = ""  # below the title
    page: str = "other"  # of docs/results, where its section is
    jobs: int = 2  # runs at a time; 1 where seconds are compared
    after: Callable[[Runner, bool], None] | None = None  # shows more; writes it, too, if asked to

    def compared(self, setting: Setting) -> str:
        """The label of the row that a row's p-values are against."""
        return setting.against or self.against or self.settings[0].label
