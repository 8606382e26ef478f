"""The contract of decoders: a request names a sentence, weights and what is wanted; the
answer holds it.

    decoder = Model.load("fr-en").decoder()                  # whatever the model's system is
    forest = decoder.forest("das haus", weights)             # all that search kept
    for forest in decoder.forests(sentences, weights, threads=2): ...

    decoded = decoder.decode(Request("das haus", weights, spans=True))
    decoded.forest, decoded.spans

A request may ask for more than a search: all derivations of a given translation (`target`), those
of a sentence pair to learn from or of its longest prefix (`gold`), the best translation of every
span (`spans`), or less: sparse features collapsed into one score (`sparse`), or without their names
(`named`). What a decoder is able to do is declared in `can`; a request for anything else is
refused with one message. A decoder is never changed by those who use it.

Everything that is random, everything that learns, is elsewhere: equal requests give equal bytes.

A decoder belongs to a system (`decode/systems/`) and is made from the parts of a model directory
(`Model.decoder()` does it):

    class PhraseDecoder(Decoder):
        options_class = PhraseOptions            # a dataclass of `option(...)` fields

        @classmethod
        def load(cls, parts, options): ...       # options: a PhraseOptions
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from hopefear._engine import BestSpans, Derivation, FeatureTemplate, Forest, SparseVector
from hopefear.base.errors import InputError, OptionError
from hopefear.base.threads import in_order
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
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


@dataclass(frozen=True)
class FeatureSpec:
    """How a model calls one of the decoder's own features, and its unit.

    The feature's value is `factor` times what the decoder counts: with the factor 1 language
    models and tables are in natural logs, `words`, `phrases`, `unknown` and the like are numbers of
    such things, `distortion` is minus the sum of the jumps' widths.
    """

    name: str
    factor: float = 1.0


MAX_STATES = 1_000_000  # of forced decoding, for one sentence

#: What a decoder may be able to do, and how messages call it.
Capability = Literal[
    "target", "gold", "spans", "collapse", "markup", "grammar", "leave-out", "folds"
]
CAPABILITIES: Mapping[Capability, str] = {
    "target": "all derivations of a given translation",
    "gold": "forced decoding of sentence pairs and their prefixes",
    "spans": "bins and the best translations of spans",
    "collapse": "sparse features collapsed into one score",
    "markup": "translations given by markup",
    "grammar": "a grammar for each sentence",
    "leave-out": "leaving out the rules of a training pair",
    "folds": "decoding without a fold of the training text",
}


def refusal(capability: Capability, title: str) -> str:
    """The part of a message that says what is missing."""
    return f"needs {CAPABILITIES[capability]}, which {title} does not offer"


@dataclass(frozen=True, kw_only=True)
class GoldOptions:
    """How a sentence pair becomes an example to learn from."""

    # Of a pair without a derivation: its longest prefix of at least so many source words; None: no
    # prefix.
    prefixes: int | None = None
    max_states: int = MAX_STATES  # search gives up beyond
    table_limit: int = 0  # phrases of a source phrase, the best by the weights; 0: all


@dataclass(frozen=True)
class Request:
    """What a decoder is asked for."""

    sentence: Sentence | Tokens
    weights: Weights
    target: Tokens | None = None  # all derivations of this translation, instead of a search
    # "collapsed": the forest has one feature `SPARSE_SCORE`, the score of the sparse features under
    # the weights, in place of them. Much less to write, where nobody looks at them one by one.
    sparse: Literal["full", "collapsed"] = "full"
    # False: names of sparse features may be missing; `Decoder.name_features` gives them later.
    named: bool = True
    spans: bool = False  # also the best translation of every span
    gold: GoldOptions | None = None  # with `target`: make an example to learn from

    def needs(self) -> Iterator[Capability]:
        """The capabilities that the request takes."""
        if self.gold is not None:
            yield "gold"
        elif self.target is not None:
            yield "target"
        if self.spans:
            yield "spans"
        if self.sparse == "collapsed":
            yield "collapse"
        if isinstance(self.sentence, Sentence):
            if self.sentence.options:
                yield "markup"
            if self.sentence.grammar is not None:
                yield "grammar"
            if self.sentence.leave_out is not None:
                yield "leave-out"
            if self.sentence.fold is not None:
                yield "folds"


@dataclass(frozen=True)
class GoldPair:
    """A sentence pair to learn from, or a prefix of it; its derivations are the forest beside."""

    sentence: Sentence  # of a prefix its words, the others as what follows
    target: str  # of a prefix the longest one
    complete: bool = True  # False: a prefix
    gave_up: bool = False  # search made too many states: there may be derivations


@dataclass(frozen=True)
class Decoded:
    """The answer to a request."""

    forest: Forest  # everything that search kept, or all derivations of the target
    spans: BestSpans | None = None
    gold: GoldPair | None = None


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
    title: str = "this decoder"  # how messages call it
    can: frozenset[Capability] = frozenset()  # what it is able to do
    names: FeatureNames  # of the features that its forests have
    tagger: SentenceTags | None = None  # if a template looks at tags
    # The names of the features that count untranslated (copied) words: a last resort, with a weight
    # to forbid it where there is anything else.
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
    def answer(self, request: Request) -> Decoded:
        """Answer a request that the decoder is able to answer."""

    def decode(self, request: Request) -> Decoded:
        """Answer a request; an `InputError` if it takes what the decoder `can` not do."""
        self.check(request)
        return self.answer(request)

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """Answers in the order of the requests, which are read as they are needed."""
        yield from in_order(self.decode, requests, threads)

    def forest(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
        """Everything that search kept; with a target all of its derivations."""
        return self.decode(Request(sentence, weights, target)).forest

    def forests(
        self, sentences: Iterable[Sentence | Tokens], weights: Weights, *, threads: int = 1
    ) -> Iterator[Forest]:
        """The forests of many sentences, in their order."""
        requests = (Request(sentence, weights) for sentence in sentences)
        return (decoded.forest for decoded in self.decode_all(requests, threads=threads))

    def check(self, request: Request) -> None:
        """Refuse a request that takes what the decoder is not able to do."""
        for capability in request.needs():
            if capability not in self.can:
                id = Sentence.of(request.sentence).id
                raise InputError(f"sentence {id!r}: {refusal(capability, self.title)}")

    def require(self, capability: Capability, who: str, remedy: str) -> None:
        """Refuse, before anything is decoded, that `who` uses a decoder without a capability."""
        if capability not in self.can:
            raise OptionError(f"{who}: {refusal(capability, self.title)}; {remedy}")

    def name_features(
        self, sentence: Sentence | Tokens, derivation: Derivation, wanted: SparseVector
    ) -> None:
        """Name those of the wanted features that a derivation has, after a request without names.

        Templates may fire millions of features, of which few get a weight. The default suits
        decoders whose forests have all names in any case.
        """
        return

    def collapsed_weights(self, weights: Weights) -> Weights:
        """The weights for forests whose sparse features are collapsed into one score."""
        return Weights({**{name: weights[name] for name in self.dense}, SPARSE_SCORE: 1.0})

    def tagged(self, text: Sentence | Tokens) -> Sentence:
        """The sentence with the tags of its words, if templates look at them."""
        sentence = Sentence.of(text)
        if self.tagger is None or sentence.tags or not sentence.words:
            return sentence
        return replace(sentence, tags=self.tagger((*sentence.words, *sentence.after)))

    def for_learner(self, number: int) -> Decoder:
        """What this learner of several uses; decoders with a state for each of them differ."""
        return self

    def language_weight(self, weights: Weights) -> float:
        """The weight of a natural log of all language models together; 0: no model."""
        return 0.0

    def note(self, sentence: Sentence | Tokens) -> str | None:
        """A remark on how this sentence is searched, such as a limit that is lowered because of
        its length; None: nothing to remark.
        """
        return None


def tagger_for(
    templates: Iterable[FeatureTemplate], make: Callable[[], SentenceTags] | None
) -> SentenceTags | None:
    """The model's tagger, if some template looks at tags."""
    return make() if make is not None and any(t.needs_tags for t in templates) else None
