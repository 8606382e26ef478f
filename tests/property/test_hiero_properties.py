"""The hierarchical decoder on random grammars: what it finds is what there is by definition."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hiero_toy import ToyRule, all_of, derivations, table_of
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from lm_arpa import SMALL, write_arpa

from hopefear.base.weights import Weights
from hopefear.decode.chart import ChartOptions, HieroDecoder
from hopefear.forest import count, kbest, viterbi
from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine

LABELS = ("A", "B", "X")
WEIGHTS = {"tm": 1.0, "lm": 0.5, "words": 0.25, "glue": -0.5, "pass-through": -3, "arity2": 0.1}
FEW = 500  # derivations that are enumerated


@st.composite
def toy_rules(draw: st.DrawFn) -> ToyRule:
    """Up to two nonterminals anywhere; a unary rule goes up in the order of labels: no cycles."""
    shape = draw(st.sampled_from(["w", "w", "ww", "nw", "wn", "wnw", "nn", "nwn", "nnw", "n"]))
    label = draw(st.sampled_from(LABELS[1:] if shape == "n" else LABELS))
    below = LABELS[: LABELS.index(label)] if shape == "n" else LABELS
    source, gaps = [], []
    for kind in shape:
        if kind == "w":
            source.append(draw(st.sampled_from("uvw")))
        else:
            gaps.append(f"[{draw(st.sampled_from(below))},{len(gaps) + 1}]")
            source.append(gaps[-1])
    words = draw(st.lists(st.sampled_from("abc"), min_size=0 if gaps else 1, max_size=2))
    target = draw(st.permutations([*gaps, *words]))
    score = draw(st.integers(-16, 0)) / 8
    return ToyRule(label, tuple(source), tuple(target), score)


GRAMMARS = st.lists(toy_rules(), max_size=8)
SENTENCES = st.lists(st.sampled_from("uuvvwz"), max_size=4)


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    path = tmp_path_factory.mktemp("lm") / "small.arpa"
    return LanguageModel.load(write_arpa(path, SMALL))


def make(rules: list[ToyRule], lm: LanguageModel | None = None, **options: object) -> HieroDecoder:
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(rules, Path(folder) / "grammar")
    chosen = ChartOptions(**{"rule_limit": 0, **options})  # type: ignore[arg-type]
    return HieroDecoder(table, {} if lm is None else {"lm": lm}, options=chosen)


@hypothesis_settings(max_examples=100)
@given(rules=GRAMMARS, words=SENTENCES, limit=st.integers(1, 4), all_words=st.booleans())
def test_parsing_finds_all_derivations(
    rules: list[ToyRule], words: list[str], limit: int, all_words: bool
) -> None:
    made = make(rules, span_limit=limit, pass_through_all=all_words)
    forest = made.parse(words, Weights(), target_features=True)
    assume(count(forest) <= FEW)
    expected = derivations(rules, words, span_limit=limit, pass_through_all=all_words)
    assert all_of(forest, made.names) == expected


@hypothesis_settings(max_examples=60)
@given(rules=GRAMMARS, words=SENTENCES)
def test_language_model_score_equals_that_of_the_string(
    lm: LanguageModel, rules: list[ToyRule], words: list[str]
) -> None:
    weights = Weights(WEIGHTS)
    full = make(rules, lm, search="full")
    assume(count(full.parse(words, weights)) <= FEW)
    forest = full.forest(words, weights)
    assert all_of(forest, full.names, drop=["lm"]) == derivations(rules, words)
    expected = kbest(forest, weights, k=FEW)
    for derivation in expected:
        score = lm.score(derivation.words) * math.log(10)
        found = derivation.features.get(full.names.intern("lm"))
        assert found == pytest.approx(score, abs=1e-4)
        if words:
            arities = [derivation.features.get(full.names.intern(f"arity{k}")) for k in (0, 2)]
            assert arities[0] - arities[1] == 1
    cube = make(rules, lm, pop_limit=10**6)
    found = [d.score for d in kbest(cube.forest(words, weights), weights, k=FEW)]
    assert found == pytest.approx([d.score for d in expected], abs=1e-5)


@hypothesis_settings(max_examples=40)
@given(rules=GRAMMARS, words=SENTENCES, data=st.data())
def test_constrained_decoding_is_the_enumeration_filtered(
    lm: LanguageModel, rules: list[ToyRule], words: list[str], data: st.DataObject
) -> None:
    made = make(rules, lm, pop_limit=1, span_limit=3)
    assume(count(made.parse(words, Weights())) <= FEW)
    everything = derivations(rules, words, span_limit=3)
    targets = sorted({target for target, _ in everything})
    target = data.draw(st.sampled_from(targets) | st.lists(st.sampled_from("abcz")).map(tuple))
    weights = Weights(WEIGHTS)
    forest = made.forest(words, weights, target)
    expected = [each for each in everything if each[0] == target]
    assert all_of(forest, made.names, drop=["lm"]) == expected
    best = viterbi(forest, weights)
    assert (best is None) == (not expected)
    if best is not None:
        score = lm.score(target) * math.log(10)
        assert best.features.get(made.names.intern("lm")) == pytest.approx(score, abs=1e-4)
