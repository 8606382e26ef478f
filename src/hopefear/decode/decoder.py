"""The contract of decoders: a sentence and weights go in, a forest comes out.

    decoder = load_decoder(model)                            # whatever the model's system is
    forest = decoder.decode("das haus", weights)
    for forest in decoder.decode_all(sentences, weights, threads=2): ...

`decode` with a target gives all derivations of that target (forced or constrained decoding).
Everything that is random, everything that learns, is elsewhere: equal arguments give equal bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hopefear._engine import Forest
from hopefear.weights import FeatureNames, Weights

Tokens = str | Sequence[str]


@dataclass(frozen=True)
class Sentence:
    """What a decoder is given: words, and what the input file said about them."""

    words: tuple[str, ...]
    id: str = ""
    grammar: Path | None = None  # a grammar of its own (hierarchical)
    options: tuple[ForcedOption, ...] = ()  # translations forced by markup

    @classmethod
    def of(cls, text: Sentence | Tokens, id: str = "") -> Sentence:
        if isinstance(text, Sentence):
            return text
        return cls(tuple(text.split() if isinstance(text, str) else text), id)


@dataclass(frozen=True)
class ForcedOption:
    """A translation that the input gives for a span of its words."""

    begin: int
    end: int
    target: tuple[str, ...]
    log_probability: float = 0.0


class Decoder(ABC):
    """Base of all decoders. An object may be used by several threads at once."""

    names: FeatureNames  # of the features that its forests have

    @property
    @abstractmethod
    def dense(self) -> list[str]:
        """The names of the features that every model of this kind has, in a fixed order."""

    @abstractmethod
    def decode(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
        """Everything that search kept; with a target all of its derivations."""

    def decode_all(
        self,
        sentences: Iterable[Sentence | Tokens],
        weights: Weights,
        *,
        targets: Iterable[Tokens] | None = None,
        threads: int = 1,
    ) -> Iterator[Forest]:
        """Forests in the order of the sentences, which are read as they are needed."""
        wanted: Iterable[Tokens | None] = _forever() if targets is None else targets
        pairs = zip(sentences, wanted, strict=False)
        if threads <= 1:
            for sentence, target in pairs:
                yield self.decode(sentence, weights, target)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future[Forest]] = deque()
            try:
                for sentence, target in pairs:
                    waiting.append(pool.submit(self.decode, sentence, weights, target))
                    while waiting and (len(waiting) >= 4 * threads or waiting[0].done()):
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _forever() -> Iterator[None]:
    while True:
        yield None
