"""Any decoder that serves a learner: sentence by sentence, with weights that change between them.
[eidelman2013]

    options = StreamOptions(command="cdec -c cdec.ini -w {weights} --mr_mira_compat -k {k} -r")
    with StreamDecoder(options, start) as decoder:
        forest = decoder.forest("das haus", weights)

The command runs in a shell, in the current directory, for as long as the decoder is open, and
speaks Mr. MIRA's protocol (`stream_wire.py`; thesis, 3.6). In it stand

    {weights}   a file with the weights that it starts from (also {}); a process of which the
                command has none of these must start from `start` by itself
    {k}         how long its lists should be

With each sentence goes the change of the weights since the sentence before. Out come forests with
one node and one edge per entry. Several learners have a process each (`for_learner`), or take
turns. A decoder that dies, is too late, answers nonsense, or has no translation of anything is an
`InputError` with its last line; one that has none of some sentences is a warning.
"""

from __future__ import annotations

import math
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest
from hopefear.base.config import option
from hopefear.base.errors import InputError
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Request, Sentence
from hopefear.decode.remote.peer import Deadline, Peer
from hopefear.decode.remote.process import WeightsFormat, filled, placeholders, write_weights
from hopefear.decode.remote.stream_wire import (
    LONGEST_ENTRY,
    Cut,
    Entry,
    encode,
    read_count,
    read_entry,
    request_line,
)
from hopefear.forest.forest import ForestBuilder, Vocabulary

Warn = Callable[[str], None]
_ID = re.compile(r"[^\s|]+")
_NEAR = 1e-3  # scores are written with few digits


@dataclass(kw_only=True)
class StreamOptions:
    """How to start a decoder that serves a learner, and how long to wait for it."""

    command: str = option(help="command line with {weights} and {k}")
    k: int = option(500, min=1, help="the number that {k} stands for")
    processes: int = option(
        0, min=0, max=1000, help="processes that run; 0: one for each learner; 1: all take turns"
    )
    weights_format: WeightsFormat = option(
        "tab", help="what separates name and value in {weights}; cdec wants a blank"
    )
    timeout: float = option(600, min=0, help="seconds that an answer may take; 0: any time")
    start_timeout: float = option(
        1800, min=0, help="seconds until the first answer, models to be loaded; 0: any time"
    )

    def __post_init__(self) -> None:
        self.used = placeholders(self.command, ("weights", "", "k"))


