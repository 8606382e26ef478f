"""The hierarchical decoder: synchronous rules, parsed on the source side, with a language model.

Goes in: a sentence, weights, a rule table of the model and/or a grammar of the sentence. Comes out:
a forest. First the source is parsed: every use of a rule at a span is an edge, constituents that
fit into no rule are put side by side by glue rules (S -> X, S -> S X), and a word that no rule
translates passes through. That forest before the language model is `parse`. Then language models
and templates with a state are added by cube pruning. [chiang2007, huang2007]

With a target, `decode` parses twice, the source with the grammar and the target with the forest of
the first parse, and gives all derivations of the target, also those that pruning would have lost.
[dyer2010]

Nodes have a span, and their label (`X`, `S`, `Goal`, or any other of the grammar) as symbol. An
edge's rule is its number in the table (numbers of a sentence's own grammar begin at 2^32 if there
is a table of the model, too); glue and words that pass through have none.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hopefear._engine import ChartDecoder, FeatureTemplate, Forest
from hopefear.base.config import option
from hopefear.base.errors import OptionError, suggestion
from hopefear.base.weights import FeatureNames, Weights
from hopefear.decode.contract import (
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
from hopefear.features.feature import Feature, make_feature
from hopefear.features.word_lists import WordLists
from hopefear.lm import LanguageModel
from hopefear.rules.cdec import read_grammar
from hopefear.rules.table import RuleTable
from hopefear.text.taggers import SentenceTags
from hopefear.text.tokenizers.plain import split_words

# The features of our own models, besides language models and the columns of the table. Thesis,
# 2.2.4.1: rules by their number of nonterminals, all rules, source words, glue, words that pass
# through, target words. Glue counts as a rule, so that arity0 - arity2 = 1 in every derivation.
OWN_FEATURES = {
    name: FeatureSpec(name)
    for name in (
        "lm",
        "words",
        "arity0",
        "arity1",
        "arity2",
        "rules",
        "source-words",
        "glue",
        "pass-through",
    )
}

# Those of cdec, in its units: language models in log10, -1/ln 10 per word.
CDEC_FEATURES = {
    "lm": FeatureSpec("LanguageModel", 1 / math.log(10)),
    "unknown.LanguageModel": FeatureSpec("LanguageModel_OOV"),
    "words": FeatureSpec("WordPenalty", -1 / math.log(10)),
    "glue": FeatureSpec("Glue"),
    "pass-through": FeatureSpec("PassThrough"),
}

_ARITIES = ("arity0", "arity1", "arity2")
_ABSENT = FeatureSpec("", 0.0)


@dataclass(kw_only=True)
class ChartOptions:
    """What can be chosen about the search."""

    search: Literal["cube", "full"] = option(
        "cube", help="how the language model is added: cube pruning, or all derivations"
    )
    pop_limit: int = option(
        200, min=1, max=100_000_000, help="edges that cube pruning takes per node"
    )
    span_limit: int = option(15, min=1, max=1000, help="words that a rule covers at most")
    rule_limit: int = option(
        30,
        min=0,
        max=1_000_000_000,
        help="rules kept for each source side, the best by weights; 0: all",
    )
    edge_limit: int = option(
        10_000_000,
        min=1,
        max=1_000_000_000,
        help="edges of a forest; where there would be more, the span limit (before the language "
        "model) or the pop limit (after it) is halved for the sentence",
    )
    glue: bool = option(True, help="put constituents side by side (S -> X, S -> S X)")
    pass_through_all: bool = option(
        False, help="let all words pass through, not only those that no rule translates alone"
    )
    label: str = option("X", help="label of words that pass through and of rules without one")
    glue_label: str = option("S", help="label of what glue makes and the goal is made of")


class HieroDecoder(Decoder):
    """See the module. May be used by several threads at once."""

    options_class = ChartOptions
    title = "hierarchical search"
    can = frozenset({"target", "grammar"})

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
        """`rules`: of the model; None if every sentence has a grammar of its own.

        `lms`: by the name of their feature. `features`: the features of the model and how it calls
        them, by our names for them (`OWN_FEATURES`, the default); "lm" says the unit of the
        language models, "unknown.NAME" counts the words that the language model NAME does not know.
        `lists`: the words that templates know; `tagger`: what tags a sentence for them. `folds`:
        what sentences are decoded with that say which fold they are of.
        """
        self.options = options if options is not None else ChartOptions()
        self.names = names if names is not None else FeatureNames()
        self.rules = rules
        self.lms = dict(lms or {})
        self.templates = list(templates)
        self._features = dict(OWN_FEATURES if features is None else features)
        self._warn = warn
        self._warned: set[str] = set()
        if "pass-through" in self._features:
            self.untranslated = frozenset({self._features["pass-through"].name})
        known = {*OWN_FEATURES, *(f"unknown.{name}" for name in self.lms)}
        for name in self._features:
            if name not in known:
                raise OptionError(
                    f"features.{name}: hierarchical search has no such feature; "
                    f"{suggestion(name, known)}"
                )
        factor = self._lm_unit = self._features.get("lm", FeatureSpec("lm")).factor
        made = [template.make(lists or WordLists()) for template in self.templates]
        self.tagger = tagger_for(made, tagger)
        for template in made:
            if template.left_to_right_only:
                raise OptionError(
                    f"the feature template {template.name} needs search from left to right, a "
                    "hierarchical system has none; leave it out"
                )
        self._engine = self._make(rules, self.lms, factor, made)
        self._folds = [self._make(*fold, factor, made) for fold in folds]
        self.can |= {"folds"} if folds else set()

    def _make(
        self,
        rules: RuleTable | None,
        lms: Mapping[str, LanguageModel],
        factor: float,
        templates: Sequence[FeatureTemplate],
    ) -> ChartDecoder:
        return ChartDecoder(
            tables=[] if rules is None else [rules.engine],
            lms=[lm.engine for lm in lms.values()],
            lm=[(name, factor) for name in self.lms],
            lm_unknown=[self._pair(f"unknown.{name}") for name in self.lms],
            arity=[self._pair(name) for name in _ARITIES],
            words=self._pair("words"),
            source_words=self._pair("source-words"),
            rules=self._pair("rules"),
            glue_feature=self._pair("glue"),
            pass_through=self._pair("pass-through"),
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
        )

    @classmethod
    def load(cls, parts: ModelParts, options: Any) -> HieroDecoder:
        templates = [make_feature(name, values) for name, values in parts.templates.items()]
        return cls(
            parts.rules,
            parts.lms,
            options=options,
            features=parts.features,
            templates=templates,
            lists=parts.lists,
            tagger=parts.tagger,
            folds=parts.folds,
        )

    def _engine_of(self, sentence: Sentence) -> ChartDecoder:
        return self._engine if sentence.fold is None else self._folds[sentence.fold]

    @property
    def dense(self) -> list[str]:
        """Language models, the table's columns, then the decoder's own features."""
        own = [spec.name for key, spec in self._features.items() if key != "lm"]
        columns = () if self.rules is None else self.rules.columns
        return list(dict.fromkeys([*self.lms, *columns, *own]))

    def language_weight(self, weights: Weights) -> float:
        return self._lm_unit * sum(float(weights[name]) for name in self.lms)

    def answer(self, request: Request) -> Decoded:
        """Everything that cube pruning kept; with a target all of its derivations."""
        sentence = self.tagged(request.sentence)
        grammar = self._grammar(sentence)
        text = (sentence.words, sentence.tags, sentence.id)
        engine, weights, target = self._engine_of(sentence), request.weights.table, request.target
        if target is None:
            beam = self.options.pop_limit if self.options.search == "cube" else 0
            made = engine.decode(*text, weights, grammar, beam)
        else:
            wanted = split_words(target) if isinstance(target, str) else list(target)
            made = engine.constrain(*text, weights, grammar, wanted)
        return Decoded(self._forest(sentence, made))

    def parse(
        self, sentence: Sentence | Tokens, weights: Weights, *, target_features: bool = False
    ) -> Forest:
        """The forest before the language model.

        It has the features of the grammar, glue and words that pass through; with
        `target_features` also those that count target words, as `decode` has them. The weights
        choose which rules of a source side are kept.
        """
        sentence = self.tagged(sentence)
        self.check(Request(sentence, weights))
        grammar = self._grammar(sentence)
        text = (sentence.words, sentence.tags, sentence.id)
        made = self._engine_of(sentence).parse(*text, weights.table, grammar, target_features)
        return self._forest(sentence, made)

    def _pair(self, name: str) -> tuple[str, float]:
        spec = self._features.get(name, _ABSENT)
        return spec.name, spec.factor

    def _grammar(self, sentence: Sentence) -> Any:
        return None if sentence.grammar is None else read_grammar(sentence.grammar).engine

    def _forest(self, sentence: Sentence, made: tuple[Any, ...]) -> Forest:
        forest, span_limit, beam, _nodes, _edges, _scored, dropped = made
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
