"""Decoding with any command that takes weights and sentences and writes an n-best list.

    options = ExternalOptions(command="moses -f {config} -i {input} -n-best-list {nbest} {k}",
                              config=Path("moses.ini"))
    forests = ExternalDecoder(options).forests(sentences, weights)

The command runs in a shell, once for all sentences of a call, in the current directory. It has
placeholders:

    {weights}   a file with all weights, `name<TAB>value` lines (weights_format: or a blank)
    {config}    a copy of a moses.ini (option `config`) with the new weights (moses_ini.py)
    {input}     a file with one sentence per line; without it, standard input has the sentences
    {nbest}     the file to write; without it, the list is read from standard output
    {k}         the option `k`
    {threads}   the number of threads

Returns forests with one node and one edge per entry, in the order of the sentences; features have
the names that `forest.io.nbest` gives them. If the command fails, writes nothing for `timeout`
seconds, exceeds `max_seconds` or `max_output`, or writes a malformed list, this is an `InputError`
with its last line.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopefear._engine import Forest, poll_interrupt
from hopefear.base.config import Size, option
from hopefear.base.errors import InputError, OptionError
from hopefear.base.temporary import temporary_directory
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import Decoded, Decoder, Request, Sentence
from hopefear.decode.remote.moses_ini import MosesIni
from hopefear.decode.remote.process import (
    DecoderProcess,
    WeightsFormat,
    describe_exit,
    fill,
    last_line,
    placeholders,
    write_weights,
)
from hopefear.forest.forest import ForestBuilder, Vocabulary
from hopefear.forest.io.nbest import Format, id_number, read_nbest

PLACEHOLDERS = ("weights", "config", "input", "nbest", "k", "threads")
_POLL_INTERVAL = 0.2  # seconds between checks of the sizes of the files that a decoder writes


@dataclass(kw_only=True)
class ExternalOptions:
    """How to call an external decoder."""

    command: str = option(
        help="command line with {weights} or {config}, and {input}, {nbest}, {k}, {threads}"
    )
    format: Format = option("moses", help="format of the n-best list")
    k: int = option(100, min=1, max=1_000_000, help="value of {k}, the size of an n-best list")
    config: Path | None = option(
        None, help="moses.ini whose copy with the current weights is {config}"
    )
    weights_format: WeightsFormat = option(
        "tab", help="separator of name and value in {weights}; cdec and Moses need blank"
    )
    timeout: float = option(
        1800, min=0, help="seconds without output after which the decoder is stopped; 0: never"
    )
    max_seconds: float = option(
        86400, min=0, help="seconds after which a run of the decoder is stopped; 0: unlimited"
    )
    max_output: Size = option(
        Size(4 << 30), help="largest output of a run, such as 4G; 0: unlimited"
    )
    allow_missing: bool = option(False, help="accept that some sentences have no translation")

    def __post_init__(self) -> None:
        used = placeholders(self.command, PLACEHOLDERS)
        if not used & {"weights", "config"}:
            raise OptionError(
                f"decoder {self.command!r}: the command has neither {{weights}} nor {{config}}; "
                "write one of them where the decoder takes its weights"
            )
        if "config" in used and self.config is None:
            raise OptionError(
                f"decoder {self.command!r}: {{config}} needs the moses.ini to copy; give it as "
                "config"
            )
        if "config" not in used and self.config is not None:
            raise OptionError(
                f"decoder {self.command!r}: config {str(self.config)!r} is given, but {{config}} "
                "is not in the command; write {config} where the decoder takes its moses.ini"
            )


class ExternalDecoder(Decoder):
    """A decoder that runs a command for each batch of sentences; see the module."""

    options_class = ExternalOptions
    can = frozenset({"grammar"})

    def __init__(self, options: ExternalOptions) -> None:
        self.options = options
        self.title = f"decoder {options.command!r}"
        self.names = FeatureNames()
        self.vocabulary = Vocabulary()
        self._ini = MosesIni.read(options.config) if options.config is not None else None

    @property
    def dense(self) -> list[str]:
        """The features in the moses.ini; empty without one."""
        return [] if self._ini is None else list(self._ini.weights)

    def start_weights(self) -> Weights:
        """Return the weights of the moses.ini; none without one."""
        return Weights({} if self._ini is None else self._ini.weights, names=self.names)

    def write_config(self, directory: Path, weights: Weights) -> Path | None:
        """Write a copy of the moses.ini with these weights; None without one.

        Sparse weights, if there are any, are written to `sparse-weights` beside it.
        """
        if self._ini is None:
            return None
        path = directory / "moses.ini"
        self._ini.write(path, weights, sparse=directory / "sparse-weights")
        return path

    def answer(self, request: Request) -> Decoded:
        return next(self.decode_all([request]))

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """Answer all requests, which must share their weights, in one run of the command."""
        requests = list(requests)
        if not requests:
            return
        weights = requests[0].weights
        for request in requests:
            self.check(request)
            if request.weights is not weights:
                raise ValueError("one run of a decoder has one set of weights")
        lines = [self._line(i, Sentence.of(request.sentence)) for i, request in enumerate(requests)]
        with temporary_directory("hopefear.") as folder:
            call = _Call(self.options, folder)
            call.write(lines, weights, self._ini, threads)
            call.run()
            yield from map(Decoded, self._forests(call, len(lines)))

    def _line(self, number: int, sentence: Sentence) -> str:
        text = " ".join(sentence.words)
        if sentence.grammar is None:
            return text
        return f'<seg grammar="{sentence.grammar}" id="{number}">{text}</seg>'  # cdec's format

    def _forests(self, call: _Call, count: int) -> list[Forest]:
        """Read the n-best lists of a call; return a forest for each of `count` sentences."""
        forests: dict[int, Forest] = {}
        try:
            lists = read_nbest(
                call.answer, self.options.format, vocabulary=self.vocabulary, names=self.names
            )
            for entry in lists:
                number = id_number(entry.id)
                if number is None or number >= count:
                    raise InputError(
                        f"a list has the id {entry.id[:40]!r}, expected numbers from 0 to "
                        f"{count - 1}"
                    )
                if number in forests:
                    raise InputError(
                        f"sentence {number} has two lists, expected its entries together"
                    )
                forests[number] = entry.forest
        except (InputError, UnicodeDecodeError) as error:
            reason = str(error).replace(str(call.answer), "n-best list")
            raise call.error(f"gave a malformed answer: {reason}") from None
        missing = [number for number in range(count) if number not in forests]
        if len(missing) == count:
            raise call.error("gave no translation at all")
        if missing and not self.options.allow_missing:
            raise call.error(
                f"gave no translation of {len(missing)} of {count} sentences (first: number "
                f"{missing[0]}); set allow_missing to accept this"
            )
        return [
            forests[number] if number in forests else self._empty(number) for number in range(count)
        ]

    def _empty(self, number: int) -> Forest:
        builder = ForestBuilder(vocabulary=self.vocabulary, names=self.names)
        return builder.finish(builder.node(), id=str(number))


class _Call:
    """One run of a command, with its input and output files."""

    def __init__(self, options: ExternalOptions, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.input, self.nbest = folder / "input", folder / "nbest"
        self.output, self.errors = folder / "output", folder / "errors"
        self.to_file = "{nbest}" in options.command
        self.from_stdin = "{input}" not in options.command
        self.command = options.command

    @property
    def answer(self) -> Path:
        """The file with the n-best lists."""
        return self.nbest if self.to_file else self.output

    def write(
        self, lines: Sequence[str], weights: Weights, ini: MosesIni | None, threads: int
    ) -> None:
        """Write the input files and fill their names into the command."""
        self.input.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        path = self.folder / "weights"
        write_weights(path, weights, self.options.weights_format)
        config = self.folder / "moses.ini"
        if ini is not None:
            ini.write(config, weights, sparse=self.folder / "sparse-weights")
        values = {
            "weights": path,
            "config": config,
            "input": self.input,
            "nbest": self.nbest,
            "k": self.options.k,
            "threads": threads,
        }
        self.command = fill(self.options.command, values)

    def run(self) -> None:
        """Run the command; kill it with its children if it hangs or on an interrupt."""
        with (
            self.input.open("rb") if self.from_stdin else open(os.devnull, "rb") as stdin,  # noqa: PTH123
            self.output.open("wb") as stdout,
            self.errors.open("wb") as stderr,
        ):
            process = DecoderProcess(
                self.command, self.folder, stdin=stdin, stdout=stdout, stderr=stderr
            )
            try:
                self._watch(process)
            finally:
                process.stop()
        if process.returncode:
            raise self.error(describe_exit(process.returncode))
        if not self.answer.is_file():
            raise self.error("wrote no file {nbest}")

    def _watch(self, process: DecoderProcess) -> None:
        """Wait for the process; raise an error if it is silent, or writes or runs, for too long."""
        options, start = self.options, time.monotonic()
        written, since = 0, start
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_INTERVAL)
                return
            poll_interrupt()
            now, sizes = time.monotonic(), sum(self._file_sizes())
            if sizes != written:
                written, since = sizes, now
            elif options.timeout and now - since > options.timeout:
                raise self.error(
                    f"has written nothing for {options.timeout:g} seconds and was stopped; if it "
                    "is only slow, set a larger timeout"
                )
            if options.max_seconds and now - start > options.max_seconds:
                raise self.error(
                    f"has run for {options.max_seconds:g} seconds and was stopped; if it needs "
                    "more, set a larger max_seconds"
                )
            if options.max_output and written > options.max_output:
                raise self.error(
                    f"has written {written:,} bytes and was stopped; if its lists are so long, set "
                    f"a larger max_output (now {options.max_output})"
                )

    def _file_sizes(self) -> list[int]:
        files = (self.output, self.errors, self.nbest)
        return [path.stat().st_size if path.is_file() else 0 for path in files]

    def error(self, event: str) -> InputError:
        """Return an error that names the decoder, the event, and the decoder's last line."""
        for path in (self.errors, self.answer):
            last = last_line(_tail(path))
            if last:
                return InputError(
                    f"decoder {self.options.command!r} {event}; its last line: {last}"
                )
        return InputError(f"decoder {self.options.command!r} {event}; it wrote no output")


def _tail(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read()
