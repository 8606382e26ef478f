"""Text pipelines: the steps from raw text to words, and from words to raw text.

`prepare` takes a raw line and returns words (normalise, tokenise, case, split into subwords).
`restore` takes the words of a translation and returns raw text (join subwords, case, detokenise). A
model has one `TextPipeline` per side. `learn` learns casing and spacing from text, `train` the
subwords; they are saved in the model directory with the options, so that `translate` takes and
returns raw text:

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
from hopefear.text.subwords import Subwords
from hopefear.text.tokenizers import Tokenizer, default_tokenizer, make_tokenizer
from hopefear.text.tokenizers.base import primary


@dataclass(kw_only=True)
class TextOptions:
    """Options of the text pipeline."""

    language: str = option("en", help="language code, such as fr, pt-BR, zh")
    tokenizer: str = option(
        "auto",
        help="tokenizer: moses, moses-hyphens, jieba, char, whitespace or none; "
        "auto: chosen by the language",
    )
    casing: Literal["none", "lower", "truecase"] = option(
        "truecase", help="treatment of upper and lower case; none: unchanged"
    )
    normalize: bool = option(
        True,
        help="Unicode normalisation (NFC, white space, control characters); "
        "--no-normalize disables it",
    )
    narrow: bool = option(
        False, help="replace full-width Latin letters, digits and punctuation by ordinary ones"
    )
    plain_quotes: bool = option(False, help="replace curly quotes and apostrophes by straight ones")
    drop_vowel_signs: bool = option(False, help="remove Arabic vowel signs and tatweel")

    def __post_init__(self) -> None:
        if not self.language or not self.language.replace("-", "").replace("_", "").isalnum():
            raise OptionError(f"language: {self.language!r} is not valid; give a code such as fr")
        if self.tokenizer == "auto":
            self.tokenizer = default_tokenizer(self.language)
        if not self.normalize and (self.narrow or self.plain_quotes or self.drop_vowel_signs):
            raise OptionError(
                "narrow, plain_quotes and drop_vowel_signs need normalisation; "
                "leave out --no-normalize"
            )


@dataclass(kw_only=True)
class TextPipeline(TextOptions):
    """A text pipeline for one language: its options and what it learned from text."""

    forms: Casing | None = None
    spacing: Spacing | None = None
    subwords: Subwords | None = None

    @classmethod
    def as_it_is(cls, language: str = "en", subwords: Subwords | None = None) -> TextPipeline:
        """Return the pipeline for text that is already tokenised and cased (`--tokenized`).

        Subwords belong to the model, not to the text: its words are split nevertheless.
        """
        return cls(
            language=language, tokenizer="none", casing="none", normalize=False, subwords=subwords
        )

    @cached_property
    def words(self) -> Tokenizer:
        """The tokenizer, created at first use."""
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
        """Learn casing and spacing from lines of raw text, in one pass."""
        counter = SpacingCounter()
        normalized = counter.watch(map(self._normalizer, lines))
        forms = Casing.learn(map(self.words.tokenize, normalized), primary(self.language))
        self.forms = forms if self.casing != "none" else None
        self.spacing = counter.result()

    def prepare(self, line: str) -> list[str]:
        """Take a raw line and return its words."""
        words = self._cased(self.words.tokenize(self._normalizer(line)))
        return words if self.subwords is None else self.subwords.split(words)

    def _cased(self, words: list[str]) -> list[str]:
        if self.casing == "lower":
            language = primary(self.language)
            return [lower(word, language) for word in words]
        if self.casing == "truecase":
            return self._learned().truecase(words)
        return words

    def restore(self, words: Sequence[str]) -> str:
        """Take the words of a translation and return raw text."""
        if self.subwords is not None:
            words = self.subwords.join(words)
        if self.casing == "lower" and self.forms is not None:
            words = self.forms.capitalize_sentences(self.forms.recase(words))
        elif self.casing == "truecase":
            words = self._learned().capitalize_sentences(words)
        return self.words.detokenize(words, self.spacing)

    def prepare_file(
        self, source: PathLike, target: PathLike, step: Progress | None = None
    ) -> tuple[int, int]:
        """Prepare a raw file, write it to `target`, and return the numbers of lines and words."""
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
                "casing 'truecase' needs forms learned from text; give a casing file "
                "('hopefear text casing'), or choose lower or none"
            )
        return self.forms

    def notes(self) -> list[str]:
        """Return remarks for the user, such as limits of the tokenizer for this language."""
        return self.words.notes()

    def to_mapping(self) -> dict[str, Any]:
        """Return options, spacing and versions of tools, for model.toml."""
        mapping = config.to_mapping(self)
        if self.spacing is not None:
            mapping["spacing"] = self.spacing.to_mapping()
        if self.subwords is not None:
            mapping["subwords"] = len(self.subwords.merges)
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
        """Take what `to_mapping` returned and return the pipeline.

        Warns if the installed version of a tool is different.
        """
        options = dict(mapping)
        tools, spacing = options.pop("tools", {}), options.pop("spacing", None)
        options.pop("subwords", None)  # `load` reads them from their file
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
                    "words may be split differently than in training"
                )
        return pipeline

    def save(self, directory: Path, side: str) -> dict[str, Any]:
        """Write what was learned to `directory` and return the table for model.toml."""
        if self.forms is not None:
            self.forms.save(directory / casing_name(side))
        if self.subwords is not None:
            self.subwords.save(directory / subwords_name(side))
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
        """Take a directory and the table that `save` returned; return the pipeline."""
        place = f"{directory / 'model.toml'}: text.{side}"
        pipeline = cls.from_mapping(mapping, place=place, warn=warn)
        path = directory / casing_name(side)
        if pipeline.casing != "none" and path.exists():
            pipeline.forms = Casing.load(path)
        elif pipeline.casing == "truecase":
            raise InputError(f"{path}: no such file, but casing is truecase; copy the whole model")
        pipeline.subwords = load_subwords(directory, side, mapping)
        return pipeline


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())


def casing_name(side: str) -> str:
    """Return the name of a model's file with the usual forms of a side's words."""
    return f"casing.{side}.tsv"


def load_subwords(directory: Path, side: str, mapping: Mapping[str, Any]) -> Subwords | None:
    """Return the subwords of a side, None if its words are not split; arguments as of `load`."""
    if "subwords" not in mapping:
        return None
    path = directory / subwords_name(side)
    if not path.exists():
        raise InputError(f"{path}: no such file, but words are split; copy the whole model")
    return Subwords.load(path)


def subwords_name(side: str) -> str:
    """Return the name of a model's file with the merges of a side's subwords."""
    return f"subwords.{side}.txt"


_NO_LANGUAGE = {"txt", "tok", "low", "raw", "src", "tgt", "trg", "ref", "hyp", "out", "doc", "ids"}


def language_of(path: PathLike) -> str | None:
    """Return the language code in a file's name: `fr` in `train.fr.gz`, `en` in `dev.en.0`."""
    for part in reversed(Path(path).name.split(".")[1:]):
        if part == "gz" or part.isdigit() or part in _NO_LANGUAGE:
            continue
        code = primary(part)
        return part if 2 <= len(code) <= 3 and code.isascii() and code.isalpha() else None
    return None
