"""Decoders that serve a learner: decoding sentence by sentence with weights that change in between.
[eidelman2013]

    options = StreamOptions(command="cdec -c cdec.ini -w {weights} --mr_mira_compat -k {k} -r")
    with StreamDecoder(options, start) as decoder:
        forest = decoder.forest("das haus", weights)

The command runs in a shell, in the current directory, as long as the decoder is open, and uses Mr.
MIRA's protocol (`stream_wire.py`; thesis, 3.6). It has placeholders:

    {weights}   a file with the initial weights (also {}); if the command has neither, the process
                must start from the weights `start` by itself
    {k}         the size of its k-best lists

Each sentence is sent with the change of the weights since the previous sentence. Returns forests
with one node and one edge per entry. Several learners have a process each (`for_learner`), or take
turns. If a process ends, exceeds a limit of time or size, answers with malformed text, or has no
translation of any sentence, this is an `InputError` with its last line; if it lacks translations of
some sentences, this is a warning.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from hopefear._engine import Forest
from hopefear.base.config import Size, option
from hopefear.base.errors import InputError
from hopefear.base.temporary import temporary_directory
from hopefear.base.threads import in_order
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Request, Sentence
from hopefear.decode.remote.peer import Deadline, Peer
from hopefear.decode.remote.process import WeightsFormat, fill, placeholders, write_weights
from hopefear.decode.remote.stream_wire import (
    LONGEST_ENTRY,
    MOST_ENTRIES,
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
_TOLERANCE = 1e-3  # of scores, which are written with few digits


@dataclass(kw_only=True)
class StreamOptions:
    """How to start a decoder that serves a learner, and how long to wait for it."""

    command: str = option(help="command line with {weights} and {k}")
    k: int = option(500, min=1, max=MOST_ENTRIES, help="value of {k}, the size of a k-best list")
    processes: int = option(
        0, min=0, max=1000, help="number of processes, shared by the learners; 0: one per learner"
    )
    weights_format: WeightsFormat = option(
        "tab", help="separator of name and value in {weights}; cdec needs blank"
    )
    timeout: float = option(600, min=0, help="seconds to wait for an answer; 0: unlimited")
    start_timeout: float = option(
        1800,
        min=0,
        help="seconds to wait for the first answer, loading of models included; 0: unlimited",
    )
    max_answer: Size = option(
        Size(1 << 30), help="largest answer to a sentence, such as 1G; 0: unlimited"
    )

    def __post_init__(self) -> None:
        self.used = placeholders(self.command, ("weights", "", "k"))


class SharedState:
    """The state that all processes of a decoder share."""

    def __init__(self, options: StreamOptions, start: Weights, warn: Warn) -> None:
        self.options, self.start = options, start
        self.names = FeatureNames()
        # The first error of any process: the other processes stop and raise it, too.
        self.failure: InputError | None = None
        self._warn, self._warned = warn, set[str]()

    def warn_once(self, kind: str, text: str) -> None:
        """Issue a warning unless there was one of this kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(f"decoder {self.options.command!r}: {text}")

    def warn_missing(self, missing: MissingTranslations) -> None:
        """Issue a warning if there are missing translations."""
        if missing.ids:
            self.warn_once(
                "missing",
                f"gave no translation of {len(missing.ids):,} of {missing.sentences:,} sentences "
                f"(first: {missing.ids[0]}); they count as empty, and nothing is learned from "
                "them",
            )


class MissingTranslations:
    """The number of decoded sentences, and the ids of those without a translation."""

    def __init__(self) -> None:
        self.sentences, self.ids = 0, list[str]()

    def count(self, forest: Forest) -> None:
        """Count the forest of a sentence."""
        self.sentences += 1
        if not forest.edges:
            self.ids.append(forest.id)


