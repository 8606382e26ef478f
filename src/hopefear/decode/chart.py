"""The hierarchical decoder: synchronous rules, parsed on the source side, with a language model.

Takes a sentence, weights, the model's rule table and/or a grammar for the sentence, and returns a
forest. First the source is parsed: every use of a rule at a span is an edge, glue rules (S -> X,
S -> S X, where X is any label that the rules have on their left-hand sides) join constituents
monotonically, and a word that no rule translates is copied. `parse`
returns this forest. Then cube pruning adds language models and templates with a state.
[chiang2007, huang2007]

With a target, `decode` parses twice, the source with the grammar and the target with the forest of
the first parse, and returns all derivations of the target, without pruning. [dyer2010]

A node has a span, and as symbol its label (`X`, `S`, `Goal`, or another label of the grammar). An
edge's rule is its number in the table (if the model has a table, the rules of a sentence's grammar
are numbered from 2^32); glue rules and copied words have none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hopefear._engine import ChartDecoder, FeatureTemplate, Forest
from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import (
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
from hopefear.features.dense import (
    OWN_HIERO,
    FeatureSpec,
    check_features,
    engine_features,
    lm_factor,
)
from hopefear.features.feature import Feature
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.cdec import read_grammar
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words


@dataclass(kw_only=True)
class ChartOptions:
    """The options of hierarchical search."""

    search: Literal["cube", "full"] = option(
        "cube", help="search algorithm: cube pruning, or all derivations (slow)"
    )
    pop_limit: int = option(
        200, min=1, max=100_000_000, help="edges that cube pruning generates for a node"
    )
    span_limit: int = option(
        15, min=1, max=1000, help="largest number of source words that a rule covers"
    )
    rule_limit: int = option(
        30,
        min=0,
        max=1_000_000_000,
        help="rules per source side, the best by the current weights; 0: all",
    )
    edge_limit: int = option(
        10_000_000,
        min=1,
        max=1_000_000_000,
        help="largest number of edges in a forest; beyond it, the span limit (while parsing) or "
        "the pop limit (with language models) is halved for the sentence",
    )
    glue: bool = option(
        True, help="join constituents with glue rules (S -> X, S -> S X, where X is any label)"
    )
    glue_labels: Literal["all", "default"] = option(
        "all",
        help="constituents that glue rules join: those of all labels on left-hand sides of rules, "
        "or only those of `label`, as in cdec",
    )
    pass_through_all: bool = option(
        False, help="allow copying every word, not only words that no single-word rule translates"
    )
    label: str = option("X", help="label of copied words and of rules without a label")
    glue_label: str = option(
        "S", help="label of the left-hand side of glue rules, required below the goal"
    )


class HieroDecoder(Decoder):
    """The decoder of hierarchical models; see the module. Threads may share an object."""

    options_class = ChartOptions
    title = "hierarchical search"
    can = frozenset({"target", "grammar", "leave-out"})

    def __init__(
        self,
        rules: RuleTable | None,
        lms: Mapping[str, LanguageModel] | None = None,
        *,
        options: ChartOptions | None = None,
        features: Mapping[str, FeatureSpec] | None = None,
        templates: Iterable[Feature] = (),
        lists: WordLists | None = None,
        names: FeatureNames | None = None,
        tagger: Callable[[], SentenceTags] | None = None,
        warn: Callable[[str], None] = warnings.warn,
        folds: Sequence[FoldParts] = (),
    ) -> None:
        """Take a rule table, language models by feature name, and optional parts (`ModelParts`).

        `rules`: None if every sentence has a grammar. `features`: names and units of the features
        of `dense.HIERO` that the model has (None: all, under their own names); "lm" sets the unit
        of the language models, "unknown.NAME" counts words that the language model NAME lacks.
        `warn`: called with each warning.
        """
        self.options = options if options is not None else ChartOptions()
        self.names = names if names is not None else FeatureNames()
        self.rules = rules
        self.lms = dict(lms or {})
        self.templates = list(templates)
        self._features = dict(OWN_HIERO if features is None else features)
        self._warn = warn
        self._warned: set[str] = set()
        if "pass-through" in self._features:
            self.untranslated = frozenset({self._features["pass-through"].name})
        known = (*OWN_HIERO, *(f"unknown.{name}" for name in self.lms))
        check_features("hierarchical search", self._features, known)
        self._lm_unit = lm_factor(self._features)
        engine_templates = [template.make(lists or WordLists()) for template in self.templates]
        self.tagger = tagger_for(engine_templates, tagger)
        for template in engine_templates:
            if template.left_to_right_only:
                raise OptionError(
                    f"the feature template {template.name} needs search from left to right, which "
                    "hierarchical systems do not have; leave it out"
                )
        self._engine = self._make(rules, self.lms, engine_templates)
        self._folds = [self._make(*fold, engine_templates) for fold in folds]
        self.can |= {"folds"} if folds else set()

    def _make(
        self,
        rules: RuleTable | None,
        lms: Mapping[str, LanguageModel],
        templates: Sequence[FeatureTemplate],
    ) -> ChartDecoder:
        return ChartDecoder(
            tables=[] if rules is None else [rules.engine],
            lms=[
                (lm.engine, name, self._lm_unit)
                for name, lm in zip(self.lms, lms.values(), strict=True)
            ],
            features=engine_features(self._features),
            templates=templates,
            names=self.names,
            span_limit=self.options.span_limit,
            rule_limit=self.options.rule_limit,
            glue=self.options.glue,
            pass_through_all=self.options.pass_through_all,
            edge_limit=self.options.edge_limit,
            label=self.options.label,
            glue_label=self.options.glue_label,
            goal_label="Goal",
            glue_all=self.options.glue_labels == "all",
        )

    @classmethod
    def load(cls, parts: ModelParts, options: Any) -> HieroDecoder:
        return cls(parts.rules, parts.lms, options=options, **parts.keywords())

    def _engine_of(self, sentence: Sentence) -> ChartDecoder:
        return self._engine if sentence.fold is None else self._folds[sentence.fold]

    @property
    def dense(self) -> list[str]:
        """The names of language models, of the table's columns, then of the decoder's features."""
        own = [spec.name for key, spec in self._features.items() if key != "lm"]
        columns = () if self.rules is None else self.rules.columns
        return list(dict.fromkeys([*self.lms, *columns, *own]))

    def language_weight(self, weights: Weights) -> float:
        return self._lm_unit * sum(float(weights[name]) for name in self.lms)

    def answer(self, request: Request) -> Decoded:
        """Return the forest of a search, or with a target the forest of all its derivations."""
        sentence = self.tagged(request.sentence)
        grammar = self._grammar(sentence)
        text = (sentence.words, sentence.tags, sentence.id, own_pair(sentence))
        engine, weights, target = self._engine_of(sentence), request.weights.table, request.target
        if target is None:
            beam = self.options.pop_limit if self.options.search == "cube" else 0
            result = engine.decode(*text, weights, grammar, beam)
        else:
            target_words = split_words(target) if isinstance(target, str) else list(target)
            result = engine.constrain(*text, weights, grammar, target_words)
        return Decoded(self._forest(sentence, result))

    def parse(
        self, sentence: Sentence | Tokens, weights: Weights, *, target_features: bool = False
    ) -> Forest:
        """Return the forest before language models are added.

        It has the features of the grammar, of glue and of copied words; with `target_features` also
        those that count target words, as `decode` has them. The weights select the rules of each
        source side (`rule_limit`).
        """
        sentence = self.tagged(sentence)
        self.check(Request(sentence, weights))
        grammar = self._grammar(sentence)
        text = (sentence.words, sentence.tags, sentence.id, own_pair(sentence))
        result = self._engine_of(sentence).parse(*text, weights.table, grammar, target_features)
        return self._forest(sentence, result)

    def _grammar(self, sentence: Sentence) -> Any:
        return None if sentence.grammar is None else read_grammar(sentence.grammar).engine

    def _forest(self, sentence: Sentence, result: tuple[Any, ...]) -> Forest:
        """Return the forest of the engine's result, and warn about lowered limits."""
        forest, span_limit, beam, _nodes, _edges, _scored, dropped = result
        for rule in dropped:
            self._warn_once(f"unary rules {rule} close a cycle and are left out")
        if span_limit < self.options.span_limit:
            self._warn(
                f"sentence {sentence.id!r} of {len(sentence.words)} words: more than "
                f"{self.options.edge_limit:,} edges, so rules cover at most {span_limit} words"
            )
        if 0 < beam < self.options.pop_limit:
            self._warn(
                f"sentence {sentence.id!r} of {len(sentence.words)} words: more than "
                f"{self.options.edge_limit:,} edges with the language model, so its pop limit is "
                f"{beam}"
            )
        assert isinstance(forest, Forest)
        return forest

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._warn(message)
