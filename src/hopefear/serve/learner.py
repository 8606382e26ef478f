"""A decoder that serves k-best lists to an external learner.

Takes lines with a sentence and a change of the weights, and returns a k-best list with features for
each.

    server = LearnerServer(translator, k=100, distinct=True)
    for line in lines:
        print(server.answer(line, place), end="", flush=True)

The lines follow Mr. MIRA's protocol (`decode/remote/stream_wire.py`); input and output are
tokenised. [eidelman2013]
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

_LARGEST = 3.4e38  # the largest weight, which has single precision


class LearnerServer:
    """A translator whose weights an external learner changes. Not thread-safe."""

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
        self._exact: dict[str, float] = {}  # changed weights in double precision
        self._warn, self._warned = warn, False
        self._sentences = 0

    def answer(self, line: str, place: str) -> str:
        """Take a line of the learner and return the answer; `InputError` if it is malformed."""
        try:
            request = read_request(line, place)
            if request.delta is not None:
                self._change(request.delta, place)
        except ValueError as error:
            raise InputError(f"{place}: delta: {error}; check the learner's output") from None
        words = tuple(split_words(request.words))
        sentence = Sentence(words, str(self._sentences) if request.id is None else request.id)
        self._sentences += 1
        if "|||" in sentence.id or not sentence.id.isprintable():
            raise InputError(
                f"{place}: id {sentence.id[:40]!r} is not valid; give an id without ||| and "
                "control characters"
            )
        if request.grammar is not None:
            sentence = self._with_grammar(sentence, request.grammar, place)
        self.translator.check(sentence, place)
        entries = self._entries(sentence, place) if words else []
        if not entries:
            return "0\n"
        # The protocol requires exactly k lines.
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
                f"{place}: the last byte of the delta is missing, as in the output of kbest_mira; "
                f"the change of {delta.cut.name!r} is ignored, and so are incomplete changes in "
                "later lines"
            )

    def _with_grammar(self, sentence: Sentence, name: str, place: str) -> Sentence:
        if not self.translator.model.rule_system.can("grammar"):
            raise InputError(
                f"{place}: grammar {name!r}: a {self.translator.model.system} model does not "
                "accept a grammar; remove the attribute from the learner's input"
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
            self._warn(f"{place}: {error}; this sentence is skipped")  # for instance, too long
            return []
        note = decoder.note(sentence)
        if note:
            self._warn(f"{place}: {note}")
        return [
            entry_line(
                sentence.id,
                len(sentence.words),
                derivation.words,
                named_features(derivation, decoder.names),
                derivation.score,
            )
            for derivation in kbest(forest, self.weights, self.k, distinct=self.distinct)
        ]


def requests(file: BinaryIO, name: str) -> Iterator[tuple[str, str]]:
    """The lines of a file and their places, each read only when it is requested."""
    number = 0
    while line := file.readline(LONGEST_REQUEST):
        number += 1
        place = f"{name}:{number}"
        if len(line) == LONGEST_REQUEST:
            raise InputError(
                f"{place}: a line of more than {LONGEST_REQUEST:,} bytes, expected a sentence; "
                "check the learner's output"
            )
        try:
            yield line.decode("utf-8"), place
        except UnicodeDecodeError as error:
            raise InputError(
                f"{place}: byte 0x{line[error.start]:02x} at column {error.start + 1} is not "
                "UTF-8; check the learner's output"
            ) from None