class Stream(Decoder):
    """A decoder over one process. Threads take turns."""

    options_class = StreamOptions
    can = frozenset({"grammar"})

    def __init__(self, shared: SharedState) -> None:
        self.title = f"decoder {shared.options.command!r}"
        self.options, self.names, self._shared = shared.options, shared.names, shared
        self.vocabulary = Vocabulary()
        self._lock = threading.Lock()
        self._peer: Peer | None = None
        self._files = ExitStack()  # the directory of temporary files
        self._requests = 0

    @property
    def dense(self) -> list[str]:
        """Empty: the features are not known before the first answer."""
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
        """Yield the answers one after the other, regardless of `threads`."""
        missing = MissingTranslations()
        for decoded in super().decode_all(requests):
            missing.count(decoded.forest)
            yield decoded
        self._shared.warn_missing(missing)

    def no_translation(self, sentences: int) -> InputError:
        """Return the error for a decoder that translated none of `sentences` sentences."""
        event = f"gave no translation at all, of {sentences:,} sentences"
        if self._peer is None:
            return InputError(f"decoder {self.options.command!r} {event}")
        return self._peer.error(event)

    def close(self, *, at_once: bool = False) -> None:
        """End the process; `at_once`: kill it without waiting for its end."""
        if self._peer is not None:
            self._peer.close(**({"grace": 0.0} if at_once else {}))
        self._files.close()

    # -- internal --

    def _exchange(self, sentence: Sentence, id: str, weights: Weights) -> Forest:
        """Send a sentence and return the forest of the answer."""
        deadline = Deadline(self.options.timeout if self._requests else self.options.start_timeout)
        peer = self._peer or self._start(weights)
        grammar = None if sentence.grammar is None else str(sentence.grammar)
        delta = encode(self._sent.change(weights, self.names))
        peer.send(request_line(sentence.words, id=id, grammar=grammar, delta=delta), deadline)
        self._requests += 1
        return self._forest(peer, id, weights, deadline)

    def _start(self, weights: Weights) -> Peer:
        command = self.options.command
        self._sent = SentWeights(self._shared.start)
        directory = None
        if self.options.used & {"weights", ""}:
            directory = self._files.enter_context(temporary_directory("hopefear."))
            path = directory / "weights"
            write_weights(path, weights, self.options.weights_format)
            self._sent = SentWeights(weights)
            command = fill(command, {"weights": path, "": path, "k": self.options.k})
        else:
            command = fill(command, {"k": self.options.k})
        name = f"decoder {self.options.command!r}"
        limit = self.options.max_answer
        self._peer = Peer(command, name, LONGEST_ENTRY, max_answer=limit, directory=directory)
        return self._peer

    def _id(self, sentence: Sentence) -> str:
        id = sentence.id or str(self._requests)
        if not _ID.fullmatch(id):
            raise InputError(
                f"sentence id {id!r}: cannot be sent to a decoder; give one without blanks and |"
            )
        return id

    def _forest(self, peer: Peer, id: str, weights: Weights, deadline: Deadline) -> Forest:
        """Read a k-best list and return it as a forest."""
        builder = ForestBuilder(vocabulary=self.vocabulary, names=self.names)
        node = builder.node()
        line = peer.line(deadline)
        try:
            size = read_count(line)
        except ValueError as error:
            raise peer.malformed(f"sentence {id}: {error}") from None
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
                raise peer.malformed(f"{place}: {error}") from None
        return builder.finish(node, id=id)

    def _features(self, entry: Entry, weights: Weights, *, first: bool) -> dict[str, float]:
        """Return the features of an entry, with its last value restored if it was truncated.

        Warn if names or score of the `first` entry do not match the weights.
        """
        values, cut = entry.features
        if cut is None and not first:
            return values
        score = math.fsum(weights[name] * value for name, value in values.items())
        if values and weights.active and not any(weights[name] for name in values):
            examples = ", ".join(repr(name[:40]) for name in list(values)[:3])
            self._shared.warn_once(
                "names",
                f"none of its features ({examples} …) has a weight; are the names in --weights "
                "those of this decoder?",
            )
        if cut is None:
            if not _close(score, entry.score):
                self._shared.warn_once(
                    "score",
                    f"gives an entry the score {entry.score:g}, but its features and the weights "
                    f"give {score:g}; does it start from these weights? Write {{weights}} where it "
                    "takes them",
                )
            return values
        value = restore(cut, weights[cut.name], score, entry.score)
        self._shared.warn_once(
            "cut",
            "truncates the last byte of some vectors, as cdec does; their last value is restored "
            "from the score, or left out if the score does not determine it",
        )
        return values if value is None else {**values, cut.name: value}


