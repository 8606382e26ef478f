"""The steps between raw text and words, and back: what a model remembers about its text.

Goes in: a raw line. Comes out: words (`prepare`: normalise, tokenise, case); and the other way, raw
text from the words of a translation (`restore`: case, detokenise). One `TextPipeline` for each side
of a model. What is learned (casing, habits of spacing) comes from `learn` and is written into the
model directory with the options, so that `translate` takes raw text and gives raw text:

    pipeline = TextPipeline(language="fr")
    pipeline.learn(read_lines("train.fr"))
    mapping = pipeline.save(directory, "source")      # a table for model.toml; casing.source.tsv
    pipeline = TextPipeline.load(directory, "source", mapping)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from hopefear.base import config
from hopefear.base.config import option
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike, write_text
from hopefear.base.progress import Progress
from hopefear.text.casing import Casing, lower
from hopefear.text.lines import read_lines
from hopefear.text.normalize import Normalizer
from hopefear.text.spacing import Spacing, SpacingCounter
from hopefear.text.tokenizers import Tokenizer, default_tokenizer, make_tokenizer
from hopefear.text.tokenizers.base import primary


@dataclass(kw_only=True)
class TextOptions:
    """What can be chosen about the steps."""

    language: str = option("en", help="code of the language, such as fr, pt-BR, zh")
    tokenizer: str = option(
        "auto",
        help="moses, moses-hyphens, jieba, char, whitespace, none; auto goes by the language",
    )
    casing: Literal["none", "lower", "truecase"] = option(
        "truecase", help="how upper and lower case are treated"
    )
    normalize: bool = option(True, help="leave Unicode as it is (no NFC, blanks, control signs)")
    narrow: bool = option(False, help="make full-width Latin letters and digits ordinary ones")
    plain_quotes: bool = option(False, help="make curly quotes and apostrophes straight")
    drop_vowel_signs: bool = option(False, help="leave out Arabic vowel signs and tatweel")

    def __post_init__(self) -> None:
        if not self.language or not self.language.replace("-", "").replace("_", "").isalnum():
            raise OptionError(f"language: {self.language!r} is not valid; give a code such as fr")
        if self.tokenizer == "auto":
            self.tokenizer = default_tokenizer(self.language)
        if not self.normalize and (self.narrow or self.plain_quotes or self.drop_vowel_signs):
            raise OptionError(
                "narrow, plain_quotes and drop_vowel_signs are parts of normalising; "
                "leave out --no-normalize"
            )


@dataclass(kw_only=True)
class TextPipeline(TextOptions):
    """The steps for text of one language: the options, and what was learned."""

    forms: Casing | None = None
    spacing: Spacing | None = None

    @classmethod
    def as_it_is(cls, language: str = "en") -> TextPipeline:
        """For text that is tokenised and cased already (`--tokenized`)."""
        return cls(language=language, tokenizer="none", casing="none", normalize=False)

    @cached_property
    def words(self) -> Tokenizer:
        """The tokenizer itself; made when it is first needed."""
        return make_tokenizer(self.tokenizer, self.language)

    @cached_property
    def _normalizer(self) -> Callable[[str], str]:
        if not self.normalize:
            return str
        return Normalizer(
            narrow=self.narrow,
            plain_quotes=self.plain_quotes,
            drop_vowel_signs=self.drop_vowel_signs,
        )

    def learn(self, lines: Iterable[str]) -> None:
        """Learn usual forms and habits of spacing from raw text, in one pass."""
        counter = SpacingCounter()
        normalized = counter.watch(map(self._normalizer, lines))
        forms = Casing.learn(map(self.words.tokenize, normalized), primary(self.language))
        self.forms = forms if self.casing != "none" else None
        self.spacing = counter.result()

    def prepare(self, line: str) -> list[str]:
        """The words of a raw line."""
        words = self.words.tokenize(self._normalizer(line))
        if self.casing == "lower":
            language = primary(self.language)
            return [lower(word, language) for word in words]
        if self.casing == "truecase":
            return self._learned().truecase(words)
        return words

    def restore(self, words: Sequence[str]) -> str:
        """Raw text of translated words."""
        if self.casing == "lower" and self.forms is not None:
            words = self.forms.capitalize_sentences(self.forms.recase(words))
        elif self.casing == "truecase":
            words = self._learned().capitalize_sentences(words)
        return self.words.detokenize(words, self.spacing)

    def prepare_file(
        self, source: PathLike, target: PathLike, step: Progress | None = None
    ) -> tuple[int, int]:
        """A raw file into a file of words; the number of lines and of words."""
        lines = words = 0
        with write_text(target) as file:
            for line in read_lines(source):
                prepared = self.prepare(line)
                file.write(" ".join(prepared) + "\n")
                lines, words = lines + 1, words + len(prepared)
                if step is not None:
                    step.advance()
        return lines, words

    def _learned(self) -> Casing:
        if self.forms is None:
            raise OptionError(
                "casing 'truecase' needs usual forms learned from text; give a casing file "
                "('hopefear text casing'), or choose lower or none"
            )
        return self.forms

    def notes(self) -> list[str]:
        """What a person should know about these steps."""
        return self.words.notes()

    def to_mapping(self) -> dict[str, Any]:
        """Options, habits of spacing and versions of the tools, for model.toml."""
        mapping = config.to_mapping(self)
        if self.spacing is not None:
            mapping["spacing"] = self.spacing.to_mapping()
        mapping["tools"] = self.words.versions()
        return mapping

    @classmethod
    def from_mapping(
        cls,
        mapping: Mapping[str, Any],
        *,
        place: str = "",
        warn: Callable[[str], None] = warnings.warn,
    ) -> TextPipeline:
        """From `to_mapping`; another version of a tool than then is worth a warning."""
        options = dict(mapping)
        tools, spacing = options.pop("tools", {}), options.pop("spacing", None)
        prefix = f"{place}: " if place else ""
        for key, table in (("tools", tools), ("spacing", spacing)):
            if table is not None and not _is_table(table):
                raise InputError(f"{prefix}{key}: expected a table of texts, found {table!r}")
        pipeline = config.from_mapping(cls, options, place)
        if spacing is not None:
            pipeline.spacing = Spacing.from_mapping(spacing, f"{prefix}spacing")
        installed = pipeline.words.versions()
        for tool, version in tools.items():
            if installed.get(tool, version) != version:
                warn(
                    f"{prefix}made with {tool} {version}, but {installed[tool]} is installed; "
                    "words may be cut differently than in training"
                )
        return pipeline

    def save(self, directory: Path, side: str) -> dict[str, Any]:
        """Write what was learned to `directory`; the table for model.toml."""
        if self.forms is not None:
            self.forms.save(directory / casing_name(side))
        return self.to_mapping()

    @classmethod
    def load(
        cls,
        directory: Path,
        side: str,
        mapping: Mapping[str, Any],
        *,
        warn: Callable[[str], None] = warnings.warn,
    ) -> TextPipeline:
        """What `save` wrote."""
        place = f"{directory / 'model.toml'}: text.{side}"
        pipeline = cls.from_mapping(mapping, place=place, warn=warn)
        path = directory / casing_name(side)
        if pipeline.casing != "none" and path.exists():
            pipeline.forms = Casing.load(path)
        elif pipeline.casing == "truecase":
            raise InputError(f"{path}: no such file, but casing is truecase; copy the whole model")
        return pipeline


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())


def casing_name(side: str) -> str:
    """The file of a model directory with the usual forms of a side's words."""
    return f"casing.{side}.tsv"


_NO_LANGUAGE = {"txt", "tok", "low", "raw", "src", "tgt", "trg", "ref", "hyp", "out", "doc", "ids"}


def language_of(path: PathLike) -> str | None:
    """The language that a file's name tells: `fr` of `train.fr.gz`, `en` of `dev.en.0`."""
    for part in reversed(Path(path).name.split(".")[1:]):
        if part == "gz" or part.isdigit() or part in _NO_LANGUAGE:
            continue
        code = primary(part)
        return part if 2 <= len(code) <= 3 and code.isascii() and code.isalpha() else None
    return None
