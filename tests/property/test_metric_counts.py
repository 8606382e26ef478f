"""The engine's counts are those of a few lines of Python; scores are sacreBLEU's."""

from __future__ import annotations

import math
from collections import Counter

import jiwer
import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from hopefear.metrics import create

pytestmark = pytest.mark.engine

words = st.lists(st.sampled_from(["a", "b", "c", "é", "猫"]), max_size=9)
sentences = st.tuples(words, st.lists(words, min_size=1, max_size=3))
corpora = st.lists(sentences, min_size=1, max_size=5)


def grams(text: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


@given(corpora, st.integers(1, 5), st.booleans())
@settings(max_examples=80, deadline=None)
def test_counts(corpus: list, order: int, clip: bool) -> None:
    options = {"order": order, "clip": clip, "xi": [1.0] * (order + 1)}
    metric = create("linear-ngram", options)
    rows = metric.statistics([h for h, _ in corpus], [r for _, r in corpus])
    for (hypothesis, references), row in zip(corpus, rows, strict=True):
        for n in range(1, order + 1):
            ours, limit = grams(hypothesis, n), Counter[tuple[str, ...]]()
            for reference in references:
                limit |= grams(reference, n)
            match = sum(
                min(count, limit[gram]) if clip else count * (gram in limit)
                for gram, count in ours.items()
            )
            assert row[2 * n - 2] == match
            assert row[2 * n - 1] == sum(ours.values())
        lengths = sorted(len(reference) for reference in references)
        assert row[-1] == min(lengths, key=lambda length: abs(length - len(hypothesis)))


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_bleu_and_chrf_equal_sacrebleu(corpus: list) -> None:
    lines = [tuple(" ".join(text) for text in row) for row in corpus]
    hypotheses, references = [row[0] for row in lines], [row[1:] for row in lines]
    streams = list(zip(*references, strict=True))
    for metric, theirs in (
        (create("bleu"), sacrebleu.BLEU(tokenize="none", force=True)),
        (create("chrf"), sacrebleu.CHRF()),
    ):
        rows = metric.statistics(hypotheses, references)
        score = theirs.corpus_score(hypotheses, streams).score
        assert math.isclose(float(metric.shown(rows.sum(axis=0))), score, abs_tol=1e-9)


@given(st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_text(hypothesis: str, reference: str) -> None:
    """Whatever the characters: words are those of str.split, characters are code points."""
    try:
        (hypothesis + reference).encode()
    except UnicodeEncodeError:
        return
    row = create("bleu").statistics([hypothesis], [[reference]])[0]
    assert row[1] == len(hypothesis.split())
    assert row[-1] == len(reference.split())
    assert row[0] == sum((grams(hypothesis.split(), 1) & grams(reference.split(), 1)).values())
    row = create("bleu", {"unit": "char"}).statistics([hypothesis], [[reference]])[0]
    ours, theirs = "".join(hypothesis.split()), "".join(reference.split())
    assert row[1] == len(ours)
    assert row[2] == sum((grams(list(ours), 2) & grams(list(theirs), 2)).values())


@given(st.lists(st.sampled_from("abcd"), max_size=7), st.lists(st.sampled_from("abcd"), max_size=7))
@settings(max_examples=80, deadline=None)
def test_ter_equals_sacrebleu(hypothesis: list[str], reference: list[str]) -> None:
    row = create("ter").statistics([hypothesis], [[reference]])[0]
    theirs = sacrebleu.TER().sentence_score(" ".join(hypothesis), [" ".join(reference)])
    assert row[0] == theirs.num_edits


@given(corpora, st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_scores_are_within_bounds(corpus: list, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 5, size=(20, len(corpus)))
    for name in ("bleu", "bleu+1", "bleu-decayed", "chrf"):
        metric = create(name)
        rows = metric.statistics([h for h, _ in corpus], [r for _, r in corpus])
        for scores in (metric.score(weights @ rows), metric.sentence_scores(rows)):
            assert (scores >= 0).all()
            assert (scores <= 1 + 1e-12).all()


speech = st.lists(st.sampled_from(["a", "b", "cd", "é", "猫猫"]), max_size=9)


@given(st.lists(st.tuples(speech, speech), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_error_rates_equal_jiwers(corpus: list) -> None:
    hypotheses, references = ([" ".join(pair[side]) for pair in corpus] for side in (0, 1))
    for name, theirs in (("wer", jiwer.wer), ("cer", jiwer.cer)):
        metric = create(name)
        rows = metric.statistics(hypotheses, [[text] for text in references])
        expected = 100 * theirs(references, hypotheses)
        assert math.isclose(float(metric.shown(rows.sum(axis=0))), expected, abs_tol=1e-9)


def edit_distance(first: list[str], second: list[str]) -> int:
    row = list(range(len(second) + 1))
    for i, unit in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            last, row[j] = row[j], min(last + (unit != other), row[j] + 1, row[j - 1] + 1)
    return row[-1]


@pytest.mark.parametrize("length", [1, 63, 64, 65, 127, 128, 129, 300])
def test_edits_of_long_texts(length: int) -> None:
    """A column of the table takes several numbers of 64 bits."""
    random = np.random.default_rng(length)
    for other in (0, length // 2, length, 2 * length):
        for words in (2, 5, 200):
            reference = [f"w{i}" for i in random.integers(words, size=length)]
            hypothesis = [f"w{i}" for i in random.integers(words, size=other)]
            row = create("wer").statistics([hypothesis], [[reference]])[0]
            assert row.tolist() == [edit_distance(hypothesis, reference), length]


@given(speech, st.lists(speech, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_the_reference_of_an_error_rate_has_the_lowest_one(hypothesis: list, texts: list) -> None:
    row = create("wer").statistics([hypothesis], [texts])[0]
    edits = [edit_distance(hypothesis, text) for text in texts]
    rates = [
        e / len(text) if text else (math.inf if e else 0.0)
        for e, text in zip(edits, texts, strict=True)
    ]
    best = rates.index(min(rates))
    assert row.tolist() == [edits[best], len(texts[best])]
