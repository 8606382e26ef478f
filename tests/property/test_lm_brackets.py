"""Random models and sentences: the back-off rule, minimal states, and any bracketing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lm_arpa import BackoffModel, Ngrams, format_arpa, write_arpa

from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine

WORDS = ["a", "b", "c"]
SETTINGS = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Constituents add up single precision; unknown words at -100 make sums of a thousand.
CLOSE = {"abs": 1e-4, "rel": 1e-6}
log10s = st.integers(-3000, 0).map(lambda x: x / 1000)
backoffs = st.sampled_from([0.0, 0.0, -0.125, -0.7, 0.3])
sentence = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=9)


@st.composite
def models(draw: st.DrawFn) -> Ngrams:
    """N-grams without any closure: prefixes and suffixes may be missing."""
    order = draw(st.integers(1, 6))
    unigrams = ["<s>", "</s>", *WORDS, *draw(st.sampled_from([[], ["<unk>"]]))]
    ngrams: Ngrams = {(word,): (draw(log10s), draw(backoffs)) for word in unigrams}
    for n in range(2, order + 1):
        first = st.sampled_from(["<s>", *WORDS, "<unk>"])
        inner = st.lists(st.sampled_from([*WORDS, "<unk>"]), min_size=n - 2, max_size=n - 2)
        last = st.sampled_from([*WORDS, "</s>", "<unk>"])
        group = draw(
            st.lists(st.tuples(first, inner, last), min_size=1, max_size=3 * n, unique_by=str)
        )
        for one, middle, end in group:
            backoff = draw(backoffs) if n < order else 0.0
            # A filled-in n-gram would be positive where a positive back-off meets p close to 1.
            ngrams[(one, *middle, end)] = (draw(log10s) - 1.6, backoff)
    return {
        ngram: (log10 - 2.0 if len(ngram) == 1 else log10, backoff)
        for ngram, (log10, backoff) in ngrams.items()
    }


@st.composite
def trees(draw: st.DrawFn, words: list[str]) -> list:
    """A random bracketing, with empty constituents here and there."""
    if len(words) <= 1:
        return list(words)
    cuts = sorted(draw(st.lists(st.integers(0, len(words)), max_size=3)))
    edges = [0, *cuts, len(words)]
    parts: list = []
    for start, end in itertools.pairwise(edges):
        piece = words[start:end]
        if end - start < len(words) and draw(st.booleans()):
            parts.append(draw(trees(piece)))
        else:
            parts.extend(piece)
    return parts


def constituent(lm: LanguageModel, tree: list, bos: bool = False):
    symbols = [constituent(lm, part) if isinstance(part, list) else part for part in tree]
    return lm.combine(symbols, bos=bos)


@SETTINGS
@given(ngrams=models(), sentences=st.lists(sentence, min_size=1, max_size=6))
def test_scores_follow_the_rule(tmp_path: Path, ngrams: Ngrams, sentences: list[list[str]]) -> None:
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    definition = BackoffModel(ngrams)
    for words in sentences:
        for bos in (True, False):
            expected = [each[0] for each in definition.full_scores(words, bos)]
            found = [each.log10 for each in lm.full_scores(words, bos)]
            assert found == pytest.approx(expected, abs=1e-4)


@SETTINGS
@given(data=st.data(), ngrams=models(), words=sentence)
def test_any_bracketing_gives_the_flat_score(
    tmp_path: Path, data: st.DataObject, ngrams: Ngrams, words: list[str]
) -> None:
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    tree = data.draw(trees(words))
    inner = constituent(lm, tree)
    flat = lm.combine(words)
    assert inner.same_state(flat)
    assert inner.score == pytest.approx(flat.score, **CLOSE)
    assert inner.score == pytest.approx(lm.score(words, bos=False, eos=False), **CLOSE)
    whole = lm.combine([inner, "</s>"], bos=True)
    assert whole.score == pytest.approx(lm.score(words), **CLOSE)
    with_marks = constituent(lm, data.draw(trees([*words, "</s>"])), bos=True)
    assert with_marks.score == pytest.approx(lm.score(words), **CLOSE)


@SETTINGS
@given(ngrams=models(), left=sentence, right=sentence, future=sentence)
def test_equal_states_have_equal_futures(
    tmp_path: Path, ngrams: Ngrams, left: list[str], right: list[str], future: list[str]
) -> None:
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    states = []
    for words in (left, right):
        state = lm.begin_state
        for word in words:
            _, state = lm.score_word(state, word)
        assert state.length < max(lm.order, 2)
        states.append(state)
    if states[0] == states[1]:
        definition = BackoffModel(ngrams)
        one, other = (
            [each[0] for each in definition.full_scores([*words, *future])][len(words) :]
            for words in (left, right)
        )
        assert one == pytest.approx(other)
    ours = [lm.combine(left), lm.combine(right)]
    if ours[0].same_state(ours[1]):
        wholes = [lm.combine([*future, each, *future]).score - each.score for each in ours]
        assert wholes[0] == pytest.approx(wholes[1], **CLOSE)


@SETTINGS
@given(ngrams=models(), seed=st.randoms(use_true_random=False), words=sentence)
def test_compiled_and_shuffled_are_the_same(
    tmp_path: Path, ngrams: Ngrams, seed, words: list[str]
) -> None:
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    items = list(ngrams.items())
    seed.shuffle(items)
    shuffled = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(dict(items))))
    assert shuffled.full_scores(words) == lm.full_scores(words)
    lm.compile(tmp_path / "lm.bin")
    compiled = LanguageModel.load(tmp_path / "lm.bin")
    assert compiled.full_scores(words) == lm.full_scores(words)
    assert compiled.filled == lm.filled


def test_a_suffix_that_became_a_context_late_extends_its_own(tmp_path: Path) -> None:
    """`a a </s>` is filled in, becomes a context by its longer ones, and extends `a </s>`."""
    ngrams: Ngrams = {(word,): (-2.0, 0.0) for word in ("<s>", "</s>", "a")}
    ngrams[("<s>", "a", "a", "</s>")] = (-1.6, 0.0)
    ngrams[("<s>", "a", "a", "a", "</s>")] = (-1.6, -0.125)
    ngrams[("<s>", "a", "a", "a", "a", "a")] = (-1.6, 0.0)
    lm = LanguageModel.load(write_arpa(tmp_path / "lm.arpa", format_arpa(ngrams)))
    whole = lm.combine(["a", lm.combine(["a", "</s>"])], bos=True)
    assert whole.score == pytest.approx(lm.score("a a"), **CLOSE)
