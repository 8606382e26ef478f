"""Templates written in Python: their input, and their errors."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hopefear._engine import engine_template, engine_templates
from phrase_small import SmallModel, named

from hopefear.base import registry
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.features.feature import EngineFeature, Feature, PythonFeature, RuleUse, make_feature
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


def test_the_input_of_a_template() -> None:
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
def test_malformed_results_are_refused(result: object) -> None:
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


def test_a_decoder_that_its_feature_refers_to_is_collected() -> None:
    """As in a script, where both are global: the engine must not keep them alive."""
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


def test_every_template_of_the_engine_has_a_python_class() -> None:
    components = {name: registry.get("feature", name) for name in registry.names("feature")}
    engine = [name for name, cls in components.items() if issubclass(cls, EngineFeature)]
    assert engine == engine_templates()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rule-shapes", {}, "rule-shapes: not in the engine, which has count-discount, "),
        ("rule-shape", {}, "rule-shape: option runs: not given, expected bool; "),
        ("rule-shape", {"runs": 1}, "rule-shape: option runs: found 1, expected bool; "),
        ("rule-shape", {"runs": True, "x": 1}, "option x: unknown option, expected no more than r"),
        ("rule-id", {"x": None}, "rule-id: option x: unknown option, expected no options; "),
        ("rule-shape", {"runs": {}}, "option runs: found {}, expected None, bool, int, float, "),
        ("structural-distortion", {"longest": 1.5}, "longest: found 1.5, expected int; "),
        ("structural-distortion", {"longest": 2**63}, "longest: found 9223372036854775808, exp"),
        ("count-discount", {"bins": [1, 2, "x", 4]}, "bins: found [1, 2, 'x', …], expected list[i"),
        ("deletion", {"words": [("a", "b")]}, "words: found [['a', 'b']], expected list[str] | N"),
        (
            "word-context",
            {"pairs": [("a",)], "source": None, "target": None},
            "pairs: found [['a']], expected list[tuple[str, str]] | None; ",
        ),
        ("rule-history", {"words": [], "levels": "wx"}, "levels: found 'wx', expected some of wcb"),
        (
            "word-edges",
            {"source": [], "target": [], "combinations": [("a", [(7, 0)])]},
            "combinations: no such edge or level in 'a', expected ",
        ),
    ],
)
def test_options_of_the_engine_are_checked(
    name: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        engine_template(name, options)
