"""`hopefear text tokenize|detokenize|casing`: the steps between raw and tokenised text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import argument, fields_of, option, part_of
from hopefear.base.console import Console
from hopefear.base.errors import OptionError
from hopefear.base.files import check_one_stdin
from hopefear.base.registry import register
from hopefear.cli.command import Command, Common
from hopefear.text.pipeline import TextOptions

if TYPE_CHECKING:
    from hopefear.text.pipeline import TextPipeline

Case = Literal["none", "lower", "truecase"]
_STDIO = Path("-")


@register("command", "text tokenize")
@dataclass(kw_only=True)
class Tokenize(TextOptions, Command):
    """Tokenise raw text into words separated by spaces.

    'hopefear train' and 'hopefear translate' tokenise raw text themselves; use this command to
    inspect the tokens or to prepare text for other tools. --model takes all steps from a model:
    the words are those that it translates, or those of its output with --side target.
    """

    section = "Train"
    examples = (
        "hopefear text tokenize train.fr.gz -o train.tok.fr --language fr --casing lower",
        "echo 但愿如此 | hopefear text tokenize --language zh",
        "hopefear text tokenize test.fr --model fr-en -o test.tok.fr",
    )
    reports = False

    text: Path = argument(_STDIO, help="raw text, one sentence per line ('-': stdin)")
    output: Path = option(_STDIO, flags=("-o",), help="file for the tokenised text ('-': stdout)")
    casing: Case = option("none", help="treatment of upper and lower case")
    casing_file: Path | None = option(
        None, help="file of usual word forms for truecasing, from 'hopefear text casing'"
    )
    model: Path | None = option(
        None, metavar="DIR", help="model directory; its text steps replace the other options"
    )
    side: Literal["source", "target"] = option("source", help="model: the side of the text")

    def run(self, console: Console) -> None:
        pipeline = self._own() if self.model is None else _of_model(self, self.side, console)
        for note in pipeline.notes():
            console.note(note)
        with console.step("tokenize", unit="lines") as step:
            pipeline.prepare_file(self.text, self.output, step)

    def _own(self) -> TextPipeline:
        from hopefear.text.casing import Casing
        from hopefear.text.pipeline import TextPipeline

        if self.side != "source":
            raise OptionError("--side: used only with --model; give that too")
        pipeline = TextPipeline(**part_of(TextOptions, self))
        if self.casing_file is not None:
            if self.casing != "truecase":
                raise OptionError("--casing-file: used only with --casing truecase; give that too")
            check_one_stdin(self.text, self.casing_file)
            pipeline.forms = Casing.load(self.casing_file)
        return pipeline


@register("command", "text detokenize")
@dataclass(kw_only=True)
class Detokenize(Command):
    """Detokenise words separated by spaces into running text.

    'hopefear translate' detokenises its output itself. --model takes all steps from the target side
    of a model.
    """

    section = "Train"
    examples = (
        "hopefear text detokenize out.tok.fr -o out.fr --language fr --like train.fr.gz",
        "hopefear text detokenize out.tok.en --model fr-en -o out.en",
    )
    reports = False

    text: Path = argument(_STDIO, help="tokenised text, one sentence per line ('-': stdin)")
    output: Path = option(_STDIO, flags=("-o",), help="file for the running text ('-': stdout)")
    language: str = option("en", help="language code, such as fr, pt-BR, zh")
    tokenizer: str = option(
        "auto", help="tokeniser that made the words; auto: the default of the language"
    )
    casing: Case = option("none", help="treatment of upper and lower case in the words")
    casing_file: Path | None = option(
        None, help="file of usual word forms, from 'hopefear text casing'"
    )
    like: Path | None = option(None, help="raw text whose spacing around punctuation is imitated")
    model: Path | None = option(
        None, metavar="DIR", help="model directory; its text steps replace the other options"
    )

    def run(self, console: Console) -> None:
        from hopefear.base.files import write_text
        from hopefear.text.lines import read_lines
        from hopefear.text.tokenizers.plain import split_words

        pipeline = self._own() if self.model is None else _of_model(self, "target", console)
        with console.step("detokenize", unit="lines") as step, write_text(self.output) as file:
            for line in read_lines(self.text):
                file.write(pipeline.restore(split_words(line)) + "\n")
                step.advance()

    def _own(self) -> TextPipeline:
        from hopefear.text.casing import Casing
        from hopefear.text.lines import read_lines
        from hopefear.text.pipeline import TextPipeline
        from hopefear.text.spacing import SpacingCounter

        if (self.casing == "none") != (self.casing_file is None):
            raise OptionError(
                "--casing and --casing-file belong together: the casing of the words, and their "
                "usual forms; give both or neither"
            )
        others = [path for path in (self.casing_file, self.like) if path is not None]
        check_one_stdin(self.text, *others)
        pipeline = TextPipeline(
            language=self.language, tokenizer=self.tokenizer, casing=self.casing
        )
        if self.casing_file is not None:
            pipeline.forms = Casing.load(self.casing_file)
        if self.like is not None:
            counter = SpacingCounter()
            for line in read_lines(self.like):
                counter.add(line)
            pipeline.spacing = counter.result()
        return pipeline


def _of_model(command: Tokenize | Detokenize, side: str, console: Console) -> TextPipeline:
    """Return the text steps of a side of the command's model, which no option may change."""
    from hopefear.model.directory import Model

    beside = {"text", "output", "model", "side", *(field.name for field in fields_of(Common))}
    default = type(command)()
    for field in fields_of(type(command)):
        value = getattr(command, field.attribute)
        if field.name not in beside and value != getattr(default, field.attribute):
            raise OptionError(
                f"{field.flag}: the text steps are those of --model; leave out one of the two"
            )
    assert command.model is not None
    return Model.load(command.model).text(side, console.warn)


@register("command", "text casing")
@dataclass(kw_only=True)
class LearnCasing(Command):
    """Learn the usual upper- or lower-case form of each word from raw text."""

    section = "Train"
    examples = ("hopefear text casing train.en.gz -o casing.tsv --language en",)

    text: Path = argument(help="raw text, one sentence per line")
    output: Path = option(
        flags=("-o",), help="file for lines of word, usual form, count of the form and of the word"
    )
    language: str = option("en", help="language code, such as fr, pt-BR, zh")
    tokenizer: str = option("auto", help="tokeniser; auto: the default of the language")

    def run(self, console: Console) -> Mapping[str, Any]:
        from hopefear.base.files import check_writable
        from hopefear.text.lines import read_lines
        from hopefear.text.pipeline import TextPipeline

        check_writable(self.output)
        pipeline = TextPipeline(language=self.language, tokenizer=self.tokenizer, casing="truecase")
        with console.step("casing"):
            pipeline.learn(read_lines(self.text))
        assert pipeline.forms is not None
        pipeline.forms.save(self.output)
        forms = pipeline.forms.forms
        upper = sum(word != form for word, form in forms.items())
        return {
            "words": len(forms),
            "with_capitals": upper,
            "sentences_start_upper": pipeline.forms.starts_upper,
        }
