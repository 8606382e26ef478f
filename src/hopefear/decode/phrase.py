"""Phrase-based decoding, left to right, with a bin for each number of covered words.
[koehn2004beam, huang2007, yu2013, liu2014]

    decoder = PhraseDecoder(RuleTable.open("rules.bin"), {"lm": LanguageModel.load("lm.bin")})
    forest = decoder.forest("la maison", weights)

Takes a sentence (up to 10,000 words) and weights and returns a forest of the hypotheses that
survived pruning in any bin. Its first node is the empty hypothesis. A node's labels are the number
of covered words, which words they are, and the span of the last phrase. Every edge adds a phrase to
one node, so the source span of an edge is the words that its head covers and its tail does not. The
goal also covers all words; its edges add the end of the sentence. `rules` has the number of a
phrase pair in the table, or -1 for an untranslated (copied) word and for a translation from markup.

Features:

- `words`: target words
- `phrases`: phrases; a copied word is one
- `distortion`: minus the sum of |start of a phrase - end of the previous one|; the jump to the end
  of the sentence is free
- `unknown`: copied words; a word is copied if the table has no phrase of that single word
- `lm`: natural log probability of the output, including `<s>` and `</s>`
- the columns of the table, and its reordering columns by the position of a phrase relative to the
  previous one (backward scores: of the current phrase pair; forward scores: of the previous one, so
  that the last phrase has none)

An imported model may have other names and units (`FeatureSpec`) and another kind of reordering
(`ReorderingSpec`).

In a sentence of more than `long_sentence` words, beam and pop limit shrink in proportion (to no
less than 10 and 30) and no jump is wider than that number of words, which bounds time and memory;
`note` reports it. A sentence of more than 10,000 words is refused.

Weights must not change while a sentence is being decoded with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from hopefear._engine import (
    Derivation,
    PhraseInput,
    PhraseModel,
    PhraseSettings,
    SparseVector,
)
from hopefear.base.config import option
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import SPARSE_SCORE, FeatureNames, Weights
from hopefear.decode.contract import (
    Capability,
    Decoded,
    Decoder,
    FoldParts,
    ModelParts,
    Request,
    Sentence,
    Tokens,
    own_pair,
    tagger_for,
)
from hopefear.decode.forced import force
from hopefear.decode.gold import gold_pair
from hopefear.features.dense import (
    EARLY_DISTORTION,
    OWN_PHRASE,
    UNKNOWN_BY,
    FeatureSpec,
    ReorderingSpec,
    check_features,
    engine_features,
    lm_factor,
)
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words


@dataclass(frozen=True, kw_only=True)
class PhraseOptions:
    """The options of phrase-based search."""

    search: Literal["cube", "stack"] = option(
        "cube", help="search algorithm: cube pruning, or exhaustive stack expansion (slow)"
    )
    beam: int = option(100, min=1, max=1_000_000, help="largest number of hypotheses in a bin")
    pop_limit: int = option(
        500, min=1, max=100_000_000, help="hypotheses that cube pruning generates for a bin"
    )
    threshold: float = option(
        0.0,
        min=0,
        help="largest score difference to the best hypothesis of a bin; 0: unlimited",
    )
    distortion_limit: int = option(
        6, min=-1, max=1_000_000, help="widest jump in source words; -1: unlimited"
    )
    table_limit: int = option(
        20,
        min=0,
        max=1_000_000_000,
        help="translations per source phrase, the best by the current weights; 0: all",
    )
    long_sentence: int = option(
        250,
        min=0,
        max=1_000_000_000,
        help="source words above which beam, pop limit and jumps are reduced; 0: never",
    )

    def settings(self) -> PhraseSettings:
        """Return the options in the engine's form."""
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
    """A phrase of a derivation: a span [begin, end) of source words and its translation."""

    begin: int
    end: int
    target: Sequence[str]


