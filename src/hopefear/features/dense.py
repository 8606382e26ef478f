"""The dense features of the decoders: their meaning, and their names and units in a model.

Takes a model's `FeatureSpec`s by our names and returns each feature's name in the model and its
unit, in the engine's form. The columns of the rule table are further dense features, under their
own names. `cpp/features/dense` computes the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from hopefear.base.config import option
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


@dataclass(frozen=True, kw_only=True)
class ReorderingSpec:
    """The lexicalised reordering of an imported phrase model: its set of orientations, directions,
    and features.

    Orientations: msd (monotone, swap, other), mslr (monotone, swap, right, left), monotonicity
    (monotone, other), leftright (right, left). Backward scores are for a phrase's position relative
    to its predecessor, forward scores for that of the next phrase relative to it.
    """

    orientations: Literal["msd", "mslr", "monotonicity", "leftright"] = option(
        help="the positions of a phrase that the model distinguishes"
    )
    backward: bool = option(help="whether the table has backward scores")
    forward: bool = option(help="whether the table has forward scores, after the backward ones")
    collapsed: list[str] = option(
        [], help="names of one feature per direction; none: each column is a feature"
    )

    @property
    def columns(self) -> int:
        """The number of reordering scores of a phrase pair."""
        size = {"msd": 3, "mslr": 4, "monotonicity": 2, "leftright": 2}[self.orientations]
        return size * (self.backward + self.forward)

    def to_engine(self) -> tuple[str, bool, bool, list[str]]:
        """Return the specification in the engine's form."""
        return self.orientations, self.backward, self.forward, list(self.collapsed)


# The quantity that each feature counts, by our feature names. Phrase search:
PHRASE = {
    "words": "target words",
    "phrases": "phrases; a copied word is one",
    "distortion": "source words between the end of a phrase and the beginning of the next one",
    "unknown": "copied words",
}
# Imported models may have another distortion, and count the words that a language model NAME lacks.
EARLY_DISTORTION = "early-distortion"  # the cost of jumps as soon as it is known  [moore2007]
UNKNOWN_BY = "unknown."  # "unknown.NAME"
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
_SIGNS = {"distortion": -1.0, EARLY_DISTORTION: -1.0}  # the engine counts words jumped over
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
