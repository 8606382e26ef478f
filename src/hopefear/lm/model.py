"""A language model to ask: ARPA or compiled file in, log probabilities out.  [heafield2011]

    lm = LanguageModel.load("lm.arpa.gz")
    lm.score("the house is small")          # log10, with <s> and </s>
    lm.compile("lm.bin")                    # opens in milliseconds from now on

Everything here is in **log10**, as in ARPA files and in KenLM, whose numbers these are to the last
digit; the decoders' C++ interface (cpp/lm/model.hpp) is in natural logs. A model is read-only:
threads may share it.

Words are separated by blanks, tabs, line ends or NUL. `<s>` and `</s>` in a text are looked up like
other words; a word the model does not know is scored as `<unk>`. A model without `<unk>` gets one
with log10 p = -100.

Differs: contexts are numbered and the state is such a number, not the words and back-offs of
KenLM's state; see cpp/lm/model.hpp for why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from hopefear import _engine
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import COMPILED, PathLike, atomic_path, display_name, is_device, open_input

State = _engine.LmState
Constituent = _engine.LmConstituent

_KENLM = b"mmap lm http://kheafield.com/code"
_GZIP = b"\x1f\x8b"


class WordScore(NamedTuple):
    """One word of `LanguageModel.full_scores`."""

    log10: float
    ngram_length: int  # of the longest n-gram found, 1 for an unknown word
    oov: bool


@dataclass(frozen=True)
class TextScore:
    """Sums over a text. A token is a word or, if it is scored, the `</s>` of a sentence."""

    sentences: int
    tokens: int
    oov: int
    log10_prob: float
    log10_prob_oov: float  # the part of the unknown words

    @property
    def perplexity(self) -> float:
        """Per token, unknown words included at the model's p(<unk>)."""
        return _power_of_ten(-self.log10_prob, self.tokens)

    @property
    def perplexity_without_oov(self) -> float:
        """Per known token: comparable only between models with the same vocabulary."""
        return _power_of_ten(self.log10_prob_oov - self.log10_prob, self.tokens - self.oov)


def _power_of_ten(exponent: float, count: int) -> float:
    if count == 0:
        return float("nan")
    try:
        return float(10.0 ** (exponent / count))
    except OverflowError:
        return float("inf")


