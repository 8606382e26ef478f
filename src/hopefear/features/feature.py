"""The contract of feature templates.  A template is one file in this package.

A template takes the use of a rule at a place of the sentence and fires features
(`name:part|part…`) with values, independently of the decoder that calls it. It is a registered
dataclass; its options are its fields.

In Python, for prototypes: a template has no state and is called once for each rule at each span
(never in the inner loop of search), by engine threads that hold the GIL during the call. Copy
`phrase_length.py` to start.

    @register("feature", "phrase-length")
    @dataclass(frozen=True, kw_only=True)
    class PhraseLength(PythonFeature):
        longest: int = option(4, min=1, help="…")

        def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]: ...

Or a function that yields the parts after the name (docs/reference/features.md):

    @feature("question")
    def question(use: RuleUse) -> Iterable[tuple[str, float]]: ...

In C++, for speed and for features with a state along the target words: a `Template` of the engine
(cpp/features/feature.hpp), which registers itself under the same name, and an `EngineFeature` here
with its options. Copy `target_bigrams.py` and cpp/features/sparse/target_bigrams.cpp to start.

A template keeps no other state: equal calls fire equal features.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, cast

from hopefear._engine import FeatureTemplate, engine_template, python_template
from hopefear.base import config, registry
from hopefear.base.errors import InputError, OptionError
from hopefear.features.word_lists import WordLists
from hopefear.rules.table import Counts

Span = tuple[int, int]  # half-open


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A rule at a place of the sentence. A nonterminal in a side is its number, from 0."""

    source: tuple[str, ...]  #: the whole sentence
    span: Span
    source_side: tuple[str | int, ...]
    target_side: tuple[str | int, ...]
    links: tuple[tuple[int, int], ...] = ()  #: positions in the two sides
    gaps: tuple[Span, ...] = ()  #: spans of the nonterminals, for a template that `needs_gaps`
    scores: tuple[float, ...] = ()  #: the table's columns; empty for a rule that is in no table
    counts: Counts = field(default=Counts(0, 0, 0))
    rule: int = -1  #: its number in the table; -1: a copied word, or from markup
    #: Tags of the sentence's words, if a template `needs_tags` and the model has a tagger.
    tags: tuple[str, ...] = ()


class Feature(ABC):
    """Base class of all templates; subclasses are frozen dataclasses."""

    label: ClassVar[str] = ""  #: the prefix of its features' names: the registered name

    @classmethod
    def inline_files(cls, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return the options with names of files replaced by the files' content.

        A model that stores these options can be moved and has a complete record. File names are
        relative to `folder`.
        """
        return dict(options)

    @abstractmethod
    def make(self, lists: WordLists) -> FeatureTemplate:
        """Return the engine's template; `lists` are the model's word lists.

        A decoder calls this once. It must also keep a reference to the feature.
        """


class PythonFeature(Feature):
    """Base class of templates written in Python."""

    #: Whether the template uses `use.gaps`: it is then called at each edge of such a rule.
    needs_gaps: ClassVar[bool] = False
    needs_tags: ClassVar[bool] = False  #: whether the template uses `use.tags`

    @abstractmethod
    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        """Yield the names and values of features; a name is `self.label + ":" + …`."""

    def make(self, lists: WordLists) -> FeatureTemplate:
        # A weak reference: the feature may refer to the decoder (by a script's variables), and
        # Python does not collect reference cycles through the engine.
        reference = weakref.ref(self)

        def fire(use: RuleUse) -> Iterable[tuple[str, float]]:
            feature = reference()
            assert feature is not None, "the decoder keeps its features"
            return feature.fire(use)

        return python_template(self.label, fire, _make_use, self.needs_gaps, self.needs_tags)


class EngineFeature(Feature):
    """Base class of templates written in C++, in the file of that name in cpp/features/sparse/."""

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        """Return the options of the C++ template; by default the fields.

        Values are None, bool, int, float, str, or lists and tuples of these.
        """
        return {
            field.name: getattr(self, field.attribute) for field in config.fields_of(type(self))
        }

    def make(self, lists: WordLists) -> FeatureTemplate:
        return engine_template(self.label, self.engine_options(lists))


FireFunction = Callable[[RuleUse], Iterable[tuple[str, float]]]


def feature(
    name: str, *, needs_gaps: bool = False, needs_tags: bool = False
) -> Callable[[FireFunction], FireFunction]:
    """Return a decorator that registers a function as the template `name`.

    The function takes a `RuleUse` and yields pairs of a part and a value, for features `name:part`.
    """

    def decorate(function: FireFunction) -> FireFunction:
        def fire(self: PythonFeature, use: RuleUse) -> Iterator[tuple[str, float]]:
            pairs: Iterable[object] = function(use) or ()
            for pair in pairs:
                if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Real)):
                    raise InputError(
                        f"feature template {name}: yields {pair!r}, expected a part of the name "
                        "and a number; correct the template"
                    )
                yield f"{name}:{pair[0]}", float(pair[1])

        members = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "label": name,
            "needs_gaps": needs_gaps,
            "needs_tags": needs_tags,
            "fire": fire,
        }
        cls: type = dataclass(frozen=True)(type(function.__name__, (PythonFeature,), members))
        registry.register("feature", name)(cls)
        return function

    return decorate


def make_feature(name: str, options: Mapping[str, Any] | None = None) -> Feature:
    """Return the registered template of that name with validated options."""
    cls = registry.get("feature", name)
    template: Feature = config.from_mapping(cls, options or {}, name)
    return template


def parse_templates(
    texts: Iterable[str], known: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Parse `NAME` or `NAME:option=value:option=value`; return options by template name.

    Options that are not given are taken from `known`, the model's templates.
    """
    templates: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, *pairs = text.split(":")
        cls = cast(type[Feature], registry.get("feature", name))
        if name in templates:
            raise OptionError(f"--templates: {name} is given twice; give it once")
        try:
            options = config.parse_pairs(cls, pairs)
        except OptionError as error:
            raise OptionError(str(error).replace("--set", f"--templates {name}", 1)) from None
        templates[name] = {**known.get(name, {}), **cls.inline_files(options, Path())}
    return templates


def _make_use(
    source: tuple[str, ...],
    span: Span,
    source_side: tuple[str | int, ...],
    target_side: tuple[str | int, ...],
    links: tuple[tuple[int, int], ...],
    gaps: tuple[Span, ...],
    scores: tuple[float, ...],
    counts: tuple[float, float, float],
    rule: int,
    tags: tuple[str, ...],
) -> RuleUse:
    """Return a `RuleUse` made from the engine's values."""
    joint = Counts(*counts)
    return RuleUse(source, span, source_side, target_side, links, gaps, scores, joint, rule, tags)