class SentWeights:
    """The weights that a process has: its initial weights plus all changes sent to it.

    They are doubles, summed as the process sums them, so that rounding errors do not accumulate;
    unless a weight changes by a factor of millions, the process has its float exactly. A change
    takes time linear in the number of weights.
    """

    def __init__(self, weights: Weights) -> None:
        vector = weights.vector()
        self.ids, self.values = vector.ids.copy(), vector.values.astype(np.float64)

    def change(self, weights: Weights, names: FeatureNames) -> list[tuple[str, float]]:
        """Return the changes that turn the sent weights into `weights`, and count them as sent."""
        vector = weights.vector()
        ids, values = vector.ids, vector.values.astype(np.float64)
        if not np.array_equal(ids, self.ids):
            union = np.union1d(ids, self.ids)
            self.values, values = _expand(self.ids, self.values, union), _expand(ids, values, union)
            self.ids = union
        change = values - self.values
        if not np.isfinite(change).all():
            raise InputError("weights are no longer finite; take smaller steps (C, eta)")
        changed = np.flatnonzero(change)
        self.values[changed] += change[changed]
        pairs = zip(self.ids[changed].tolist(), change[changed].tolist(), strict=True)
        return [(names.name(id) or weights.name(id), value) for id, value in pairs]


class StreamDecoder(Decoder):
    """A decoder over one or several processes; see the module."""

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
        """`start`: the initial weights of a process whose command has no {weights}; `learners`: the
        number of processes unless `options.processes` is set; `warn`: called with each warning.
        """
        self.options = options
        self._shared = SharedState(options, start, warn)
        self.names = self._shared.names
        self.streams = [Stream(self._shared) for _ in range(options.processes or learners)]
        self.title = self.streams[0].title

    @property
    def dense(self) -> list[str]:
        """Empty: the features are not known before the first answer."""
        return []

    def for_learner(self, number: int) -> Stream:
        return self.streams[number % len(self.streams)]

    def answer(self, request: Request) -> Decoded:
        return self.streams[0].decode(request)

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """Yield the answers of up to `threads` processes at once, in the order of the requests.

        Raise an `InputError` if no sentence has a translation.
        """
        streams = self.streams[: max(1, threads)]

        def answer(numbered: tuple[int, Request]) -> Decoded:
            number, request = numbered
            return streams[number % len(streams)].decode(request)

        missing = MissingTranslations()
        for decoded in in_order(answer, enumerate(requests), len(streams)):
            missing.count(decoded.forest)
            yield decoded
        if missing.sentences and len(missing.ids) == missing.sentences:
            raise streams[0].no_translation(missing.sentences)
        self._shared.warn_missing(missing)

    def close(self, *, at_once: bool = False) -> None:
        """End the processes; `at_once`: kill them without waiting for their end."""
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


def restore(cut: Cut, weight: float, rest: float, score: float) -> float | None:
    """Return the largest candidate for a truncated value that fits the score, or None.

    `rest` is the score of the other features. The candidates are far apart, so that a score with
    few digits suffices.
    """
    for value in reversed(cut.candidates):
        if weight and _close(rest + weight * value, score):
            return value
    return None


def _close(value: float, expected: float) -> bool:
    return abs(value - expected) <= _TOLERANCE * max(1.0, abs(expected))


def _expand(
    ids: NDArray[np.uint64], values: NDArray[np.float64], all_ids: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return the values for all ids, 0 for those not in `ids`."""
    expanded = np.zeros(len(all_ids))
    expanded[np.searchsorted(all_ids, ids)] = values
    return expanded
