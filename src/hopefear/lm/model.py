"""Queries of n-gram language models, from ARPA or compiled files.  [heafield2011]

    lm = LanguageModel.load("lm.arpa.gz")
    lm.score("the house is small")          # log10, with <s> and </s>
    lm.compile("lm.bin")                    # a file that loads 100 MB in 20 ms

All scores are in **log10**, as in ARPA files, and equal KenLM's to the last digit; the decoders'
C++ interface (cpp/lm/model.hpp) uses natural logs. A model is read-only; threads can share it.

Words are separated by blanks, tabs, line ends or NUL. `<s>` and `</s>` in a text are looked up like
other words; unknown words are scored as `<unk>`. A model without `<unk>` gets one with
log10 p = -100; one without `<s>` or `</s>` scores these as `<unk>`, as KenLM does if told to accept
it. A log10 probability of -inf becomes -99.

Differs: the state is the number of a context, not the words and back-offs of KenLM's state; for the
reason see cpp/lm/model.hpp.
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
    """The score of one word in `LanguageModel.full_scores`."""

    log10: float
    ngram_length: int  # length of the longest matching n-gram; 1 for an unknown word
    oov: bool


@dataclass(frozen=True)
class TextScore:
    """Sums over a text. Tokens are the words and, if they are scored, the `</s>` of sentences."""

    sentences: int
    tokens: int
    oov: int  # number of unknown words
    log10_prob: float
    log10_prob_oov: float  # sum over the unknown words

    @property
    def perplexity(self) -> float:
        """Perplexity per token, with unknown words scored as `<unk>`."""
        return _power_of_ten(-self.log10_prob, self.tokens)

    @property
    def perplexity_without_oov(self) -> float:
        """Perplexity per known token: comparable only between models of the same vocabulary."""
        return _power_of_ten(self.log10_prob_oov - self.log10_prob, self.tokens - self.oov)


def _power_of_ten(exponent: float, count: int) -> float:
    if count == 0:
        return float("nan")
    try:
        return float(10.0 ** (exponent / count))
    except OverflowError:
        return float("inf")


class LanguageModel:
    """A back-off n-gram language model; `load` reads it from a file."""

    def __init__(self, engine: _engine.LmModel) -> None:
        self._engine = engine

    @property
    def engine(self) -> _engine.LmModel:
        """The engine's model, for decoders."""
        return self._engine

    @classmethod
    def load(
        cls,
        path: PathLike,
        *,
        progress: Callable[[int], Any] | None = None,
    ) -> LanguageModel:
        """Take an ARPA file (`-`: stdin; `.gz` is unpacked) or a compiled file; return the model.

        The format is recognised by the content; a compiled file is compared with its checksums.
        `progress` is called with the number of n-grams read from an ARPA file.
        """
        name = os.fspath(path)
        if name != "-" and not is_device(name):
            with open(name, "rb") as file:  # noqa: PTH123 (any path-like)
                start = file.read(4096)
            if start.startswith(COMPILED):
                return cls(_engine.lm_open(name))
            _check_foreign(name, start)
        with open_input(path) as source:
            return cls(_engine.lm_read_arpa(source, display_name(path), progress))

    def compile(self, path: PathLike) -> None:
        """Write the binary file that `load` maps into memory; it appears only when complete."""
        check_compiled_path(path)
        with atomic_path(path) as temporary:
            self._engine.write(str(temporary))

    def write_arpa(self, file: BinaryIO) -> None:
        """Write the model as ARPA text to a binary file; reading it again gives the same scores.

        N-grams that were filled in when the model was read (`filled`) are written, too.
        """
        self._engine.write_arpa(file)

    # ---- properties ----

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return self._engine.order

    @property
    def ngrams(self) -> list[int]:
        """Numbers of n-grams of order 1, 2, … in the ARPA file."""
        return list(self._engine.ngrams)

    @property
    def filled(self) -> list[int]:
        """Numbers of n-grams added per order: prefixes and suffixes missing in the ARPA file."""
        return list(self._engine.filled)

    @property
    def vocabulary_size(self) -> int:
        """Number of words, including `<unk>`, `<s>` and `</s>`."""
        return self._engine.vocabulary_size

    @property
    def missing_marks(self) -> list[str]:
        """The sentence marks `<s>` and `</s>` that the file lacks; they are scored as `<unk>`."""
        return list(self._engine.missing_marks)

    @property
    def unknown_added(self) -> bool:
        """Whether the ARPA file had no `<unk>`."""
        return self._engine.unknown_added

    def words(self) -> Iterator[str]:
        """Return the vocabulary in the order of word numbers; `<unk>` is 0."""
        return map(self._engine.word, range(self.vocabulary_size))

    def index(self, word: str) -> int:
        """Take a word and return its number; 0 if it is unknown."""
        return self._engine.index(word)

    def __contains__(self, word: str) -> bool:
        return self._engine.index(word) != 0

    def __repr__(self) -> str:
        return f"<LanguageModel of order {self.order}, {self.vocabulary_size:,} words>"

    # ---- sentences ----

    def score(self, words: str | Iterable[str], bos: bool = True, eos: bool = True) -> float:
        """Take a sentence (a string or its words) and return log10 p.

        `bos`: start in the context of `<s>`, which is not scored; `eos`: also score `</s>`.
        """
        return self._engine.score(words, bos, eos)

    def full_scores(
        self, words: str | Iterable[str], bos: bool = True, eos: bool = True
    ) -> list[WordScore]:
        """Take a sentence and return the score of each word; with `eos`, the last is `</s>`."""
        return [WordScore(*score) for score in self._engine.full_scores(words, bos, eos)]

    # ---- states ----

    @property
    def begin_state(self) -> State:
        """The state after `<s>`."""
        return self._engine.begin_state

    @property
    def empty_state(self) -> State:
        """The state without any context."""
        return self._engine.empty_state

    def score_word(self, state: State, word: str) -> tuple[float, State]:
        """Take a state and a word; return log10 p(word | state) and the next state.

        A state contains only the words that affect later scores, so the same words get the same
        scores after equal states (`==`; states are hashable).
        """
        log10, next_state = self._engine.score_word(state, word)
        return log10, next_state

    def combine(self, symbols: Sequence[str | Constituent], bos: bool = False) -> Constituent:
        """Take words and constituents; return the constituent of their concatenation.

        Hierarchical search scores rules in this way. The result's `score` is log10; its first words
        have estimated scores until their context is known. `bos`: `<s>` precedes the symbols.
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
        """Take a file with one sentence per line and return sums over its sentences.

        The file is read as a stream; the number of threads does not change the result. `progress`
        is called with the number of sentences.
        """
        if threads < 1:
            raise OptionError(f"threads: {threads} is out of range; give 1 or more")
        with open_input(text) as file:
            name = display_name(text)
            sums = self._engine.score_text(_Ready(file), name, bos, eos, threads, progress)
        return TextScore(*sums)

    def perplexity(self, text: PathLike, *, threads: int = 1) -> float:
        """Take a file and return its perplexity, with `<s>`, `</s>` and unknown words."""
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
        """Write a line `Total: LOG10 OOV: COUNT` to `output` for each line of `text`, as KenLM.

        With `words`, `WORD=NUMBER LENGTH LOG10` for each word precedes it. When reading from a
        pipe, all lines received so far are answered before waiting for more.
        """
        with open_input(text) as file:
            flushing = _Flushing(output)
            self._engine.query_text(_Ready(file), display_name(text), flushing, bos, eos, words)


def check_compiled_path(path: PathLike) -> None:
    """Raise `OptionError` for a pipe or device: a compiled model is mapped into memory."""
    if os.fspath(path) == "-" or is_device(path):
        raise OptionError(f"{path}: a compiled model must be a real file; give a file name")


class _Ready:
    """A file whose `readinto` returns the available data; others wait until the buffer is full."""

    def __init__(self, file: BinaryIO) -> None:
        self.readinto = getattr(file, "readinto1", None) or file.readinto  # type: ignore[attr-defined]


class _Flushing:
    """A file that is flushed after every write."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()


def _check_foreign(name: str, start: bytes) -> None:
    """Raise `InputError` for a file that cannot be an ARPA file, before it is searched."""
    expected = "expected an ARPA file or a file written by 'hopefear lm compile'"
    if start.startswith(_KENLM):
        raise InputError(
            f"{name}: a KenLM binary file, {expected}; give the ARPA file it was made from"
        )
    if start.startswith(_GZIP) or name.endswith(".gz"):
        return  # errors are reported when it is read
    if b"\0" in start and b"\\data\\" not in start:
        raise InputError(f"{name}: a binary file of another kind, {expected}")
