"""The contract of decoders: a decoder takes a `Request` (a sentence, weights and the kind of
result) and returns `Decoded` (a forest, and on request more).

    decoder = Model.load("fr-en").decoder()                  # for a model of any system
    forest = decoder.forest("das haus", weights)             # the hypotheses that survived pruning
    for forest in decoder.forests(sentences, weights, threads=2): ...

    decoded = decoder.decode(Request("das haus", weights, spans=True))
    decoded.forest, decoded.spans

Beside a search a request may ask for all derivations of a given translation (`target`), for the
derivations of a training pair or of its longest prefix (`gold`), or for the best translation of
every span (`spans`). It may also ask for less: sparse features collapsed into one score (`sparse`),
or without their names (`named`). A decoder declares its capabilities in `can`; a request that needs
any other is refused with an error.

Decoding neither learns nor draws random numbers, and does not change the decoder: equal requests
give equal bytes.

A decoder belongs to a system (`decode/systems/`). `Model.decoder()` creates it from the parts of a
model directory:

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
from hopefear.features.dense import FeatureSpec as FeatureSpec
from hopefear.features.dense import ReorderingSpec
from hopefear.features.feature import make_feature
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words

Tokens = str | Sequence[str]


@dataclass(frozen=True)
class Sentence:
    """The input of a decoder: source words with their annotations."""

    words: tuple[str, ...]
    id: str = ""
    grammar: Path | None = None  #: a grammar for this sentence (hierarchical)
    options: tuple[ForcedOption, ...] = ()  #: translations given by markup
    exclusive: bool = True  #: no rule of the table may overlap the spans of `options`
    leave_out: TrainingPair | None = None  #: leave out the rules extracted only from this pair
    fold: int | None = None  #: number of the fold to leave out: that of this training sentence
    links: tuple[tuple[int, int], ...] | None = None  #: word alignment to its translation
    #: Words that follow the sentence: visible to the templates of phrase search, not translated.
    after: tuple[str, ...] = ()
    #: Part-of-speech tags of `words` and `after`; empty: the model's tagger, if any, assigns them.
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
        """Return a `Sentence` as it is; make one of a string or a sequence of words."""
        if isinstance(text, Sentence):
            return text
        return cls(tuple(split_words(text) if isinstance(text, str) else text), id)

    def prefix(self, words: int) -> Sentence:
        """Return the sentence of the first `words` words; the others move to `after`."""
        within = tuple(option for option in self.options if option.end <= words)
        after = (*self.words[words:], *self.after)
        return replace(self, words=self.words[:words], options=within, after=after)


@dataclass(frozen=True)
class ForcedOption:
    """A translation that markup gives for the span [begin, end) of source words."""

    begin: int
    end: int
    target: tuple[str, ...]
    log_probability: float = 0.0


@dataclass(frozen=True)
class TrainingPair:
    """The target side and number of a training pair whose singleton rules are left out.

    A singleton rule (extracted from one sentence pair only) belongs to the pair with the number
    that the table records. Without a `number`, or if the table does not record numbers, it belongs
    to every pair that contains both of its sides.
    """

    target: tuple[str, ...]
    number: int | None = None  #: number among the pairs that rules were extracted from, from 0


MAX_STATES = 1_000_000  # default limit on the states of forced decoding, per sentence

#: The capabilities of decoders, with their descriptions for messages.
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
    """Return the part of a message that names a missing capability."""
    return f"needs {CAPABILITIES[capability]}, which {title} does not offer"


@dataclass(frozen=True, kw_only=True)
class GoldOptions:
    """How a training pair is decoded by force."""

    #: If the pair has no derivation, use its longest prefix of at least this number of source
    #: words; None: use no prefix.
    prefixes: int | None = None
    max_states: int = MAX_STATES  #: search stops at this number of states
    table_limit: int = 0  #: best phrases by the weights for each source phrase; 0: all


@dataclass(frozen=True)
class Request:
    """A sentence, weights, and the kind of result to compute."""

    sentence: Sentence | Tokens
    weights: Weights
    target: Tokens | None = None  #: return all derivations of this translation; no search
    #: "collapsed": the forest has one feature `SPARSE_SCORE`, the weighted sum of the sparse
    #: features, in place of them: a much smaller forest if their single values are not needed.
    sparse: Literal["full", "collapsed"] = "full"
    #: False: names of sparse features may be missing; `Decoder.name_features` adds them later.
    named: bool = True
    spans: bool = False  #: also return the best translation of every span
    gold: GoldOptions | None = None  #: with `target`: decode a training pair or its prefix by force

    def needs(self) -> Iterator[Capability]:
        """Yield the capabilities that the request requires."""
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
    """A training pair or a prefix of it; `Decoded.forest` has its derivations."""

    sentence: Sentence  #: the source; a prefix has the remaining words in `after`
    target: str  #: the target; for a prefix, the longest of its translations
    complete: bool = True  #: False for a prefix
    gave_up: bool = False  #: search reached `max_states`: derivations may be missing


@dataclass(frozen=True)
class Decoded:
    """The answer to a request."""

    forest: Forest  #: the hypotheses that survived pruning, or all derivations of the target
    spans: BestSpans | None = None
    gold: GoldPair | None = None


def own_pair(sentence: Sentence) -> tuple[Sequence[str], int] | None:
    """Return the pair whose rules are left out in the engine's form: its target and number."""
    pair = sentence.leave_out
    return None if pair is None else (pair.target, -1 if pair.number is None else pair.number)


