"""Phrase-based decoding, left to right with bins by the number of covered words.
[koehn2004beam, huang2007, yu2013, liu2014]

    decoder = PhraseDecoder(RuleTable.open("rules.bin"), {"lm": LanguageModel.load("lm.bin")})
    forest = decoder.forest("la maison", weights)

Goes in: a sentence (any number of words up to 10,000) and weights. Comes out: a forest with
everything that survived, in all bins. Its first node is the empty hypothesis; a node's labels are
the number of covered words, which ones, and the span of the last phrase; every edge adds a phrase
to one node, so the source span of an edge is what its head covers and its tail does not. The edges
of the goal, which covers all words too, add the end of the sentence. `rules` has the number of a
phrase pair in the table, -1 for a word that was passed through or an option of the input.

Features. `words`: target words; `phrases`: phrases, a word passed through is one; `distortion`:
minus the sum of |start of a phrase - end of the one before|, nothing at the end; `unknown`: words
passed through, namely those for which the table has no phrase of that one word; `lm`: natural log
probability of the output, `<s>` and `</s>` included; the table's own columns; reordering columns
by the orientation of a phrase to the one before (backward: of the current phrase pair, forward: of
the previous one; no forward score for the last phrase). An imported model has names and units of
its own (`FeatureSpec`).

Long sentences: beyond `long_sentence` words the beam and the pop limit shrink in proportion (to no
less than 10 and 30), and no jump is wider than that many words, so that neither time nor memory
runs away; `note` says so. More than 10,000 words are refused with a message.

Weights must not change while a sentence is being decoded with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from hopefear._engine import (
    Derivation,
    PhraseInput,
    PhraseModel,
    PhraseSettings,
    SparseVector,
)
from hopefear.base.config import option
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
from hopefear.decode.contract import (
    Capability,
    Decoded,
    Decoder,
    FeatureSpec,
    FoldParts,
    ModelParts,
    Request,
    Sentence,
    Tokens,
    tagger_for,
)
from hopefear.decode.forced import force
from hopefear.decode.gold import gold_pair
from hopefear.features.feature import Feature, make_feature
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words

COUNTS = ("words", "phrases", "distortion", "unknown")  # the order of the engine
_SIGNS = {"distortion": -1.0}  # the engine counts words jumped over


@dataclass(frozen=True, kw_only=True)
class PhraseOptions:
    """What can be chosen about the search."""

    search: Literal["cube", "stack"] = option(
        "cube", help="cube pruning, or every hypothesis with every option (slow, to compare with)"
    )
    beam: int = option(100, min=1, max=1_000_000, help="hypotheses kept for each number of words")
    pop_limit: int = option(
        500, min=1, max=100_000_000, help="hypotheses that cube pruning makes for each bin"
    )
    threshold: float = option(
        0.0, min=0, help="drop what is so much below the best of its bin; 0: nothing"
    )
    distortion_limit: int = option(
        6, min=-1, max=1_000_000, help="widest jump in source words; -1: any"
    )
    table_limit: int = option(
        20,
        min=0,
        max=1_000_000_000,
        help="translations of a source phrase, best by the weights at hand; 0: all",
    )
    long_sentence: int = option(
        250,
        min=0,
        max=1_000_000_000,
        help="shrink beam, pop limit and jumps for sentences of more words; 0: never",
    )

    def settings(self) -> PhraseSettings:
        return PhraseSettings(
            stack=self.search == "stack",
            beam=self.beam,
            pop_limit=self.pop_limit,
            threshold=self.threshold,
            distortion_limit=self.distortion_limit,
            table_limit=self.table_limit,
            long_sentence=self.long_sentence,
        )


class PhraseUse(NamedTuple):
    """A phrase of a derivation: source words [begin, end) and their translation."""

    begin: int
    end: int
    target: Sequence[str]


class PhraseDecoder(Decoder):
    """Read-only; may be shared by threads."""

    options_class: ClassVar[type] = PhraseOptions
    title = "phrase-based search"
    can = frozenset({"target", "gold", "spans", "markup", "leave-out"})  # and see __init__

    def __init__(
        self,
        rules: RuleTable,
        lms: Mapping[str, LanguageModel],
        *,
        features: Mapping[str, FeatureSpec] | None = None,
        templates: Iterable[Feature] = (),
        lists: WordLists | None = None,
        options: PhraseOptions | None = None,
        names: FeatureNames | None = None,
        tagger: Callable[[], SentenceTags] | None = None,
        folds: Sequence[FoldParts] = (),
    ) -> None:
        """`features`, as in `ModelParts`: which of `COUNTS` there are, by the model's names; the
        factor of "lm". None: all, by their own names. `lists`: the words that templates know;
        `tagger`: what tags a sentence for them. `folds`: what sentences are decoded with that say
        which fold they are of.
        """
        self.rules, self.lms = rules, dict(lms)
        self.options = options if options is not None else PhraseOptions()
        self.names = names if names is not None else FeatureNames()
        self.templates = list(templates)
        if features is None:
            features = {name: FeatureSpec(name) for name in COUNTS}
        _check(features)
        if "unknown" in features:
            self.untranslated = frozenset({features["unknown"].name})
        # A log10 of 1 is the natural log ln 10, times the model's factor.
        self._lm_unit = features["lm"].factor if "lm" in features else 1.0
        unit = math.log(10) * self._lm_unit
        counts = []
        for name in COUNTS:
            spec = features.get(name)
            sign = _SIGNS.get(name, 1.0)
            counts.append((spec.name, sign * spec.factor) if spec is not None else ("", 0.0))
        made = [template.make(lists or WordLists()) for template in self.templates]
        self.tagger = tagger_for(made, tagger)
        self.engine, *self._folds = (
            PhraseModel(
                table=part.rules.engine,
                lms=[(lm.engine, name, unit) for name, lm in part.lms.items()],
                counts=counts,
                templates=made,
            )
            for part in (FoldParts(rules, self.lms), *folds)
        )
        self.settings = self.options.settings()
        for name in self.engine.dense:
            self.names.intern(name)
        more: dict[Capability, object] = {"collapse": self.templates, "folds": folds}
        self.can |= {capability for capability, parts in more.items() if parts}

    @classmethod
    def load(cls, parts: ModelParts, options: PhraseOptions) -> PhraseDecoder:
        if parts.rules is None:
            raise InputError("a phrase model needs a rule table; train or import one")
        templates = [make_feature(name, values) for name, values in parts.templates.items()]
        return cls(
            parts.rules,
            parts.lms,
            features=parts.features,
            templates=templates,
            lists=parts.lists,
            tagger=parts.tagger,
            options=options,
            folds=parts.folds,
        )

    def engine_of(self, sentence: Sentence | Tokens) -> PhraseModel:
        """What a sentence is decoded with: the whole model, or what leaves its fold out."""
        fold = sentence.fold if isinstance(sentence, Sentence) else None
        return self.engine if fold is None else self._folds[fold]

    @property
    def dense(self) -> list[str]:
        return list(self.engine.dense)

    def language_weight(self, weights: Weights) -> float:
        return self._lm_unit * sum(float(weights[name]) for name in self.lms)

    def answer(self, request: Request) -> Decoded:
        if request.gold is not None:
            return gold_pair(self, request, request.gold)
        if request.target is not None:
            found = force(self, request.sentence, request.target, named=request.named)
            if found.limit_hit:
                raise InputError(
                    f"sentence {Sentence.of(request.sentence).id!r}: forced decoding made "
                    f"{found.states:,} states and gave up; lower the distortion limit or call "
                    "decode.forced.force with a larger max_states"
                )
            return Decoded(found.forest)
        collapsed = request.sparse == "collapsed"
        forest, spans = self.engine_of(request.sentence).decode(
            self.engine_input(request.sentence),
            weights=request.weights.table,
            settings=self.settings,
            names=self.names,
            named=request.named,
            summed=self.names.intern(SPARSE_SCORE) if collapsed else 0,
        )
        # Search has the spans in any case: they are its future costs.
        return Decoded(forest, spans if request.spans else None)

    def name_features(
        self, sentence: Sentence | Tokens, derivation: Derivation, wanted: SparseVector
    ) -> None:
        self.engine_of(sentence).name_features(
            self.engine_input(sentence),
            forest=derivation.forest,
            edges=derivation.edges,
            wanted=wanted,
            names=self.names,
        )

    def score_derivation(
        self, sentence: Sentence | Tokens, phrases: Iterable[PhraseUse | tuple[Any, ...]]
    ) -> SparseVector:
        """The features of a derivation given by its phrases `(begin, end, target)` in the order of
        the output. Table limit and distortion limit do not matter.
        """
        uses = [
            (begin, end, split_words(target) if isinstance(target, str) else tuple(target))
            for begin, end, target in phrases
        ]
        return self.engine_of(sentence).score_derivation(
            self.engine_input(sentence), phrases=uses, names=self.names
        )

    def note(self, sentence: Sentence | Tokens) -> str | None:
        """What is done otherwise than the options say because the sentence is so long."""
        words = len(Sentence.of(sentence).words)
        limits = dict(
            zip(("beam", "pop_limit", "distortion_limit"), self.settings.limits(words), strict=True)
        )
        if self.options.search == "stack":
            del limits["pop_limit"]
        changed = [
            f"{name.replace('_', ' ')} {value}"
            for name, value in limits.items()
            if value != getattr(self.options, name)
        ]
        return f"{words} words: searched with {', '.join(changed)}" if changed else None

    def engine_input(self, text: Sentence | Tokens) -> PhraseInput:
        """A sentence as the engine takes it."""
        sentence = self.tagged(text)
        pair = sentence.leave_out
        return PhraseInput(
            words=sentence.words,
            after=sentence.after,
            tags=sentence.tags,
            id=sentence.id,
            options=[(o.begin, o.end, o.target, o.log_probability) for o in sentence.options],
            exclusive=sentence.exclusive,
            leave_out=None
            if pair is None
            else (pair.target, -1 if pair.number is None else pair.number),
        )


def _check(features: Mapping[str, FeatureSpec]) -> None:
    for name, spec in features.items():
        if name not in (*COUNTS, "lm", "rules"):
            raise OptionError(
                f"features.{name}: phrase search has no such feature; {suggestion(name, COUNTS)}"
            )
        if name == "rules" and spec.factor != 1:
            raise OptionError(
                f"features.rules: factor {spec.factor}, expected 1: phrase tables are in natural "
                "logs; import the table again"
            )
