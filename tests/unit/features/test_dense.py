"""Names and units of dense features."""

from __future__ import annotations

import pytest

from hopefear.base.errors import OptionError
from hopefear.decode.systems.hiero import Hiero
from hopefear.decode.systems.phrase import Phrase
from hopefear.features.dense import (
    HIERO,
    OWN_PHRASE,
    PHRASE,
    FeatureSpec,
    check_features,
    engine_features,
    lm_factor,
)


def test_names_and_units() -> None:
    features = {"words": FeatureSpec("WordPenalty0", -1.0), "distortion": FeatureSpec("D", 2.0)}
    assert engine_features(features) == {"words": ("WordPenalty0", -1.0), "distortion": ("D", -2.0)}
    assert lm_factor(features) == 1.0
    assert lm_factor({"lm": FeatureSpec("lm", 0.5)}) == 0.5


def test_every_feature_has_a_weight_before_tuning() -> None:
    assert set(PHRASE) == set(Phrase.own_weights)
    assert set(HIERO) <= set(Hiero.own_weights)


def test_unknown_features_are_refused() -> None:
    check_features("phrase search", {"words": FeatureSpec("w")}, OWN_PHRASE)
    with pytest.raises(OptionError, match=r"features\.wrods: phrase search has no such feature"):
        check_features("phrase search", ["wrods"], OWN_PHRASE)
