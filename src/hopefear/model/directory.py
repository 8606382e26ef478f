"""The model directory: everything `translate` needs, in one movable place.

model.toml            what it is: system, text steps, how it was trained; written last, so that
a directory without it is unfinished
rules.bin  lm.bin     the engine's memory-mapped parts
weights.tsv           the weights that `translate` takes unless it is given others
casing.*.tsv          what the text steps learned
word-lists.tsv        the most frequent words, which lexical feature templates tell apart
word-classes.tsv      clusters and parts of speech, which some templates back off to
folds/0/ …            rules and language models that leave a part of the training text out
work/                 prepared text, its alignment and the state of training; only a later run
of `hopefear train` needs it

Tables of model.toml: `[text.source]`, `[text.target]`; `[tagger]`, the name of what tags source
words, and the tools it was trained with; `[decoder]`, the decoder's options where
they are not its defaults, and in `[decoder.features]` the names and units of an imported model's
features; `[lms]`, feature names and files of the language models (default: lm = "lm.bin");
`[features.NAME]`, a registered feature template that is on, with its options (docs/features.md);
`[training]` or `[imported]`, where it comes from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from hopefear.base import config, registry
from hopefear.base.config import load_toml
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.files import PathLike, open_output
from hopefear.features.word_classes import CLASSES_FILE, WordClasses
from hopefear.features.word_lists import LISTS_FILE, WordLists
from hopefear.rules.table import TABLE_FILE, RuleTable
from hopefear.text.pipeline import TextPipeline

if TYPE_CHECKING:
    from hopefear.base.weights import Weights
    from hopefear.decode.contract import Decoder, FoldParts, ModelParts
    from hopefear.decode.systems.base import System
    from hopefear.lm import LanguageModel
    from hopefear.text.taggers import SentenceTags

FORMAT = 1
MODEL_FILE = "model.toml"
LM_FILE = "lm.bin"
WEIGHTS_FILE = "weights.tsv"
WORK = "work"
FOLDS = "folds"
MOST_FOLDS = 100


class Model:
    """A finished model directory; its parts are opened when they are first asked for."""

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        self.directory = directory
        self.settings = settings

    def __repr__(self) -> str:
        trained = self.settings.get("training", {}).get("steps", {}).get("rules", {})
        rules = f", {trained['rules']:,} rules" if "rules" in trained else ""
        return f"Model({str(self.directory)!r}: {self.system}{rules})"

    @classmethod
    def load(cls, directory: PathLike) -> Model:
        """Read model.toml and check that the parts it names are there."""
        directory = Path(directory)
        path = directory / MODEL_FILE
        if not path.is_file():
            why = "is unfinished" if (directory / WORK).is_dir() else "is no model directory"
            raise InputError(f"{directory}: {why}, it has no {MODEL_FILE}; run 'hopefear train'")
        settings = load_toml(path)
        if settings.get("format") != FORMAT:
            raise InputError(
                f"{path}: format {settings.get('format')!r}, expected {FORMAT}; train it again "
                "with this version"
            )
        for key in ("system", "text"):
            if key not in settings:
                raise InputError(f"{path}: {key!r} is missing; train it again")
        for key in ("text", "decoder", "lms", "features", "tagger", "training", "imported"):
            if not isinstance(settings.get(key, {}), dict):
                raise InputError(f"{path}: {key} is {settings[key]!r}, expected a table [{key}]")
        for side in ("source", "target"):
            text = settings["text"]
            if not isinstance(text, dict) or not isinstance(text.get(side), dict):
                raise InputError(f"{path}: there is no table [text.{side}]; train it again")
        folds = settings.get("training", {}).get("folds", 0)
        if isinstance(folds, bool) or not isinstance(folds, int) or not 0 <= folds <= MOST_FOLDS:
            raise InputError(
                f"{path}: training.folds is {folds!r}, expected a number from 0 to {MOST_FOLDS}; "
                "train it again"
            )
        model = cls(directory, settings)
        for part in model.parts():
            if not part.is_file():
                raise InputError(f"{part}: no such file; copy the whole model directory")
        return model

    def parts(self) -> list[Path]:
        """The files that decoding depends on, besides model.toml; without folds."""
        rules = [self.directory / TABLE_FILE] if self.has_rules else []
        words = [self.directory / name for name in (LISTS_FILE, CLASSES_FILE)]
        return [*rules, *self.lm_files.values(), *(path for path in words if path.is_file())]

    def contents(self) -> dict[str, str]:
        """Fingerprints of model.toml and of the parts, by name: what a run was tuned with."""
        from hopefear.learn.loop.run import digest_of

        paths = (self.directory / MODEL_FILE, *self.parts())
        return {path.name: digest_of(path) for path in paths}

    @property
    def system(self) -> str:
        return str(self.settings["system"])

    @cached_property
    def rule_system(self) -> System:
        """What its rules are: how input is read, which decoder there is, and more."""
        from hopefear.decode.systems.base import get_system

        try:
            return get_system(self.system)
        except OptionError as error:
            raise InputError(f"{self.directory / MODEL_FILE}: {error}") from None

    @property
    def has_rules(self) -> bool:
        """Whether it has a rule table; without one every sentence brings its grammar."""
        return bool(self.settings.get("rules", True))

    @property
    def lm_files(self) -> dict[str, Path]:
        """The language models by the names of their features."""
        files = self.settings.get("lms", {"lm": LM_FILE})
        return {name: self.directory / str(file) for name, file in files.items()}

    @cached_property
    def rules(self) -> RuleTable:
        if not self.has_rules:
            raise InputError(f"{self.directory}: has no rules, every sentence brings its grammar")
        return RuleTable.open(self.directory / TABLE_FILE)

    @cached_property
    def lms(self) -> dict[str, LanguageModel]:
        from hopefear.lm import LanguageModel

        return {name: LanguageModel.load(path) for name, path in self.lm_files.items()}

    @cached_property
    def lists(self) -> WordLists:
        """The words that feature templates tell apart; models of before had none."""
        classes = self.directory / CLASSES_FILE
        known = WordClasses.load(classes) if classes.is_file() else WordClasses()
        known = replace(known, tagger="tagger" in self.settings, place=str(self.directory))
        path = self.directory / LISTS_FILE
        if path.is_file():
            return replace(WordLists.load(path), classes=known)
        remedy = (
            "an imported model has none, so give the template size=0 for all words"
            if "imported" in self.settings
            else "give the same 'hopefear train' again, which makes only these"
        )
        return WordLists(place=str(self.directory), remedy=remedy, classes=known)

    @cached_property
    def tags(self) -> SentenceTags:
        """What tags the words of source sentences, by the model's tagger."""
        from hopefear.text.taggers import SentenceTags, make_tagger

        place, given = f"{self.directory / MODEL_FILE}: tagger", self.settings["tagger"]
        name, tools = given.get("name"), given.get("tools", {})
        if not isinstance(name, str) or not isinstance(tools, dict):
            raise InputError(f'{place}: found {given!r}, expected name = "…" and tools = {{…}}')
        language = str(self.settings["text"]["source"].get("language", "en"))
        try:
            tagger = make_tagger(name, language, self.lists.classes.source.tags)
        except OptionError as error:
            raise InputError(f"{place}: {error}") from None
        for tool, version in tagger.versions().items():
            if tools.get(tool, version) != version:
                warnings.warn(
                    f"{place}: made with {tool} {tools[tool]}, but {version} is installed; tags "
                    "may be others than in tuning",
                    stacklevel=2,
                )
        return SentenceTags(tagger, name)

    @property
    def templates(self) -> dict[str, Mapping[str, Any]]:
        """The feature templates that are on, with their options."""
        given: dict[str, Any] = self.settings.get("features", {})
        found: dict[str, Mapping[str, Any]] = {}
        for name, options in given.items():
            if not isinstance(options, dict):
                raise InputError(
                    f"{self.directory / MODEL_FILE}: features.{name} is {options!r}, expected a "
                    f"table [features.{name}]"
                )
            try:
                cls: Any = registry.get("feature", name)
            except OptionError:  # said when it is to be made
                found[name] = options
                continue
            found[name] = cls.settled(options, self.directory)
        return found

    @property
    def lm(self) -> LanguageModel:
        """The first language model."""
        for lm in self.lms.values():
            return lm
        raise InputError(f"{self.directory}: has no language model")

    # -- decoding --

    def decoder(
        self,
        *,
        templates: Mapping[str, Mapping[str, Any]] | None = None,
        folds: bool = False,
        **options: Any,
    ) -> Decoder:
        """The model's decoder; `options` that are not None override those of model.toml.

        `templates`: the feature templates that are on and their options, instead of the model's.
        `folds`: it also decodes sentences of the training text without their fold
        (`Sentence.fold`).
        """
        cls = self.decoder_class
        fields = {field.name: field for field in config.fields_of(cls.options_class)}
        values = {k: v for k, v in self.settings.get("decoder", {}).items() if k != "features"}
        for key in values:
            if key not in fields:
                raise InputError(
                    f"{self.directory / MODEL_FILE}: decoder.{key}: a {self.system} model has no "
                    f"such option; {suggestion(key, fields)}"
                )
        place = f"{self.directory / MODEL_FILE}: decoder"
        config.from_mapping(cls.options_class, values, place)  # says where the fault is
        for key, value in options.items():
            if value is None:
                continue
            if key not in fields:
                raise OptionError(
                    f"{key.replace('_', '-')}: a {self.system} model has no such option; "
                    f"{suggestion(key, fields)}"
                )
            values[key] = config.convert_value(fields[key], value, key)
        chosen: Any = config.from_mapping(cls.options_class, values)
        parts = self.decoder_parts(templates)
        if folds:
            parts = replace(parts, folds=self.fold_parts)
        try:
            return cls.load(parts, chosen)
        except OptionError as error:  # a feature that is not known, for instance
            if templates is not None:
                raise
            raise OptionError(f"{self.directory / MODEL_FILE}: {error}") from None
        except InputError as error:  # two of the same name, for instance
            if str(error).startswith(str(self.directory)):
                raise
            raise InputError(f"{self.directory}: {error}") from None

    @property
    def decoder_class(self) -> type[Decoder]:
        return self.rule_system.decoder_class

    def decoder_parts(self, templates: Mapping[str, Mapping[str, Any]] | None = None) -> ModelParts:
        """Rules, language models and features for a decoder; `templates` as in `decoder`."""
        from hopefear.decode.contract import FeatureSpec, ModelParts

        given = self.settings.get("decoder", {}).get("features")
        features = None
        if given is not None:
            place = f"{self.directory / MODEL_FILE}: decoder.features"
            features = {name: _feature(FeatureSpec, spec, place) for name, spec in given.items()}
        return ModelParts(
            rules=self.rules if self.has_rules else None,
            lms=self.lms,
            features=features,
            templates=self.templates if templates is None else templates,
            lists=self.lists,
            tagger=(lambda: self.tags) if "tagger" in self.settings else None,
        )

    def weights(
        self, path: PathLike | None = None, *, warn: Callable[[str], None] = warnings.warn
    ) -> Weights:
        """The weights of a file, by default those of the model itself."""
        from hopefear.base.weights import Weights

        if path is not None:
            return Weights.load(path)
        own = self.directory / WEIGHTS_FILE
        if own.is_file():
            return Weights.load(own)
        if "imported" in self.settings:
            raise InputError(f"{own}: no such file; import the model again, or give --weights")
        warn(f"{own}: no such file; default weights are used, 'hopefear tune' learns better ones")
        columns = self.rules.columns if self.has_rules else ()
        return Weights(self.rule_system.default_weights(columns, list(self.lm_files)))

    def text(self, side: str, warn: Callable[[str], None] = warnings.warn) -> TextPipeline:
        """The text steps of `source` or `target`."""
        return TextPipeline.load(self.directory, side, self.settings["text"][side], warn=warn)

    @property
    def folds(self) -> list[Path]:
        """Directories with the rules and language models that leave one fold out."""
        count = self.settings.get("training", {}).get("folds", 0)
        return [self.directory / FOLDS / str(number) for number in range(count)]

    def fold_files(self) -> list[Path]:
        """The engine's files of all folds."""
        # A language model of another text than that of training is the same for all.
        steps = self.settings.get("training", {}).get("steps", {})
        names = [TABLE_FILE, *([LM_FILE] if "lm_tokens" in steps.get("fold 0", {}) else [])]
        files = [place / name for place in self.folds for name in names]
        for path in files:
            if not path.is_file():
                raise InputError(f"{path}: no such file; copy the whole model directory")
        return files

    @cached_property
    def fold_parts(self) -> list[FoldParts]:
        """Rules and language models that leave one fold out each, mapped."""
        from hopefear.decode.contract import FoldParts
        from hopefear.lm import LanguageModel

        files = self.fold_files()
        if not files:
            raise InputError(
                f"{self.directory}: has no folds; give the same 'hopefear train' again with "
                "--folds 5, which adds them"
            )
        parts = []
        for place in self.folds:
            lm = place / LM_FILE
            lms = {"lm": LanguageModel.load(lm)} if lm in files else self.lms
            parts.append(FoldParts(RuleTable.open(place / TABLE_FILE), lms))
        return parts


# Units of one system in those of another; values times this, and their sums, stay finite.
_LARGEST_FACTOR = 1_000_000


def _feature(cls: type[Any], spec: Any, place: str) -> Any:
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise InputError(f"{place}: found {spec!r}, expected {{name = …, factor = …}}")
    factor = spec.get("factor", 1.0)
    good = isinstance(factor, int | float) and not isinstance(factor, bool)
    if not good or not abs(factor) <= _LARGEST_FACTOR:
        raise InputError(
            f"{place}: the factor of {spec['name']} is {factor!r}, expected a number of at most "
            f"{_LARGEST_FACTOR:,}"
        )
    return cls(spec["name"], float(factor))


def write_settings(directory: Path, settings: Mapping[str, Any]) -> None:
    """Write model.toml: from now on the directory is a model."""
    with open_output(directory / MODEL_FILE) as file:
        tomli_w.dump({"format": FORMAT, **settings}, file)
