"""`hopefear translate`: the translation of a text by a model."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.config import option
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import (
    check_one_stdin,
    check_writable,
    display_name,
    is_device,
    open_output,
    write_text,
)
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.model.overrides import DecoderOverrides
from hopefear.model.translate_options import TranslateOptions

if TYPE_CHECKING:
    from hopefear.base.executor import Executor
    from hopefear.model.translate import Translator


@register("command", "translate")
@dataclass(kw_only=True)
class Translate(ClusterOptions, DecoderOverrides, TranslateOptions, Command):
    """Translate text with a model.

    Reads one sentence per line and writes each translation as soon as it is complete. Input and
    output are raw text, or tokenised text with --tokenized. N-best lists are in the format of Moses
    and always tokenised.

    With --markup, the input may suggest translations: a <n translation="house||home"
    prob="0.8||0.2">maison</n>. With --markup exclusive, only the suggested translations are used;
    with inclusive, they compete with those of the model. Write &lt; for < in such input. For
    hierarchical models, a line may be <seg grammar="FILE" id="ID"> words </seg>, and text after |||
    is the only translation allowed.

    With --serve-learner, the command serves k-best lists to an external learner
    (docs/guides/other-systems.md): it reads lines <seg delta="…"> words </seg>, where delta changes
    the weights, and writes a k-best list with features for each.
    """

    section = "Apply and evaluate"
    examples = (
        "hopefear translate --model fr-en -i test.fr -o test.out",
        "echo 'la maison' | hopefear translate --model fr-en --tokenized",
        "hopefear translate --model fr-en -i dev.fr -o dev.out --nbest 100 --nbest-out nbest.gz",
        "hopefear translate --model fr-en --serve-learner --nbest 100 --distinct",
    )
    reports = False

    model: Path = option(metavar="DIR", help="model directory")
    weights: Path | None = option(None, help="weights file (default: the model's weights)")
    input: Path = option(Path("-"), flags=("-i",), help="text to translate ('-': stdin)")
    output: Path = option(Path("-"), flags=("-o",), help="file for the translation ('-': stdout)")
    nbest_out: Path | None = option(None, help="file for the n-best lists; needs --nbest")
    threads: int = option(
        1, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )
    stats: Path | None = option(
        None, help="file for numbers of sentences and words, time, memory and score, as JSON"
    )
    serve_learner: bool = option(
        False,
        help="serve k-best lists to a learner by Mr. MIRA's protocol; k is the value of --nbest "
        "(default: 500)",
    )

    def run(self, console: Console) -> Mapping[str, Any] | None:
        from hopefear.model.directory import Model
        from hopefear.model.translations import make_translator
        from hopefear.text.lines import read_lines

        if self.serve_learner:
            self._prepare_serving()
        self._check_outputs()
        check_one_stdin(self.input, *([self.weights] if self.weights is not None else []))
        model = Model.load(self.model)
        translator = make_translator(
            model,
            self,
            weights=self.weights,
            folders=[self.input.parent] if str(self.input) != "-" else [],
            warn=console.warn,
        )
        if self.serve_learner:
            self._serve(translator, console)
            return None
        if str(self.input) == "-" and sys.stdin is not None and sys.stdin.isatty():
            console.note("type one sentence per line; Ctrl-D ends the input")
        with ExitStack() as stack:
            executor = stack.enter_context(
                self.executor(self.threads, plugins=self.plugin, tell=console.note)
            )
            statistics = Statistics(executor)
            lists = None
            if self.nbest_out is not None:
                lists = stack.enter_context(_lines(self.nbest_out))
            texts = stack.enter_context(_lines(self.output))
            step = stack.enter_context(self._progress(console))
            place = display_name(self.input)
            sentences = read_lines(self.input)
            for translated in translator.translate(sentences, place=place, executor=executor):
                if translated.warning:
                    console.warn(translated.warning)
                if lists is not None and translated.nbest:
                    lists.write("".join(f"{line}\n" for line in translated.nbest))
                texts.write(translated.text + "\n")
                statistics.add(translated.source_words, translated.score)
                step.advance()
            if self.stats is not None:
                with write_text(self.stats) as file:
                    file.write(json.dumps(statistics.to_mapping()) + "\n")
        return None

    def _prepare_serving(self) -> None:
        """Set the options that the protocol implies; refuse those that it does not support."""
        unsupported = {
            "--nbest-out": self.nbest_out,
            "--stats": self.stats,
            "--markup": self.markup != "off",
            "--mbr": self.mbr,
            "--max-translation": self.max_translation,
            "--trace": self.trace,
            "--trace-alignment": self.trace_alignment,
            "--threads": self.threads != 1,
            "--cluster": self.cluster is not None,
        }
        for flag, is_given in unsupported.items():
            if is_given:
                raise OptionError(f"{flag}: cannot be combined with --serve-learner; remove one")
        self.tokenized = True
        self.nbest = self.nbest or 500

    def _serve(self, translator: Translator, console: Console) -> None:
        from hopefear.base.files import open_input
        from hopefear.serve.learner import LearnerServer, requests

        server = LearnerServer(translator, k=self.nbest, distinct=self.distinct, warn=console.warn)
        with open_input(self.input) as file, _lines(self.output) as answers:
            for line, place in requests(file, display_name(self.input)):
                answers.write(server.answer(line, place))

    def _progress(self, console: Console) -> Any:
        """The progress display; none if the translations go to the same terminal."""
        if str(self.output) == "-" and sys.stdout.isatty():
            from hopefear.base.progress import Display

            return Display().step("translate")
        return console.step("translate", unit="sentences")

    def _check_outputs(self) -> None:
        if self.nbest_out is not None and not self.nbest:
            raise OptionError("--nbest-out: also give the length of the lists, --nbest N")
        if self.nbest and self.nbest_out is None and not self.serve_learner:
            raise OptionError(
                f"--nbest {self.nbest}: also give a file for the lists, --nbest-out FILE"
            )
        outputs = {"-o": self.output, "--nbest-out": self.nbest_out, "--stats": self.stats}
        seen: dict[str, str] = {}
        for flag, path in outputs.items():
            if path is None or (path.exists() and is_device(path)):
                continue
            real = "-" if str(path) == "-" else os.path.realpath(path)
            if real in seen:
                raise OptionError(f"{seen[real]} and {flag} are both {path}; give different files")
            seen[real] = flag
            if real != "-":
                check_writable(real)


class Statistics:
    """Counts, time and score of the translated sentences; loading the model is not included."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.sentences = self.source_words = self.failed = 0
        self.total_score = 0.0
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def add(self, source_words: int, score: float | None) -> None:
        """Count a sentence; `score` is None if it has no translation."""
        self.sentences += 1
        self.source_words += source_words
        if score is None:
            self.failed += 1
        else:
            self.total_score += score

    def to_mapping(self) -> dict[str, Any]:
        """The content of the --stats file."""
        return {
            "sentences": self.sentences,
            "source_words": self.source_words,
            "cpu_seconds": round(time.process_time() - self._cpu + self._executor.cpu_seconds, 4),
            "wall_seconds": round(time.monotonic() - self._wall, 4),
            "total_score": self.total_score,
            "failed": self.failed,
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        }


class _Text:
    """Writes UTF-8 text to a binary file; flushes each write if the reader may be waiting."""

    def __init__(self, file: BinaryIO, flush: bool) -> None:
        self._file, self._flush = file, flush

    def write(self, text: str) -> None:
        self._file.write(text.encode("utf-8", "surrogateescape"))
        if self._flush:
            self._file.flush()


@contextmanager
def _lines(path: Path) -> Iterator[_Text]:
    with open_output(path, level=6) as file:
        yield _Text(file, str(path) == "-" or is_device(path))
