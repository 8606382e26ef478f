"""The dense features of the decoders: what each counts, and what a model calls it.

Takes a model's `FeatureSpec`s by our names and returns what the engine takes: for each feature its
name in the model and its unit. Besides these there are the columns of the rule table, under their
own names. How the values come about is defined in `cpp/features/dense`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hopefear.base.errors import OptionError, suggestion


@dataclass(frozen=True)
class FeatureSpec:
    """How a model calls one of the decoder's own features, and its unit.

    The feature's value is `factor` times what the decoder counts: with the factor 1 language
    models and tables are in natural logs, `words`, `phrases`, `unknown` and the like are numbers of
    such things, `distortion` is minus the sum of the jumps' widths.
    """

    name: str
    factor: float = 1.0


# What the features count, by our names for them. Phrase search:
PHRASE = {
    "words": "target words",
    "phrases": "phrases; a word that is passed through is one",
    "distortion": "source words between the end of a phrase and the beginning of the next one",
    "unknown": "words that are passed through",
}
# Hierarchical search; besides, "unknown.NAME": words that the language model NAME does not know.
# Thesis, 2.2.4.1. Glue counts as a rule, so that arity0 - arity2 = 1 in every derivation.
HIERO = {
    "words": "target words",
    "arity0": "rules without nonterminals",
    "arity1": "rules with one nonterminal",
    "arity2": "rules with two nonterminals",
    "rules": "rules",
    "source-words": "source words",
    "glue": "rules that put constituents side by side",
    "pass-through": "words that are passed through",
}
LM = "lm"  # the log probability of the output: one feature, with a name of its own, for each model
_SIGNS = {"distortion": -1.0}  # the engine counts words jumped over
_LOG10 = 1 / math.log(10)

# The features of our own models, and those of cdec in its units: log10, -1/ln 10 per word.
OWN_PHRASE = {name: FeatureSpec(name) for name in (LM, *PHRASE)}
OWN_HIERO = {name: FeatureSpec(name) for name in (LM, *HIERO)}
CDEC_FEATURES = {
    LM: FeatureSpec("LanguageModel", _LOG10),
    "unknown.LanguageModel": FeatureSpec("LanguageModel_OOV"),
    "words": FeatureSpec("WordPenalty", -_LOG10),
    "glue": FeatureSpec("Glue"),
    "pass-through": FeatureSpec("PassThrough"),
}


def lm_factor(features: Mapping[str, FeatureSpec]) -> float:
    """The unit of all language models: the value for a natural log of 1."""
    return features[LM].factor if LM in features else 1.0


def engine_features(features: Mapping[str, FeatureSpec]) -> dict[str, tuple[str, float]]:
    """The name and the unit of each feature, as the engine takes them."""
    return {key: (spec.name, _SIGNS.get(key, 1.0) * spec.factor) for key, spec in features.items()}


def check_features(search: str, features: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a feature that a kind of search does not have."""
    known = list(known)
    for name in features:
        if name not in known:
            raise OptionError(
                f"features.{name}: {search} has no such feature; {suggestion(name, known)}"
            )