class PhraseDecoder(Decoder):
    """The decoder of phrase models; see the module. Threads may share an object."""

    options_class: ClassVar[type] = PhraseOptions
    title = "phrase-based search"
    can = frozenset({"target", "gold", "spans", "markup", "leave-out"})  # __init__ may add some

    def __init__(
        self,
        rules: RuleTable,
        lms: Mapping[str, LanguageModel],
        *,
        features: Mapping[str, FeatureSpec] | None = None,
        reordering: ReorderingSpec | None = None,
        templates: Iterable[Feature] = (),
        lists: WordLists | None = None,
        options: PhraseOptions | None = None,
        names: FeatureNames | None = None,
        tagger: Callable[[], SentenceTags] | None = None,
        folds: Sequence[FoldParts] = (),
    ) -> None:
        """Take a rule table, language models by feature name, and optional parts (`ModelParts`).

        `features`: names and units of the features of `dense.PHRASE` that the model has, and the
        unit of "lm"; None: all of them, under their own names. "early-distortion" replaces
        "distortion"; "unknown.NAME" counts the words that the language model NAME lacks.
        """
        self.rules, self.lms = rules, dict(lms)
        self.options = options if options is not None else PhraseOptions()
        self.names = names if names is not None else FeatureNames()
        self.templates = list(templates)
        features = OWN_PHRASE if features is None else features
        unknown = (UNKNOWN_BY + name for name in self.lms)
        known = (*OWN_PHRASE, "rules", EARLY_DISTORTION, *unknown)
        check_features("phrase search", features, known)
        if "distortion" in features and EARLY_DISTORTION in features:
            raise OptionError(
                f"features.{EARLY_DISTORTION}: the model has the feature distortion, too; keep one"
            )
        if "rules" in features and features["rules"].factor != 1:
            raise OptionError(
                f"features.rules: factor {features['rules'].factor}, expected 1: phrase tables are "
                "in natural logs; import the table again"
            )
        if "unknown" in features:
            self.untranslated = frozenset({features["unknown"].name})
        self._lm_unit = lm_factor(features)
        unit = math.log(10) * self._lm_unit  # the engine's language models are in log10
        engine_templates = [template.make(lists or WordLists()) for template in self.templates]
        self.tagger = tagger_for(engine_templates, tagger)
        self.engine, *self._folds = (
            PhraseModel(
                table=part.rules.engine,
                lms=[(lm.engine, name, unit) for name, lm in part.lms.items()],
                features=engine_features(features),
                reordering=None if reordering is None else reordering.to_engine(),
                templates=engine_templates,
            )
            for part in (FoldParts(rules, self.lms), *folds)
        )
        self.settings = self.options.settings()
        for name in self.engine.dense:
            self.names.intern(name)
        optional: dict[Capability, object] = {"collapse": self.templates, "folds": folds}
        self.can |= {capability for capability, parts in optional.items() if parts}

    @classmethod
    def load(cls, parts: ModelParts, options: PhraseOptions) -> PhraseDecoder:
        if parts.rules is None:
            raise InputError("a phrase model needs a rule table; train or import one")
        return cls(
            parts.rules,
            parts.lms,
            reordering=parts.reordering,
            options=options,
            **parts.keywords(),
        )

    def engine_of(self, sentence: Sentence | Tokens) -> PhraseModel:
        """Return the engine's model for a sentence: the full one, or the one without its fold."""
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
            gold = force(self, request.sentence, request.target, named=request.named)
            if gold.limit_hit:
                raise InputError(
                    f"sentence {Sentence.of(request.sentence).id!r}: forced decoding made "
                    f"{gold.states:,} states and gave up; lower the distortion limit or call "
                    "decode.forced.force with a larger max_states"
                )
            return Decoded(gold.forest)
        collapsed = request.sparse == "collapsed"
        forest, spans = self.engine_of(request.sentence).decode(
            self.engine_input(request.sentence),
            weights=request.weights.table,
            settings=self.settings,
            names=self.names,
            named=request.named,
            summed=self.names.intern(SPARSE_SCORE) if collapsed else 0,
        )
        # Search always computes the spans: they are its future costs.
        return Decoded(forest, spans if request.spans else None)

    def full_features(self, sentence: Sentence | Tokens, derivation: Derivation) -> SparseVector:
        sparse = self.engine_of(sentence).sparse_features(
            self.engine_input(sentence), forest=derivation.forest, edges=derivation.edges
        )
        dense = derivation.features
        own = dense.ids != np.uint64(self.names.intern(SPARSE_SCORE))
        return SparseVector(
            np.concatenate([dense.ids[own], sparse.ids]),
            np.concatenate([dense.values[own], sparse.values]),
        )

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
        """Return the feature vector of a derivation, given its phrases `(begin, end, target)` in
        the order of the output. The table limit and the distortion limit do not apply.
        """
        uses = [
            (begin, end, split_words(target) if isinstance(target, str) else tuple(target))
            for begin, end, target in phrases
        ]
        return self.engine_of(sentence).score_derivation(
            self.engine_input(sentence), phrases=uses, names=self.names
        )

    def note(self, sentence: Sentence | Tokens) -> str | None:
        """Return the limits that are lowered because of the sentence's length; None if none is."""
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
        """Return a sentence in the engine's form."""
        sentence = self.tagged(text)
        return PhraseInput(
            words=sentence.words,
            after=sentence.after,
            tags=sentence.tags,
            id=sentence.id,
            options=[(o.begin, o.end, o.target, o.log_probability) for o in sentence.options],
            exclusive=sentence.exclusive,
            leave_out=own_pair(sentence),
        )
