"""Decoding the sentences of a set, on threads or a cluster.

Takes sentences and weights and returns for each sentence what a `Look` keeps of the answer. On a
cluster, the names of features come with the first result of a process that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hopefear.base.executor import Folder, Job, Resources
from hopefear.base.threads import in_order
from hopefear.base.weights import NamesToSend, Weights
from hopefear.decode.contract import Decoded, Request, Sentence, Tokens
from hopefear.decode.source import DecoderSource
from hopefear.learn.pool.look import Look

Numbered = tuple[int, Sentence | Tokens]  # number in the set, sentence


class Looked(NamedTuple):
    """A result, and the names of features that this process has not sent before."""

    result: Any
    names: bytes = b""


@dataclass
class DecodeJob(Job[Numbered, Looked]):
    """Decode sentences of a set; items are their numbers and sentences."""

    source: DecoderSource
    weights: Weights
    look: Look[Any]
    sparse: Literal["full", "collapsed"] = "full"
    named: bool = True
    spans: bool = False
    _function: Callable[[int, Decoded], Any] | None = field(default=None, init=False)
    _to_send: NamesToSend | None = field(default=None, init=False)  # in processes of a cluster

    def files(self) -> Iterable[Path | Folder]:
        return self.source.files()

    def open(self, resources: Resources) -> Callable[[Numbered], Looked]:
        return lambda item: next(self.run(resources, [item], 1))

    def run(
        self, resources: Resources, items: Iterable[Numbered], threads: int
    ) -> Iterator[Looked]:
        decoder = self.source.open(resources)
        if self._function is None:
            self._function = self.look.open(decoder.names)
            self._to_send = NamesToSend(decoder.names) if resources.remote else None
        function, to_send = self._function, self._to_send
        numbers: list[int] = []

        def requests() -> Iterator[Request]:
            for number, sentence in items:
                numbers.append(number)
                yield Request(
                    sentence, self.weights, sparse=self.sparse, named=self.named, spans=self.spans
                )

        def answers() -> Iterator[tuple[int, Decoded]]:
            for place, answer in enumerate(decoder.decode_all(requests(), threads=threads)):
                # The caller reports a decoder that gives too many answers.
                yield (numbers[place] if place < len(numbers) else -1), answer

        for result in in_order(lambda answer: function(*answer), answers(), threads):
            if to_send is None:
                yield Looked(result)
            else:
                names = to_send.lines(self.look.ids(result))
                yield Looked(self.look.pack(result), names)
