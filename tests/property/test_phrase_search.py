"""Phrase search equals enumeration on small random models."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phrase_small import (
    EXACT,
    SmallModel,
    best_spans,
    named,
    phrases_of,
    random_model,
    random_weights,
)

from hopefear.base.config import to_mapping
from hopefear.base.weights import Weights
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.sparse.target_bigrams import TargetBigrams
from hopefear.forest import bin_nodes, kbest, viterbi

pytestmark = pytest.mark.engine

MOST = 3000  # derivations to enumerate
sentences = st.lists(st.sampled_from("defuv"), max_size=4)
seeds = st.integers(0, 10_000)


def options(**changes: object) -> PhraseOptions:
    return PhraseOptions(**{**to_mapping(EXACT), **changes})  # type: ignore[arg-type]


def enumerate_all(model: SmallModel, words: list[str], limit: int) -> list[tuple]:
    found = list(itertools.islice(model.derivations(words, limit), MOST + 1))
    assume(len(found) <= MOST)
    return found


@settings(max_examples=60)
@given(
    seeds,
    sentences,
    st.sampled_from((0, 3, 6)),
    st.integers(-1, 3),
    st.sampled_from(("cube", "stack")),
)
def test_the_forest_is_all_derivations(
    seed: int, words: list[str], reordering: int, limit: int, search: str
) -> None:
    model = random_model(seed, reordering)
    weights = random_weights(seed, model)
    expected = enumerate_all(model, words, limit)
    decoder = model.decoder(options(search=search, distortion_limit=limit))
    forest = decoder.forest(words, weights)
    found = kbest(forest, weights, 2 * MOST)
    assert sorted(phrases_of(d) for d in found) == sorted(expected)
    for derivation in found:
        phrases = phrases_of(derivation)
        features = named(derivation.features, decoder)
        wanted = model.features(words, phrases)
        assert features.keys() == wanted.keys()
        for name, value in wanted.items():
            assert features[name] == pytest.approx(value, rel=1e-5, abs=1e-5)
        assert derivation.score == pytest.approx(
            model.score(words, phrases, weights), rel=1e-5, abs=1e-5
        )
        replayed = named(decoder.score_derivation(words, phrases), decoder)
        assert replayed == pytest.approx(features, rel=1e-5, abs=1e-5)


@settings(max_examples=40)
@given(seeds, st.lists(st.sampled_from("defuv"), max_size=6), st.integers(-1, 4))
def test_cube_and_stack_agree(seed: int, words: list[str], limit: int) -> None:
    model = random_model(seed, templates=(TargetBigrams(),))
    weights = random_weights(seed, model)
    rng = random.Random(seed)
    for pair in itertools.product(["<s>", *"abcz"], [*"abcz", "</s>"]):
        weights[f"target-bigrams:{'|'.join(pair)}"] = rng.uniform(-1, 1)
    found = []
    for search in ("cube", "stack"):
        decoder = model.decoder(
            options(search=search, distortion_limit=limit, beam=4000, pop_limit=100_000)
        )
        forest = decoder.forest(words, weights)
        assume(forest.nodes < 20_000 and forest.edges < 90_000)
        best = viterbi(forest, weights)
        assert best is not None
        assert weights.dot(best.features) == pytest.approx(best.score, abs=1e-4)
        found.append((forest.nodes, forest.edges, best.score))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2])


@settings(max_examples=40)
@given(seeds, st.lists(st.sampled_from("defuv"), min_size=1, max_size=6), st.integers(1, 3))
def test_the_table_limit_keeps_the_best_by_their_own_score(
    seed: int, words: list[str], limit: int
) -> None:
    model = random_model(seed)
    weights = random_weights(seed, model)
    forest = model.decoder(options(table_limit=limit, distortion_limit=0)).forest(words, weights)
    used: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for derivation in kbest(forest, weights, 1000):
        for begin, end, target in phrases_of(derivation):
            used.setdefault(tuple(words[begin:end]), set()).add(target)
    for source, targets in used.items():
        if source not in model.pairs:
            assert targets == {source}
            continue
        assert len(targets) <= limit
        scores = {target: alone(model, source, target, weights) for target in model.pairs[source]}
        left_out = [scores[t] for t in scores if t not in targets]
        if left_out and len(targets) == limit:
            assert min(scores[t] for t in targets) >= max(left_out) - 1e-6


def alone(
    model: SmallModel, source: tuple[str, ...], target: tuple[str, ...], weights: Weights
) -> float:
    """An option's score in no context."""
    lm = sum(weights[n] * model.lm.score(target, bos=False, eos=False) for n in model.lms)
    total = math.log(10) * lm + weights["phrases"] + weights["words"] * len(target)
    if target not in model.pairs.get(source, {}):
        return total + weights["unknown"]
    names = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")
    probabilities = model.pairs[source][target]
    return total + sum(weights[n] * math.log(p) for n, p in zip(names, probabilities, strict=False))


@settings(max_examples=40)
@given(seeds, st.lists(st.sampled_from("defuv"), min_size=1, max_size=5), st.integers(0, 5))
def test_best_spans(seed: int, words: list[str], width: int) -> None:
    model = random_model(seed)
    weights = random_weights(seed, model)
    spans = best_spans(model.decoder(), words, weights, width)
    n = len(words)
    assert (spans.length, spans.width) == (n, min(n, width))
    for begin, end in itertools.combinations(range(n + 1), 2):
        if end - begin > width and end < n:
            with pytest.raises(IndexError):
                spans.score(begin, end)
            continue
        part = words[begin:end]
        scored: dict[tuple[str, ...], float] = {}
        for phrases in model.derivations(part, 0):
            text = tuple(word for _, _, target in phrases for word in target)
            score = sum(alone(model, tuple(part[i:j]), t, weights) for i, j, t in phrases)
            scored[text] = max(score, scored.get(text, -math.inf))
        best = max(scored.values())
        assert spans.score(begin, end) == pytest.approx(best, abs=1e-4)
        assert scored[tuple(spans.words(begin, end))] == pytest.approx(best, abs=1e-4)


@settings(max_examples=40)
@given(
    seeds,
    st.lists(st.sampled_from("defuv"), min_size=1, max_size=12),
    st.sampled_from(("cube", "stack")),
    st.integers(1, 12),
    st.integers(1, 40),
    st.integers(-1, 4),
)
def test_limits_hold(
    seed: int, words: list[str], search: str, beam: int, pop_limit: int, limit: int
) -> None:
    model = random_model(seed)
    weights = random_weights(seed, model)
    decoder = model.decoder(
        options(search=search, beam=beam, pop_limit=pop_limit, distortion_limit=limit)
    )
    forest = decoder.forest(words, weights)
    best = viterbi(forest, weights)
    assert best is not None, "every hypothesis can be completed"
    assert weights.dot(best.features) == pytest.approx(best.score, abs=1e-4)
    last = 0
    covered: set[int] = set()
    for begin, end, _ in phrases_of(best):
        gap = min(set(range(len(words))) - covered)
        if limit >= 0:
            assert abs(begin - last) <= limit
            assert begin == gap or end - gap <= limit
        covered |= set(range(begin, end))
        last = end
    assert covered == set(range(len(words)))
    edges = np.diff(forest.node_edges)
    for i in range(1, len(words) + 1):
        nodes = [n for n in bin_nodes(forest, i).tolist() if n != forest.goal]
        assert len(nodes) <= beam
        if search == "cube":
            assert sum(edges[n] for n in nodes) <= pop_limit
