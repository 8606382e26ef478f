"""A decoder that serves a learner: a sentence and new weights in, a k-best list out.

    server = LearnerServer(translator, k=100, distinct=True)
    for line in lines:
        print(server.answer(line, place), end="", flush=True)

The lines are those of Mr. MIRA's protocol (`decode/remote/stream_wire.py`), words are taken and
given as they are. [eidelman2013]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import BinaryIO

from hopefear.base.errors import InputError
from hopefear.decode.contract import Sentence
from hopefear.decode.markup import find_grammar
from hopefear.decode.remote.stream_wire import LONGEST_REQUEST, Vector, entry_line, read_request
from hopefear.forest import kbest
from hopefear.forest.io.nbest_text import named_features
from hopefear.model.translate import Translator
from hopefear.text.tokenizers.plain import split_words

_LARGEST = 3.4e38  # weights have single precision


class LearnerServer:
    """A translator whose weights a learner changes. One thread uses it."""

    def __init__(
        self,
        translator: Translator,
        *,
        k: int,
        distinct: bool = False,
        warn: Callable[[str], None] = warnings.warn,
    ) -> None:
        self.translator, self.k, self.distinct = translator, k, distinct
        self.weights = translator.weights.copy()
        self._exact: dict[str, float] = {}  # weights that changed, before rounding
        self._warn, self._warned = warn, False
        self._asked = 0

    def answer(self, line: str, place: str) -> str:
        """The lines that answer a line; `InputError` if it is none of the protocol."""
        try:
            request = read_request(line, place)
            if request.delta is not None:
                self._change(request.delta, place)
        except ValueError as error:
            raise InputError(f"{place}: delta: {error}; check what the learner wrote") from None
        words = tuple(split_words(request.words))
        sentence = Sentence(words, str(self._asked) if request.id is None else request.id)
        self._asked += 1
        if "|||" in sentence.id or not sentence.id.isprintable():
            raise InputError(
                f"{place}: id {sentence.id[:40]!r} cannot stand in an answer; give one without "
                "||| and ends of lines"
            )
        if request.grammar is not None:
            sentence = self._with_grammar(sentence, request.grammar, place)
        self.translator.check(sentence, place)
        entries = self._entries(sentence, place) if words else []
        if not entries:
            return "0\n"
        # As many lines as were asked for, always.
        return (
            f"{self.k}\n"
            + "".join(f"{entry}\n" for entry in entries)
            + "\n" * (self.k - len(entries))
        )

    def _change(self, delta: Vector, place: str) -> None:
        for name, value in delta.values.items():
            exact = self._exact.get(name)
            self._exact[name] = (self.weights[name] if exact is None else exact) + value
            if abs(self._exact[name]) > _LARGEST:
                raise ValueError(
                    f"makes the weight of {name[:40]!r} {self._exact[name]:g}, expected at most "
                    f"{_LARGEST:g}"
                )
            self.weights[name] = self._exact[name]
        if delta.cut is not None and not self._warned:
            self._warned = True
            self._warn(
                f"{place}: the last byte of the delta is cut, as kbest_mira does it; the change of "
                f"{delta.cut.name!r} is left out, and those of later lines likewise"
            )

    def _with_grammar(self, sentence: Sentence, name: str, place: str) -> Sentence:
        if not self.translator.model.rule_system.can("grammar"):
            raise InputError(
                f"{place}: grammar {name!r}: a {self.translator.model.system} model takes none; "
                "leave the attribute out of the learner's input"
            )
        path = find_grammar(name, self.translator.folders, place)
        return Sentence(sentence.words, sentence.id, path)

    def _entries(self, sentence: Sentence, place: str) -> list[str]:
        decoder = self.translator.decoder
        try:
            forest = decoder.forest(sentence, self.weights)
        except InputError as error:
            if sentence.grammar is not None:
                raise InputError(f"{place}: {error}") from None
            self._warn(f"{place}: {error}; this sentence is skipped")  # too long, for instance
            return []
        note = decoder.note(sentence)
        if note:
            self._warn(f"{place}: {note}")
        return [
            entry_line(
                sentence.id,
                len(sentence.words),
                found.words,
                named_features(found, decoder.names),
                found.score,
            )
            for found in kbest(forest, self.weights, self.k, distinct=self.distinct)
        ]


def requests(file: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    """The lines of a file as they come, and their places; none is waited for before its turn."""
    number = 0
    while line := file.readline(LONGEST_REQUEST):
        number += 1
        place = f"{name}:{number}"
        if len(line) == LONGEST_REQUEST:
            raise InputError(f"{place}: a line of more than {LONGEST_REQUEST:,} bytes, expected a "
                             "sentence; check what the learner wrote")  # fmt: skip
        try:
            yield line.decode("utf-8"), place
        except UnicodeDecodeError as error:
            raise InputError(
                f"{place}: byte 0x{line[error.start]:02x} at column {error.start + 1} is not "
                "UTF-8; check what the learner wrote"
            ) from None