class Shared:
    """What all processes of a decoder have in common."""

    def __init__(self, options: StreamOptions, start: Weights, warn: Warn) -> None:
        self.options, self.start = options, start
        self.names = FeatureNames()
        # Of the first that failed: the others stop, too, and all say why.
        self.failure: InputError | None = None
        self._warn, self._said = warn, set[str]()

    def warn_once(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._warn(f"decoder {self.options.command!r}: {text}")

    def warn_missing(self, missing: Missing) -> None:
        if missing.ids:
            self.warn_once(
                "missing",
                f"gave no translation of {len(missing.ids):,} of {missing.asked:,} sentences "
                f"(first: {missing.ids[0]}); they count as empty, and nothing is learned from "
                "them",
            )


class Missing:
    """The sentences of which a decoder has no translation."""

    def __init__(self) -> None:
        self.asked, self.ids = 0, list[str]()

    def look(self, forest: Forest) -> None:
        self.asked += 1
        if not forest.edges:
            self.ids.append(forest.id)


class Stream(Decoder):
    """One process. Threads take turns."""

    options_class = StreamOptions
    can = frozenset({"grammar"})

    def __init__(self, shared: Shared) -> None:
        self.title = f"decoder {shared.options.command!r}"
        self.options, self.names, self._shared = shared.options, shared.names, shared
        self.vocabulary = Vocabulary()
        self._lock = threading.Lock()
        self._peer: Peer | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._asked = 0

    @property
    def dense(self) -> list[str]:
        """None is known before it answers."""
        return []

    def answer(self, request: Request) -> Decoded:
        sentence = Sentence.of(request.sentence)
        with self._lock:
            if self._shared.failure is not None:
                raise self._shared.failure
            try:
                return Decoded(self._exchange(sentence, self._id(sentence), request.weights))
            except InputError as error:
                self._shared.failure = error
                raise

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """One after the other, whatever the threads."""
        missing = Missing()
        for decoded in super().decode_all(requests):
            missing.look(decoded.forest)
            yield decoded
        self._shared.warn_missing(missing)

    def none_at_all(self, sentences: int) -> InputError:
        """It was asked so often, and has no translation of anything."""
        what = f"gave no translation at all, of {sentences:,} sentences"
        if self._peer is None:
            return InputError(f"decoder {self.options.command!r} {what}")
        return self._peer.error(what)

    def close(self, *, at_once: bool = False) -> None:
        """End the process; `at_once` without waiting for it to end by itself."""
        if self._peer is not None:
            self._peer.close(**({"grace": 0.0} if at_once else {}))
        if self._folder is not None:
            self._folder.cleanup()

    # -- inside --

    def _exchange(self, sentence: Sentence, id: str, weights: Weights) -> Forest:
        deadline = Deadline(self.options.timeout if self._asked else self.options.start_timeout)
        peer = self._peer or self._begin(weights)
        grammar = None if sentence.grammar is None else str(sentence.grammar)
        delta = encode(self._sent.change(weights, self.names))
        peer.send(request_line(sentence.words, id=id, grammar=grammar, delta=delta), deadline)
        self._asked += 1
        return self._forest(peer, id, weights, deadline)

    def _begin(self, weights: Weights) -> Peer:
        command = self.options.command
        self._sent = SentWeights(self._shared.start)
        if self.options.used & {"weights", ""}:
            self._folder = tempfile.TemporaryDirectory(prefix="hopefear.")
            path = Path(self._folder.name) / "weights"
            write_weights(path, weights, self.options.weights_format)
            self._sent = SentWeights(weights)
            command = filled(command, {"weights": path, "": path, "k": self.options.k})
        else:
            command = filled(command, {"k": self.options.k})
        self._peer = Peer(command, f"decoder {self.options.command!r}", LONGEST_ENTRY)
        return self._peer

    def _id(self, sentence: Sentence) -> str:
        id = sentence.id or str(self._asked)
        if not _ID.fullmatch(id):
            raise InputError(
                f"sentence id {id!r}: cannot be told to a decoder; give one without blanks and |"
            )
        return id

    def _forest(self, peer: Peer, id: str, weights: Weights, deadline: Deadline) -> Forest:
        builder = ForestBuilder(vocabulary=self.vocabulary, names=self.names)
        node = builder.node()
        line = peer.line(deadline)
        try:
            size = read_count(line)
        except ValueError as error:
            raise peer.nonsense(f"sentence {id}: {error}") from None
        for number in range(1, size + 1):
            line = peer.line(deadline)
            if not line.strip():
                continue
            try:
                entry = read_entry(line)
                if entry.id != id:
                    raise ValueError(f"the id is {entry.id[:40]!r}, expected {id!r}")
                features = self._features(entry, weights, first=number == 1)
                builder.edge(node, (), entry.words, row=builder.row(features, share=False))
            except (ValueError, InputError) as error:
                place = f"sentence {id}, entry {number} of {size}"
                raise peer.nonsense(f"{place}: {error}") from None
        return builder.finish(node, id=id)

    def _features(self, entry: Entry, weights: Weights, *, first: bool) -> dict[str, float]:
        """The entry's vector, made whole if its last value was cut."""
        values, cut = entry.features
        if cut is None and not first:
            return values
        found = math.fsum(weights[name] * value for name, value in values.items())
        if values and weights.active and not any(weights[name] for name in values):
            some = ", ".join(repr(name[:40]) for name in list(values)[:3])
            self._shared.warn_once(
                "names",
                f"none of its features ({some} …) has a weight, and what has one is not among "
                "them; are the names in --weights those of this decoder?",
            )
        if cut is None:
            if not _near(found, entry.score):
                self._shared.warn_once(
                    "score",
                    f"scores {entry.score:g} what its features and the weights score {found:g}; "
                    "are these the weights it starts from? Write {weights} where it takes them",
                )
            return values
        whole = restored(cut, weights[cut.name], found, entry.score)
        self._shared.warn_once(
            "cut",
            "cuts the last byte of some vectors, which cdec does; the last value is restored from "
            "the score, or left out if that says nothing about it",
        )
        return values if whole is None else {**values, cut.name: whole}


class SentWeights:
    """The weights that a process has: those of its start, and all changes since.

    In doubles, added up as the other side does it, so that no error of rounding grows; if a weight
    does not jump by a factor of millions, its float is there to the last bit. A change takes time
    linear in the number of weights.
    """

    def __init__(self, weights: Weights) -> None:
        vector = weights.vector()
        self.ids, self.values = vector.ids.copy(), vector.values.astype(np.float64)

    def change(self, weights: Weights, names: FeatureNames) -> list[tuple[str, float]]:
        """What has to be told for the process to have these; it has them from now on."""
        vector = weights.vector()
        ids, wanted = vector.ids, vector.values.astype(np.float64)
        if not np.array_equal(ids, self.ids):
            every = np.union1d(ids, self.ids)
            self.values, wanted = _at(self.ids, self.values, every), _at(ids, wanted, every)
            self.ids = every
        change = wanted - self.values
        if not np.isfinite(change).all():
            raise InputError("weights are not finite any more; take smaller steps (C, eta)")
        moved = np.flatnonzero(change)
        self.values[moved] += change[moved]
        pairs = zip(self.ids[moved].tolist(), change[moved].tolist(), strict=True)
        return [(names.name(id) or weights.name(id), value) for id, value in pairs]


class StreamDecoder(Decoder):
    """One or several processes."""

    options_class = StreamOptions
    can = Stream.can

    def __init__(
        self,
        options: StreamOptions,
        start: Weights,
        *,
        learners: int = 1,
        warn: Warn = lambda text: None,
    ) -> None:
        """`start`: what a process starts from if it is not told; `learners` have a process each,
        unless the options say another number.
        """
        self.options = options
        self._shared = Shared(options, start, warn)
        self.names = self._shared.names
        self.streams = [Stream(self._shared) for _ in range(options.processes or learners)]
        self.title = self.streams[0].title

    @property
    def dense(self) -> list[str]:
        """None is known before it answers."""
        return []

    def for_learner(self, number: int) -> Stream:
        return self.streams[number % len(self.streams)]

    def answer(self, request: Request) -> Decoded:
        return self.streams[0].decode(request)

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """As many at once as there are processes; if none has a translation, nothing works."""
        many = self.streams[: max(1, threads)]

        def answer(numbered: tuple[int, Request]) -> Decoded:
            number, request = numbered
            return many[number % len(many)].decode(request)

        missing = Missing()
        for decoded in in_order(answer, enumerate(requests), len(many)):
            missing.look(decoded.forest)
            yield decoded
        if missing.asked and len(missing.ids) == missing.asked:
            raise many[0].none_at_all(missing.asked)
        self._shared.warn_missing(missing)

    def close(self, *, at_once: bool = False) -> None:
        """End the processes."""
        for stream in self.streams:
            stream.close(at_once=at_once)

    def __enter__(self) -> StreamDecoder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close(at_once=error is not None)


def restored(cut: Cut, weight: float, rest: float, score: float) -> float | None:
    """The value that was cut, if the score says which of the candidates it was.

    They are so far apart that a score with a few digits tells; the largest of those that fit.
    """
    for value in reversed(cut.candidates):
        if weight and _near(rest + weight * value, score):
            return value
    return None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(1.0, abs(other))


def _at(
    ids: NDArray[np.uint64], values: NDArray[np.float64], every: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Values for more ids, 0 for the new ones."""
    found = np.zeros(len(every))
    found[np.searchsorted(every, ids)] = values
    return found
