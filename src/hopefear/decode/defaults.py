"""Weights for a model that was not tuned yet.

The values are near those that Moses and cdec start from, changed where our units differ: `words` is
a number of words (a positive weight makes output longer), `unknown` a number of unknown words. On
the development sets of the built-in world and of Multi30k French-English none of the phrase
weights alone could be halved or doubled for a gain on both. They are where tuning starts from.
"""

from __future__ import annotations

from collections.abc import Sequence

TRANSLATION = 0.2  # each of the four scores
REORDERING = 0.2  # each orientation

PHRASE = {"words": 0.6, "phrases": 0.2, "distortion": 0.2, "unknown": -100.0}
HIERO = {
    "words": 0.6,
    "arity0": 0.0,
    "arity1": 0.0,
    "arity2": 0.0,
    "rules": 0.0,
    "source-words": 0.0,
    "glue": -0.2,
    "pass-through": -100.0,
    "count(f)": 0.0,
    "count(f,e)": 0.0,
    "singleton(f)": 0.0,
    "singleton(f,e)": 0.0,
}
LANGUAGE_MODEL = 0.5


def default_weights(system: str, columns: Sequence[str], lms: Sequence[str]) -> dict[str, float]:
    """Weights of all features: the table's columns, the language models, the decoder's own."""
    own = {"phrase": PHRASE, "hiero": HIERO}.get(system, {})
    weights = {name: LANGUAGE_MODEL / max(1, len(lms)) for name in lms}
    for name in columns:
        weights[name] = REORDERING if name.startswith("reorder.") else TRANSLATION
    return {**weights, **own}