class LanguageModel:
    """A back-off n-gram model; made by `load`."""

    def __init__(self, engine: _engine.LmModel) -> None:
        self._engine = engine

    @property
    def engine(self) -> _engine.LmModel:
        """What decoders hand to the engine."""
        return self._engine

    @classmethod
    def load(
        cls,
        path: PathLike,
        *,
        verify: bool = False,
        progress: Callable[[int], Any] | None = None,
    ) -> LanguageModel:
        """A model from an ARPA file (`-` is stdin, `.gz` is unpacked) or a compiled one.

        The content decides which it is. `verify` reads a compiled file entirely and compares its
        checksums; without it that is done up to 32 MB, and larger ones are sampled. `progress` is
        called with the number of n-grams read from an ARPA file.
        """
        name = os.fspath(path)
        if name != "-" and not is_device(name):
            with open(name, "rb") as file:  # noqa: PTH123 (any path-like)
                start = file.read(4096)
            if start.startswith(COMPILED):
                return cls(_engine.lm_open(name, verify))
            _check_foreign(name, start)
        with open_input(path) as source:
            return cls(_engine.lm_read_arpa(source, display_name(path), progress))

    def compile(self, path: PathLike) -> None:
        """Write the binary file that `load` maps into memory. It appears when it is complete."""
        check_compiled_path(path)
        with atomic_path(path) as temporary:
            self._engine.write(str(temporary))

    # ---- what it is ----

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return self._engine.order

    @property
    def ngrams(self) -> list[int]:
        """How many n-grams of order 1, 2, … the ARPA file had."""
        return list(self._engine.ngrams)

    @property
    def filled(self) -> list[int]:
        """How many of each order were added: prefixes and suffixes that the ARPA file lacked."""
        return list(self._engine.filled)

    @property
    def vocabulary_size(self) -> int:
        """Number of words, `<unk>`, `<s>` and `</s>` included."""
        return self._engine.vocabulary_size

    @property
    def unknown_added(self) -> bool:
        """Whether the ARPA file had no `<unk>`."""
        return self._engine.unknown_added

    def words(self) -> Iterator[str]:
        """The vocabulary in the order of the words' numbers; `<unk>` is 0."""
        return map(self._engine.word, range(self.vocabulary_size))

    def index(self, word: str) -> int:
        """The word's number, 0 if it is unknown."""
        return self._engine.index(word)

    def __contains__(self, word: str) -> bool:
        return self._engine.index(word) != 0

    def __repr__(self) -> str:
        return f"<LanguageModel of order {self.order}, {self.vocabulary_size:,} words>"

    # ---- sentences ----

    def score(self, words: str | Iterable[str], bos: bool = True, eos: bool = True) -> float:
        """log10 p of a sentence, a string or its words.

        `bos`: it begins after `<s>` (not scored itself); `eos`: `</s>` is scored at its end.
        """
        return self._engine.score(words, bos, eos)

    def full_scores(
        self, words: str | Iterable[str], bos: bool = True, eos: bool = True
    ) -> list[WordScore]:
        """The score word by word, with `</s>` last if `eos`."""
        return [WordScore(*each) for each in self._engine.full_scores(words, bos, eos)]

    # ---- states ----

    @property
    def begin_state(self) -> State:
        """After `<s>`."""
        return self._engine.begin_state

    @property
    def empty_state(self) -> State:
        """When nothing is known of what came before."""
        return self._engine.empty_state

    def score_word(self, state: State, word: str) -> tuple[float, State]:
        """log10 p(word | state) and the state after it; only the words that still matter are in a
        state, so equal states (`==`, hashable) have equal futures.
        """
        log10, after = self._engine.score_word(state, word)
        return log10, after

    def combine(self, symbols: Sequence[str | Constituent], bos: bool = False) -> Constituent:
        """Words and constituents, put together from left to right: how hierarchical search scores
        a rule. `score` of the result is log10; its first words are estimates until they get a
        context. `bos`: `<s>` comes before them.
        """
        return self._engine.combine(symbols, bos)

    # ---- text ----

    def score_text(
        self,
        text: PathLike,
        *,
        bos: bool = True,
        eos: bool = True,
        threads: int = 1,
        progress: Callable[[int], Any] | None = None,
    ) -> TextScore:
        """The sums over a file, one sentence per line, read as a stream. The same with any number
        of threads. `progress` is called with the number of sentences.
        """
        if threads < 1:
            raise OptionError(f"threads: {threads} is out of range; give 1 or more")
        with open_input(text) as file:
            name = display_name(text)
            sums = self._engine.score_text(_Ready(file), name, bos, eos, threads, progress)
        return TextScore(*sums)

    def perplexity(self, text: PathLike, *, threads: int = 1) -> float:
        """Of a file, with `<s>` and `</s>`, unknown words included."""
        return self.score_text(text, threads=threads).perplexity

    def query(
        self,
        text: PathLike,
        output: BinaryIO,
        *,
        bos: bool = True,
        eos: bool = True,
        words: bool = False,
    ) -> None:
        """A line `Total: LOG10 OOV: COUNT` for each line of `text`, in KenLM's format, with `words`
        after `WORD=NUMBER LENGTH LOG10` for each word. Lines that have arrived are answered before
        more are waited for.
        """
        with open_input(text) as file:
            flushing = _Flushing(output)
            self._engine.query_text(_Ready(file), display_name(text), flushing, bos, eos, words)


def check_compiled_path(path: PathLike) -> None:
    """A compiled model is mapped into memory, so it cannot go to a pipe."""
    if os.fspath(path) == "-" or is_device(path):
        raise OptionError(f"{path}: a compiled model is a real file; give it a name")


class _Ready:
    """Gives the engine what a file has ready, where `readinto` would wait until a pipe has more."""

    def __init__(self, file: BinaryIO) -> None:
        self.readinto = getattr(file, "readinto1", None) or file.readinto  # type: ignore[attr-defined]


class _Flushing:
    """Hands on every piece of output at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()


def _check_foreign(name: str, start: bytes) -> None:
    """Refuse at once what cannot be an ARPA file, instead of searching it for a header."""
    expected = "expected an ARPA file or what 'hopefear lm compile' wrote"
    if start.startswith(_KENLM):
        raise InputError(
            f"{name}: a KenLM binary file, {expected}; give the ARPA file it was made from"
        )
    if start.startswith(_GZIP) or name.endswith(".gz"):
        return  # reading it says what is wrong
    if b"\0" in start and b"\\data\\" not in start:
        raise InputError(f"{name}: a binary file of another kind, {expected}")
