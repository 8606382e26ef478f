"""The contract of decoders: a sentence and weights go in, a forest comes out.

    decoder = Model.load("fr-en").decoder()                  # whatever the model's system is
    forest = decoder.decode("das haus", weights)
    for forest in decoder.decode_all(sentences, weights, threads=2): ...

`decode` with a target gives all derivations of that target (forced or constrained decoding).
Everything that is random, everything that learns, is elsewhere: equal arguments give equal bytes.

A decoder is registered under the name of its system and made from the parts of a model directory
(`Model.decoder()` does it):

    @register("decoder", "phrase")
    class PhraseDecoder(Decoder):
        options_class = PhraseOptions            # a dataclass of `option(...)` fields

        @classmethod
        def load(cls, parts, options): ...       # options: a PhraseOptions
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hopefear._engine import FeatureTemplate, Forest
from hopefear.base.errors import InputError
from hopefear.base.threads import in_order
from hopefear.base.weights import REST, FeatureNames, Weights
from hopefear.features.dense import FeatureSpec as FeatureSpec
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words

Tokens = str | Sequence[str]


@dataclass(frozen=True)
class Sentence:
    """What a decoder is given: words, and what the input file said about them."""

    words: tuple[str, ...]
    id: str = ""
    grammar: Path | None = None  # a grammar of its own (hierarchical)
    options: tuple[ForcedOption, ...] = ()  # translations forced by markup
    exclusive: bool = True  # no rule of the table may touch the spans of `options`
    leave_out: TrainingPair | None = None  # rules that the model has from this pair alone
    fold: int | None = None  # of the training text: decoded with what the others gave the model
    links: tuple[tuple[int, int], ...] | None = None  # of its words with those of its translation
    # What follows: feature templates of phrase search see it, it is not translated.
    after: tuple[str, ...] = ()
    # Parts of speech, of what follows, too; none: the model's tagger is asked if it has one.
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words = len(self.words) + len(self.after)
        if self.tags and len(self.tags) != words:
            raise InputError(
                f"sentence {self.id!r}: {len(self.tags)} tags for {words} words; give one for each "
                "word, or none"
            )

    @classmethod
    def of(cls, text: Sentence | Tokens, id: str = "") -> Sentence:
        if isinstance(text, Sentence):
            return text
        return cls(tuple(split_words(text) if isinstance(text, str) else text), id)

    def prefix(self, words: int) -> Sentence:
        """Its first words, as a sentence; the others are what follows."""
        within = tuple(option for option in self.options if option.end <= words)
        after = (*self.words[words:], *self.after)
        return replace(self, words=self.words[:words], options=within, after=after)


@dataclass(frozen=True)
class ForcedOption:
    """A translation that the input gives for a span of its words."""

    begin: int
    end: int
    target: tuple[str, ...]
    log_probability: float = 0.0


@dataclass(frozen=True)
class TrainingPair:
    """A sentence pair that the model was trained on, whose own rules are to be left out.

    A rule that was extracted from a single pair belongs to the pair of that number. If the number
    is not given (or the table does not have it: one of another system), it belongs to every pair
    whose two sides have it.
    """

    target: tuple[str, ...]
    number: int | None = None  # from 0, among those that rules were extracted from


class FoldParts(NamedTuple):
    """What a model has from its training text without one fold."""

    rules: RuleTable
    lms: Mapping[str, LanguageModel]


@dataclass(frozen=True)
class ModelParts:
    """What a model directory has for its decoder."""

    rules: RuleTable | None  # its columns are feature names; None: a grammar per sentence only
    lms: Mapping[str, LanguageModel]  # by the name of the feature, in order
    # The decoder's own features that the model has ("words", "distortion", …) and how it calls
    # them; "lm" says the factor for the language models (their names are in `lms`), "rules" for
    # the table's columns. None: all of them under their own names.
    features: Mapping[str, FeatureSpec] | None = None
    # Registered feature templates that are on, with their options.
    templates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists: WordLists = field(default_factory=WordLists)  # what some of them need
    # Makes what tags source words; asked for only where some template looks at tags.
    tagger: Callable[[], SentenceTags] | None = None
    folds: Sequence[FoldParts] = ()  # for sentences that say which fold they are of


class Decoder(ABC):
    """Base of all decoders. An object may be used by several threads at once."""

    options_class: ClassVar[type]  # what can be chosen about the search
    # Whether forests keep bins, all nodes that cover i words, and there is `best_spans`: what
    # search-aware tuning needs.
    has_bins: ClassVar[bool] = False
    names: FeatureNames  # of the features that its forests have
    tagger: SentenceTags | None = None  # if a template looks at tags
    # The names of the features that count words left as they are: a last resort, with a weight to
    # forbid it where there is anything else.
    untranslated: frozenset[str] = frozenset()

    @classmethod
    def load(cls, parts: ModelParts, options: Any) -> Decoder:
        """The decoder of a model; `options` is an object of `options_class`."""
        raise NotImplementedError

    @property
    @abstractmethod
    def dense(self) -> list[str]:
        """The names of the features that every model of this kind has, in a fixed order."""

    @abstractmethod
    def decode(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
        """Everything that search kept; with a target all of its derivations."""

    def tagged(self, text: Sentence | Tokens) -> Sentence:
        """The sentence with the tags of its words, if templates look at them."""
        sentence = Sentence.of(text)
        if self.tagger is None or sentence.tags or not sentence.words:
            return sentence
        return replace(sentence, tags=self.tagger((*sentence.words, *sentence.after)))

    def for_learner(self, number: int) -> Decoder:
        """What this learner of several uses; decoders with a state for each of them differ."""
        return self

    def summed(self) -> Decoder | None:
        """The same search, but its forests have one feature in place of all that templates fire:
        `REST`, their score under the weights of the search. Much less to write, for who wants
        translations and does not learn such features. None: nothing fires, or it cannot.
        """
        return None

    def summed_weights(self, weights: Weights) -> Weights:
        """Those for forests of `summed`."""
        return Weights({**{name: weights[name] for name in self.dense}, REST: 1.0})

    def language_weight(self, weights: Weights) -> float:
        """What a natural log of the language models counts, all of them together; 0: no model."""
        return 0.0

    def note(self, sentence: Sentence | Tokens) -> str | None:
        """What a person should know of how this sentence is searched, before it is: that a limit
        is lowered because it is so long, and the like. None: nothing.
        """
        return None

    def decode_all(
        self,
        sentences: Iterable[Sentence | Tokens],
        weights: Weights,
        *,
        targets: Iterable[Tokens] | None = None,
        threads: int = 1,
    ) -> Iterator[Forest]:
        """Forests in the order of the sentences, which are read as they are needed."""
        wanted: Iterable[Tokens | None] = repeat(None) if targets is None else targets
        pairs = zip(sentences, wanted, strict=False)
        yield from in_order(lambda pair: self.decode(pair[0], weights, pair[1]), pairs, threads)


def tagger_for(
    templates: Iterable[FeatureTemplate], make: Callable[[], SentenceTags] | None
) -> SentenceTags | None:
    """The model's tagger, if some template looks at tags."""
    return make() if make is not None and any(one.needs_tags for one in templates) else None
