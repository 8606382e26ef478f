"""The contract of feature templates.  A template is one file in this package.

A template looks at rules where they are used and fires features, `name:part|part…` with values. It
does not know which decoder calls it. It is a registered dataclass; its options are its fields.

In Python, to prototype: stateless, asked once for each rule at each span (never in the inner loop
of search), by engine threads that take the GIL for it. `phrase_length.py` is made to be copied.

    @register("feature", "phrase-length")
    @dataclass(frozen=True, kw_only=True)
    class PhraseLength(PythonFeature):
        longest: int = option(4, min=1, help="…")

        def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]: ...

Or just a function, which gives the parts behind the name (docs/reference/features.md):

    @feature("question")
    def question(use: RuleUse) -> Iterable[tuple[str, float]]: ...

In C++, for speed, and for features with a state that follows the target from word to word: a
`Template` of the engine (cpp/features/feature.hpp), which registers itself by the same name, and an
`EngineFeature` here, which has its options. `target_bigrams.py` with
cpp/features/sparse/target_bigrams.cpp is made to be copied.

Either way: no state outside of what the contract gives, equal calls fire equal features.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from hopefear._engine import FeatureTemplate, engine_template, python_template
from hopefear.base import config, registry
from hopefear.base.errors import OptionError
from hopefear.features.word_lists import WordLists
from hopefear.rules.table import Counts

Span = tuple[int, int]  # half-open


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A rule at a place of the sentence. A nonterminal of a side is its number, from 0."""

    source: tuple[str, ...]  # the whole sentence
    span: Span
    source_side: tuple[str | int, ...]
    target_side: tuple[str | int, ...]
    links: tuple[tuple[int, int], ...] = ()  # places in the two sides
    gaps: tuple[Span, ...] = ()  # what the nonterminals cover, for a template that `needs_gaps`
    scores: tuple[float, ...] = ()  # the table's columns; empty for a rule that is in no table
    counts: Counts = field(default=Counts(0, 0, 0))
    rule: int = -1  # its number in the table, -1: in none (passed through, or from markup)
    # Of the sentence's words, if a template `needs_tags` and the model has a tagger.
    tags: tuple[str, ...] = ()


class Feature(ABC):
    """Base of all templates; subclasses are frozen dataclasses."""

    label: ClassVar[str] = ""  # what its features' names begin with: the registered name

    @classmethod
    def settled(cls, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Options with what is in the files that they name, instead of the names: a model can be
        moved, and a run knows what it was made with. Names are relative to `folder`.
        """
        return dict(options)

    @abstractmethod
    def make(self, lists: WordLists) -> FeatureTemplate:
        """The engine's object; a decoder calls this once, and keeps the feature too. `lists`: the
        model's.
        """


class PythonFeature(Feature):
    """Base of templates written in Python."""

    # Whether `use.gaps` matters: then rules with nonterminals are asked about at each edge.
    needs_gaps: ClassVar[bool] = False
    needs_tags: ClassVar[bool] = False  # whether `use.tags` matters

    @abstractmethod
    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        """Names and values; a name is `self.label + ":" + …`."""

    def make(self, lists: WordLists) -> FeatureTemplate:
        # Weakly: what a feature's code can reach (a script's variables) may hold the decoder, and
        # Python does not collect circles that lead through the engine.
        reference = weakref.ref(self)

        def fire(use: RuleUse) -> Iterable[tuple[str, float]]:
            feature = reference()
            assert feature is not None, "the decoder keeps its features"
            return feature.fire(use)

        return python_template(self.label, fire, _make_use, self.needs_gaps, self.needs_tags)


class EngineFeature(Feature):
    """Base of templates written in C++: the file of the same name in cpp/features/sparse/."""

    def engine_options(self, lists: WordLists) -> dict[str, object]:
        """The options that the C++ half takes: the fields, unless a subclass says otherwise.

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
    """Decorator: registers a function as the template `name`.

    The function gives pairs of a part and a value; the feature is called `name:part`.
    """

    def decorate(function: FireFunction) -> FireFunction:
        def fire(self: PythonFeature, use: RuleUse) -> Iterator[tuple[str, float]]:
            for part, value in function(use):
                yield f"{name}:{part}", value

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
    """The registered template of that name, its options checked."""
    cls = registry.get("feature", name)
    made: Feature = config.from_mapping(cls, options or {}, name)
    return made


def parse_templates(
    texts: Iterable[str], known: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Templates by name with their options, from `NAME` or `NAME:option=value:option=value` each.

    Options that are not given are as in `known`, the model's own.
    """
    chosen: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, *pairs = text.split(":")
        cls = cast(type[Feature], registry.get("feature", name))
        if name in chosen:
            raise OptionError(f"--templates: {name} is given twice; give it once")
        try:
            given = config.parse_pairs(cls, pairs)
        except OptionError as error:
            raise OptionError(str(error).replace("--set", f"--templates {name}", 1)) from None
        chosen[name] = {**known.get(name, {}), **cls.settled(given, Path())}
    return chosen


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
    """How the engine's thread makes a use."""
    joint = Counts(*counts)
    return RuleUse(source, span, source_side, target_side, links, gaps, scores, joint, rule, tags)