class FoldParts(NamedTuple):
    """Rule table and language models trained without one fold of the training text."""

    rules: RuleTable
    lms: Mapping[str, LanguageModel]


@dataclass(frozen=True)
class ModelParts:
    """The parts of a model directory that a decoder is created from."""

    rules: RuleTable | None  #: columns are named as features; None: each sentence has a grammar
    lms: Mapping[str, LanguageModel]  #: language models by feature name, in order
    #: The decoder's own features that the model has ("words", "distortion", …), each with its name
    #: in the model and its unit; "lm" sets the unit of the language models (their names are in
    #: `lms`), "rules" that of the table's columns. None: all, under the decoder's names.
    features: Mapping[str, FeatureSpec] | None = None
    #: Of the table's reordering scores; None: as in our tables, msd backward or bidirectional.
    reordering: ReorderingSpec | None = None
    #: Names of the active feature templates, with their options.
    templates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists: WordLists = field(default_factory=WordLists)  #: word lists for the templates
    #: Creates the tagger of source words; called only if a template uses tags.
    tagger: Callable[[], SentenceTags] | None = None
    folds: Sequence[FoldParts] = ()  #: parts for decoding sentences with a `fold`

    def keywords(self) -> dict[str, Any]:
        """Return the arguments that the constructors of our decoders share, by name."""
        return {
            "features": self.features,
            "templates": [make_feature(name, values) for name, values in self.templates.items()],
            "lists": self.lists,
            "tagger": self.tagger,
            "folds": self.folds,
        }


