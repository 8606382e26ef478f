"""Templates written in Python: what they see, and what goes wrong."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from phrase_small import SmallModel, named

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.features.feature import Feature, PythonFeature, RuleUse, make_feature
from hopefear.features.sparse.phrase_length import PhraseLength

pytestmark = pytest.mark.engine

PAIRS = {("d", "e"): {("a", "b"): (0.5,) * 10}, ("e",): {("c",): (0.25,) * 10}}


@dataclass(frozen=True)
class Recorder(PythonFeature):
    label: ClassVar[str] = "recorder"
    seen: list[RuleUse]
    result: Any = ()

    def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
        self.seen.append(use)
        return self.result


def decode(feature: Feature, words: str = "d e") -> None:
    SmallModel(PAIRS, templates=(feature,)).decoder().forest(words, Weights())


def test_what_a_template_sees() -> None:
    seen: list[RuleUse] = []
    decode(Recorder(seen))
    uses = {use.span: use for use in seen}
    assert len(seen) == len(uses) == 3, "once for each rule and span"
    pair = uses[0, 2]
    assert pair.source == ("d", "e")
    assert (pair.source_side, pair.target_side) == (("d", "e"), ("a", "b"))
    assert (pair.links, pair.gaps) == (((0, 1),), ())
    assert pair.scores == pytest.approx([-0.6931472] * 10)
    assert pair.counts == (1, 1, 1)
    assert pair.rule >= 0
    passed = uses[0, 1]
    assert (passed.target_side, passed.rule, passed.scores) == (("d",), -1, ())


def test_shapes() -> None:
    fire = PhraseLength(longest=2).fire
    assert list(fire(RuleUse(("x",), (0, 1), ("x",), ("y", "z", "y")))) == [
        ("phrase-length:1x2", 1.0)
    ]
    assert list(fire(RuleUse(("x",), (0, 1), ("x", 0), (0,)))) == [("phrase-length:1x0", 1.0)]


def test_an_error_in_a_template_is_shown() -> None:
    class Broken(PhraseLength):
        def fire(self, use: RuleUse) -> Iterable[tuple[str, float]]:
            raise ZeroDivisionError("in the template")

    with pytest.raises(ZeroDivisionError, match="in the template"):
        decode(Broken())


@pytest.mark.parametrize("result", ["ab", [("a",)], [("a", "b")], [(1, 2.0)], 3])
def test_what_is_no_list_of_features(result: object) -> None:
    with pytest.raises(TypeError):
        decode(Recorder([], result))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_must_be_finite(value: float) -> None:
    with pytest.raises(InputError, match="not finite"):
        decode(Recorder([], [("recorder:x", value)]))


def test_equal_names_are_summed() -> None:
    model = SmallModel(PAIRS, templates=(Recorder([], [("recorder:x", 1.0), ("recorder:x", 2.5)]),))
    decoder = model.decoder()
    vector = named(decoder.score_derivation("d e", [(0, 2, "a b")]), decoder)
    assert vector["recorder:x"] == 3.5


def test_options_are_checked() -> None:
    assert make_feature("phrase-length", {"longest": 3}) == PhraseLength(longest=3)
    with pytest.raises(OptionError, match="longest"):
        make_feature("phrase-length", {"longest": 0})
    with pytest.raises(OptionError, match="phrase-length"):
        make_feature("phrase-lenght")


def test_a_decoder_that_its_feature_knows_is_collected() -> None:
    """As in a script, where both are global: the engine between them must not keep them alive."""
    known: list[Any] = []
    feature = Recorder(known)
    decoder = SmallModel(PAIRS, templates=(feature,)).decoder()
    assert decoder.forest("d e", Weights({"lm": 1.0})).nodes > 1
    assert known
    known.append(decoder)
    gone = weakref.ref(decoder)
    del decoder, feature, known
    gc.collect()
    assert gone() is None
