"""The dense features of the decoders: their meaning, and their names and units in a model.

Takes a model's `FeatureSpec`s by our names and returns each feature's name in the model and its
unit, in the engine's form. The columns of the rule table are further dense features, under their
own names. `cpp/features/dense` computes the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hopefear.base.errors import OptionError, suggestion


@dataclass(frozen=True)
class FeatureSpec:
    """The name of a decoder's feature in a model, and its unit.

    The feature's value is `factor` times the decoder's value. With factor 1, language models and
    tables are in natural logs, features such as `words`, `phrases` and `unknown` are counts, and
    `distortion` is minus the sum of the widths of all jumps.
    """

    name: str
    factor: float = 1.0


# The quantity that each feature counts, by our feature names. Phrase search:
PHRASE = {
    "words": "target words",
    "phrases": "phrases; a copied word is one",
    "distortion": "source words between the end of a phrase and the beginning of the next one",
    "unknown": "copied words",
}
# Hierarchical search (thesis, 2.2.4.1), which also has "unknown.NAME": words that the language
# model NAME lacks. Glue counts as a rule, so that arity0 - arity2 = 1 in every derivation.
HIERO = {
    "words": "target words",
    "arity0": "rules without nonterminals",
    "arity1": "rules with one nonterminal",
    "arity2": "rules with two nonterminals",
    "rules": "rules",
    "source-words": "source words",
    "glue": "glue rules, which join constituents",
    "pass-through": "copied words",
}
LM = "lm"  # the log probability of the output: each language model is a feature with its own name
_SIGNS = {"distortion": -1.0}  # the engine counts words jumped over
_LOG10 = 1 / math.log(10)

# The features of our models, and those of cdec in its units: log10, -1/ln 10 per word.
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
    """Return the unit of all language models: the feature's value for a natural log of 1."""
    return features[LM].factor if LM in features else 1.0


def engine_features(features: Mapping[str, FeatureSpec]) -> dict[str, tuple[str, float]]:
    """Return the name and the unit of each feature, in the engine's form."""
    return {key: (spec.name, _SIGNS.get(key, 1.0) * spec.factor) for key, spec in features.items()}


def check_features(search: str, features: Iterable[str], known: Iterable[str]) -> None:
    """Raise an `OptionError` if a feature is not known to a kind of search."""
    known = list(known)
    for name in features:
        if name not in known:
            raise OptionError(
                f"features.{name}: {search} has no such feature; {suggestion(name, known)}"
            )