class Decoder(ABC):
    """Base class of all decoders. Threads may share an object."""

    options_class: ClassVar[type]  #: the dataclass of its search options
    title: str = "this decoder"  #: its name in messages
    can: frozenset[Capability] = frozenset()  #: the capabilities of the decoder
    names: FeatureNames  #: names of the features in its forests
    tagger: SentenceTags | None = None  #: tagger of source words, if a template uses tags
    #: Names of the features that count untranslated (copied) words. Copying is a last resort, which
    #: their weights make costlier than any translation.
    untranslated: frozenset[str] = frozenset()

    @classmethod
    def load(cls, parts: ModelParts, options: Any) -> Decoder:
        """Create the decoder of a model; `options` is an object of `options_class`."""
        raise NotImplementedError

    @property
    @abstractmethod
    def dense(self) -> list[str]:
        """The names of the features that do not depend on the sentence, in a fixed order."""

    @abstractmethod
    def answer(self, request: Request) -> Decoded:
        """Answer a request that needs no capability beyond `can`."""

    def decode(self, request: Request) -> Decoded:
        """Answer a request; raise an `InputError` if it needs a capability that is not in `can`."""
        self.check(request)
        return self.answer(request)

    def decode_all(self, requests: Iterable[Request], *, threads: int = 1) -> Iterator[Decoded]:
        """Yield the answers in the order of the requests, which are read lazily."""
        yield from in_order(self.decode, requests, threads)

    def forest(
        self, sentence: Sentence | Tokens, weights: Weights, target: Tokens | None = None
    ) -> Forest:
        """Return the forest of a search, or with a target the forest of all its derivations."""
        return self.decode(Request(sentence, weights, target)).forest

    def forests(
        self, sentences: Iterable[Sentence | Tokens], weights: Weights, *, threads: int = 1
    ) -> Iterator[Forest]:
        """Yield the forests of several sentences, in their order."""
        requests = (Request(sentence, weights) for sentence in sentences)
        return (decoded.forest for decoded in self.decode_all(requests, threads=threads))

    def check(self, request: Request) -> None:
        """Raise an `InputError` if a request needs a capability that the decoder lacks."""
        for capability in request.needs():
            if capability not in self.can:
                id = Sentence.of(request.sentence).id
                raise InputError(f"sentence {id!r}: {refusal(capability, self.title)}")

    def require(self, capability: Capability, user: str, remedy: str) -> None:
        """Raise an `OptionError` if the decoder lacks a capability that `user` needs."""
        if capability not in self.can:
            raise OptionError(f"{user}: {refusal(capability, self.title)}; {remedy}")

    def full_features(self, sentence: Sentence | Tokens, derivation: Derivation) -> SparseVector:
        """Return all features of a derivation of a forest whose sparse features are collapsed.

        For learning, which searches with one number for all sparse features and moves the weights
        of few derivations. A decoder that can "collapse" offers it.
        """
        raise NotImplementedError(f"{type(self).__name__}.full_features")

    def name_features(
        self, sentence: Sentence | Tokens, derivation: Derivation, wanted: SparseVector
    ) -> None:
        """Add the names of the features in `wanted` that a derivation has to `names`.

        For derivations from a request with `named=False`: templates may fire millions of features,
        few of which get a weight. By default does nothing: all names are known already.
        """
        return

    def collapsed_weights(self, weights: Weights) -> Weights:
        """Return the weights for forests whose sparse features are collapsed into one score."""
        return Weights({**{name: weights[name] for name in self.dense}, SPARSE_SCORE: 1.0})

    def tagged(self, text: Sentence | Tokens) -> Sentence:
        """Return the sentence, with tags if a template uses them."""
        sentence = Sentence.of(text)
        if self.tagger is None or sentence.tags or not sentence.words:
            return sentence
        return replace(sentence, tags=self.tagger((*sentence.words, *sentence.after)))

    def for_learner(self, number: int) -> Decoder:
        """Return the decoder of one of several learners: this one, unless each needs its own."""
        return self

    def language_weight(self, weights: Weights) -> float:
        """Return the summed weight of the language models, per natural log; 0 without models."""
        return 0.0

    def note(self, sentence: Sentence | Tokens) -> str | None:
        """Return a remark on the search for this sentence, such as a limit lowered because of its
        length; None if there is none.
        """
        return None


def tagger_for(
    templates: Iterable[FeatureTemplate], make: Callable[[], SentenceTags] | None
) -> SentenceTags | None:
    """Create and return the model's tagger if a template uses tags."""
    return make() if make is not None and any(t.needs_tags for t in templates) else None
