"""The definition of a study: rows (`Setting`), amounts of data (`Sizes`), tables (`Study`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.corpora import Corpus

if TYPE_CHECKING:
    from harness.runner import Runner

#: For `mert` in tables whose other tuners return the best iteration.
BEST_ITERATION = ("--average-last", "0")


@dataclass(frozen=True)
class Setting:
    """A row of a table: its label, a tuner and the options of a run."""

    label: str
    tuner: str
    options: tuple[str, ...] = ()  # --set
    tune: tuple[str, ...] = ()  # other options of `hopefear tune`
    decode: tuple[str, ...] = ()  # for `tune` and `translate`: beams, templates
    start: Setting | None = None  # the row whose weights are the start weights
    weights: str | None = None  # or the content of a file of start weights
    iterations: int | None = None  # other than the study's
    train: tuple[str, ...] = ()  # options of `hopefear train`; {corpus} is the corpus's name
    against: str | None = None  # label of the row to compare with, if not the study's
    learn_from: str | None = (
        None  # a part to learn from ("train"); the dev set selects the iteration
    )
    dev: str = "dev"  # the part given as --dev
    threads: int = 1  # of `hopefear tune`
    # More options for `decode`, by corpus; they override those of `decode`.
    by_corpus: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def searching(self, corpus: Corpus, system: str) -> tuple[str, ...]:
        """Returns the search options for a corpus and system; hierarchical search has no beam."""
        words = self.decode
        if system == "hiero" and "--beam" in words:
            at = words.index("--beam")
            words = (*words[:at], *words[at + 2 :])
        return (*words, *self.by_corpus.get(corpus.name, ()))

    def key(self, corpus: Corpus, iterations: int) -> list[Any]:
        """Returns all that a run depends on besides the data; its hash names the run's folder."""
        rounds = self.iterations or iterations
        start = None if self.start is None else self.start.key(corpus, iterations)
        every = [self.tuner, self.options, self.tune, self.decode, self.train, rounds, start]
        # Fields added later count only if they differ from their default, so older runs stay valid.
        defaults = {"learn_from": None, "dev": "dev", "threads": 1, "weights": None}
        values = {name: getattr(self, name) for name in defaults}
        changed = {name: value for name, value in values.items() if value != defaults[name]}
        if corpus.name in self.by_corpus:
            changed["by_corpus"] = self.by_corpus[corpus.name]
        return [*every, changed] if changed else every


@dataclass(frozen=True)
class Sizes:
    """Number of sentences of each part; None: all."""

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
    """A study: one table for each corpus and system."""

    name: str
    title: str
    settings: Sequence[Setting]
    corpora: Sequence[str] = ("de-en", "zh-en")
    systems: Sequence[str] = ("phrase",)
    sizes: Sizes = Sizes()
    iterations: int = 6
    seeds: int = 3
    against: str | None = None  # label of the row to compare with; by default the first
    # More columns, by their names in `COLUMNS`.
    columns: Sequence[str] = ()
    text: str = ""  # more text above the tables
    page: str = "other"  # page in docs/results that has its section
    jobs: int = 2  # runs in parallel; 1 where wall time is compared
    after: Callable[[Runner, bool], None] | None = (
        None  # prints more results; True: also writes them
    )

    def compared(self, setting: Setting) -> str:
        """Returns the label of the row that a row is compared with."""
        return setting.against or self.against or self.settings[0].label
