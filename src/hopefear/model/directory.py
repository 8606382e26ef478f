"""The model directory: all files that `translate` needs; it can be moved.

Files::

    model.toml            the settings: system, text steps, training; written last, so that a
                          directory without it is unfinished
    rules.bin  lm.bin     rule table and language model, memory-mapped by the engine
    weights.tsv           the default weights of `translate`
    casing.*.tsv          the casing models of the text steps
    word-lists.tsv        the most frequent words, which lexical feature templates distinguish
    word-classes.tsv      clusters and parts of speech, which some templates back off to
    folds/0/ …            rule tables and language models trained without one fold of the text
    work/                 prepared text, its alignment, the state of training and the times of its
                          steps; only needed by a later run of `hopefear train`

Tables of model.toml: `[text.source]` and `[text.target]`, the text steps; `[tagger]`, the tagger of
source words and the versions of its tools; `[decoder]`, decoder options that differ from the
defaults, in `[decoder.features]` the names and units of an imported model's features, in
`[decoder.reordering]` its kind of reordering (`ReorderingSpec`); `[lms]`, feature names and files
of the language models (default: lm = "lm.bin"), inside of the directory; `[features.NAME]`, the
options of a feature template in use (docs/reference/features.md); `[training]` or `[imported]`, the
origin; `[digests]`, those of the text files when they were written (`hopefear inspect --verify`).
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
from hopefear.base.executor import Folder
from hopefear.base.files import PathLike, digest_of, open_output, path_inside
from hopefear.features.word_classes import CLASSES_FILE, WordClasses
from hopefear.features.word_lists import LISTS_FILE, WordLists
from hopefear.model.times import training_times
from hopefear.rules.table import TABLE_FILE, RuleTable
from hopefear.text.pipeline import TextPipeline, load_subwords

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
_PARTS = ("features", "reordering")  # tables in [decoder] that are not options of search
FOLDS = "folds"
MOST_FOLDS = 100


class Model:
    """A finished model directory; its files are opened at their first use."""

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        self.directory = directory
        self.settings = settings

    def __repr__(self) -> str:
        report = self.settings.get("training", {}).get("steps", {}).get("rules", {})
        rules = f", {report['rules']:,} rules" if "rules" in report else ""
        return f"Model({str(self.directory)!r}: {self.system}{rules})"

    @classmethod
    def load(cls, directory: PathLike) -> Model:
        """Open a model directory: read model.toml and check that the files it names exist."""
        directory = Path(directory)
        path = directory / MODEL_FILE
        if not path.is_file():
            state = "is unfinished" if (directory / WORK).is_dir() else "is no model directory"
            raise InputError(f"{directory}: {state}, it has no {MODEL_FILE}; run 'hopefear train'")
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
        """The files that decoding depends on, without model.toml and the folds."""
        rules = [self.directory / TABLE_FILE] if self.has_rules else []
        words = [self.directory / name for name in (LISTS_FILE, CLASSES_FILE)]
        return [*rules, *self.lm_files.values(), *(path for path in words if path.is_file())]

    def files(self, *, folds: bool = False) -> Folder:
        """Return the files that decoding and the text steps read, without the weights."""
        root = self.directory.absolute()
        texts = [*root.glob("*.tsv"), *root.glob("*.txt")]
        own = [path for path in sorted(texts) if path.name != WEIGHTS_FILE and path.is_file()]
        paths = [root / MODEL_FILE, *own]
        paths += [path.absolute() for path in (*self.parts(), *(self.fold_files() * folds))]
        members = dict.fromkeys(path.relative_to(root).as_posix() for path in paths)
        return Folder(root, tuple(members))

    def contents(self) -> dict[str, str]:
        """Digests of model.toml and of the parts by file name, which a tuning run records."""
        paths = (self.directory / MODEL_FILE, *self.parts())
        return {path.name: digest_of(path) for path in paths}

    @property
    def system(self) -> str:
        """The name of the rule system, such as phrase or hiero."""
        return str(self.settings["system"])

    @cached_property
    def rule_system(self) -> System:
        """The rule system: how input is read, the decoder class, and more."""
        from hopefear.decode.systems.base import get_system

        try:
            return get_system(self.system)
        except OptionError as error:
            raise InputError(f"{self.directory / MODEL_FILE}: {error}") from None

    @property
    def has_rules(self) -> bool:
        """Whether it has a rule table; otherwise each sentence has a grammar of its own."""
        return bool(self.settings.get("rules", True))

    @property
    def lm_files(self) -> dict[str, Path]:
        """The files of the language models, by feature name."""
        files = self.settings.get("lms", {"lm": LM_FILE})
        return {name: self._inside(str(file), f"lms.{name}") for name, file in files.items()}

    def _inside(self, name: str, key: str) -> Path:
        """The path of a file that model.toml names, which may not leave the directory."""
        path = path_inside(self.directory, name)
        if path is None:
            raise InputError(
                f"{self.directory / MODEL_FILE}: {key}: {name!r} is outside of the model "
                "directory; copy the file into it, or make a link"
            )
        return path

    @cached_property
    def rules(self) -> RuleTable:
        """The rule table."""
        if not self.has_rules:
            raise InputError(
                f"{self.directory}: has no rule table, each sentence needs its own grammar"
            )
        path = self.directory / TABLE_FILE
        table = RuleTable.open(path)
        recorded, expected = table.info.get("system"), self.rule_system.extract_options.system
        hierarchical = table.statistics()["labels"] > 0
        if hierarchical and recorded not in (None, expected):
            raise InputError(
                f"{path}: rules of the system {recorded!r}, expected {expected!r} as in "
                f"{MODEL_FILE}; copy the whole model directory"
            )
        return table

    @cached_property
    def lms(self) -> dict[str, LanguageModel]:
        """The language models by feature name."""
        from hopefear.lm import LanguageModel

        return {name: LanguageModel.load(path) for name, path in self.lm_files.items()}

    @cached_property
    def lists(self) -> WordLists:
        """The word lists and classes of feature templates; older models lack them."""
        classes = self.directory / CLASSES_FILE
        word_classes = WordClasses.load(classes) if classes.is_file() else WordClasses()
        word_classes = replace(
            word_classes, tagger="tagger" in self.settings, place=str(self.directory)
        )
        path = self.directory / LISTS_FILE
        if path.is_file():
            return replace(WordLists.load(path), classes=word_classes)
        remedy = (
            "an imported model has none; give the template the option size=0, for all words"
            if "imported" in self.settings
            else "run the same 'hopefear train' again, which makes only these"
        )
        return WordLists(place=str(self.directory), remedy=remedy, classes=word_classes)

    @cached_property
    def tags(self) -> SentenceTags:
        """The part-of-speech tags of source sentences, by the model's tagger."""
        from hopefear.text.taggers import SentenceTags, make_tagger

        place, settings = f"{self.directory / MODEL_FILE}: tagger", self.settings["tagger"]
        name, tools = settings.get("name"), settings.get("tools", {})
        if not isinstance(name, str) or not isinstance(tools, dict):
            raise InputError(f'{place}: found {settings!r}, expected name = "…" and tools = {{…}}')
        language = str(self.settings["text"]["source"].get("language", "en"))
        try:
            tagger = make_tagger(name, language, self.lists.classes.source.tags)
        except OptionError as error:
            raise InputError(f"{place}: {error}") from None
        for tool, version in tagger.versions().items():
            if tools.get(tool, version) != version:
                warnings.warn(
                    f"{place}: made with {tool} {tools[tool]}, but {version} is installed; tags "
                    "may differ from those in tuning",
                    stacklevel=2,
                )
        return SentenceTags(tagger, name)

    @property
    def templates(self) -> dict[str, Mapping[str, Any]]:
        """The feature templates in use, with their options."""
        tables: dict[str, Any] = self.settings.get("features", {})
        templates: dict[str, Mapping[str, Any]] = {}
        for name, options in tables.items():
            if not isinstance(options, dict):
                raise InputError(
                    f"{self.directory / MODEL_FILE}: features.{name} is {options!r}, expected a "
                    f"table [features.{name}]"
                )
            try:
                cls: Any = registry.get("feature", name)
            except OptionError:  # unknown: an error once the template is made
                templates[name] = options
                continue
            if isinstance(options.get("file"), str):
                self._inside(options["file"], f"features.{name}.file")
            templates[name] = cls.inline_files(options, self.directory)
        return templates

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
        """Make the model's decoder; `options` that are not None override those of model.toml.

        `templates`: feature templates and their options, instead of the model's; `folds`: load the
        folds too, so that training sentences are decoded without their own (`Sentence.fold`).
        """
        cls = self.decoder_class
        fields = {field.name: field for field in config.fields_of(cls.options_class)}
        values = {k: v for k, v in self.settings.get("decoder", {}).items() if k not in _PARTS}
        for key in values:
            if key not in fields:
                raise InputError(
                    f"{self.directory / MODEL_FILE}: decoder.{key}: a {self.system} model has no "
                    f"such option; {suggestion(key, fields)}"
                )
        place = f"{self.directory / MODEL_FILE}: decoder"
        config.from_mapping(cls.options_class, values, place)  # errors name model.toml
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
        except OptionError as error:  # such as an unknown feature
            if templates is not None:
                raise
            raise OptionError(f"{self.directory / MODEL_FILE}: {error}") from None
        except InputError as error:  # such as two features of the same name
            if str(error).startswith(str(self.directory)):
                raise
            raise InputError(f"{self.directory}: {error}") from None

    @property
    def decoder_class(self) -> type[Decoder]:
        """The class of the model's decoder."""
        return self.rule_system.decoder_class

    def decoder_parts(self, templates: Mapping[str, Mapping[str, Any]] | None = None) -> ModelParts:
        """Rules, language models and features for a decoder; `templates` as in `decoder`."""
        from hopefear.decode.contract import FeatureSpec, ModelParts
        from hopefear.features.dense import ReorderingSpec

        settings = self.settings.get("decoder", {})
        specs = settings.get("features")
        features = None
        if specs is not None:
            place = f"{self.directory / MODEL_FILE}: decoder.features"
            features = {name: _feature(FeatureSpec, spec, place) for name, spec in specs.items()}
        reordering = None
        if "reordering" in settings:
            place = f"{self.directory / MODEL_FILE}: decoder.reordering"
            if not isinstance(settings["reordering"], dict):
                raise InputError(f"{place} is {settings['reordering']!r}, expected a table")
            reordering = config.from_mapping(ReorderingSpec, settings["reordering"], place)
        return ModelParts(
            rules=self.rules if self.has_rules else None,
            lms=self.lms,
            features=features,
            reordering=reordering,
            templates=self.templates if templates is None else templates,
            lists=self.lists,
            tagger=(lambda: self.tags) if "tagger" in self.settings else None,
        )

    def weights(
        self, path: PathLike | None = None, *, warn: Callable[[str], None] = warnings.warn
    ) -> Weights:
        """Load the weights of a file, by default those of the model."""
        from hopefear.base.weights import Weights

        if path is not None:
            return Weights.load(path)
        own = self.directory / WEIGHTS_FILE
        if own.is_file():
            return Weights.load(own)
        if "imported" in self.settings:
            raise InputError(f"{own}: no such file; import the model again, or give --weights")
        warn(f"{own}: no such file; using default weights; 'hopefear tune' learns better ones")
        columns = self.rules.columns if self.has_rules else ()
        return Weights(self.rule_system.default_weights(columns, list(self.lm_files)))

    @property
    def training_times(self) -> dict[str, dict[str, float]]:
        """The wall and CPU seconds of each training step, as far as they are known."""
        steps = self.settings.get("training", {}).get("steps", {})
        return training_times(self.directory / WORK, steps)

    def text(
        self, side: str, warn: Callable[[str], None] = warnings.warn, *, tokenized: bool = False
    ) -> TextPipeline:
        """The text steps of `source` or `target`, or those for text that is already tokenised."""
        mapping = self.settings["text"][side]
        if tokenized:
            return TextPipeline.as_it_is(subwords=load_subwords(self.directory, side, mapping))
        return TextPipeline.load(self.directory, side, mapping, warn=warn)

    def reference_steps(
        self, warn: Callable[[str], None] = warnings.warn, *, tokenized: bool = False
    ) -> Callable[[str], str]:
        """The function that turns a reference into the words that decoders produce."""
        target = self.text("target", warn, tokenized=tokenized)
        if tokenized and target.subwords is None:
            return str
        return lambda line: " ".join(target.prepare(line))

    @property
    def folds(self) -> list[Path]:
        """The directories of the folds: rules and a language model trained without each."""
        count = self.settings.get("training", {}).get("folds", 0)
        return [self.directory / FOLDS / str(number) for number in range(count)]

    def fold_files(self) -> list[Path]:
        """The rule tables and language models of all folds, which are checked to exist."""
        # With a separate text for the language model, all folds share that of the model.
        steps = self.settings.get("training", {}).get("steps", {})
        names = [TABLE_FILE, *([LM_FILE] if "lm_tokens" in steps.get("fold 0", {}) else [])]
        files = [place / name for place in self.folds for name in names]
        for path in files:
            if not path.is_file():
                raise InputError(f"{path}: no such file; copy the whole model directory")
        return files

    @cached_property
    def fold_parts(self) -> list[FoldParts]:
        """Rules and language model of each fold, memory-mapped."""
        from hopefear.decode.contract import FoldParts
        from hopefear.lm import LanguageModel

        files = self.fold_files()
        if not files:
            raise InputError(
                f"{self.directory}: has no folds; run the same 'hopefear train' again with "
                "--folds 5, which adds them"
            )
        parts = []
        for place in self.folds:
            lm = place / LM_FILE
            lms = {"lm": LanguageModel.load(lm)} if lm in files else self.lms
            parts.append(FoldParts(RuleTable.open(place / TABLE_FILE), lms))
        return parts


# Factor between the units of two systems; products with feature values stay finite.
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
    """Write model.toml, which makes the directory a finished model.

    It records digests of the text files, which have no checksums of their own. Those of the
    weights are left out: they may be replaced.
    """
    texts = [path for path in sorted(directory.glob("*.tsv")) if path.name != WEIGHTS_FILE]
    digests = {path.name: digest_of(path) for path in texts}
    with open_output(directory / MODEL_FILE) as file:
        tomli_w.dump({"format": FORMAT, **settings, "digests": digests}, file)
