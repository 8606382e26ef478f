"""Forced decoding equals enumeration, and the intersection of everything with the reference."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phrase_small import EXACT, Phrase, SmallModel, named, phrases_of, random_model, random_weights

from hopefear.base.config import to_mapping
from hopefear.base.weights import Weights
from hopefear.decode import force, leaving_out
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.sparse.rule_bigrams import RuleBigrams
from hopefear.features.sparse.target_bigrams import TargetBigrams
from hopefear.forest import Forest, count, intersect, kbest

pytestmark = pytest.mark.engine

MOST = 3000  # derivations to enumerate
seeds = st.integers(0, 10_000)
limits = st.integers(-1, 3)


def exact(limit: int) -> PhraseOptions:
    return PhraseOptions(**{**to_mapping(EXACT), "distortion_limit": limit})  # type: ignore[arg-type]


def text(phrases: tuple[Phrase, ...]) -> tuple[str, ...]:
    return tuple(word for _, _, target in phrases for word in target)


def derivations(model: SmallModel, words: list[str], limit: int) -> list[tuple[Phrase, ...]]:
    found = list(itertools.islice(model.derivations(words, limit), MOST + 1))
    assume(len(found) <= MOST)
    return found


def check(
    model: SmallModel,
    decoder: PhraseDecoder,
    words: list[str],
    forest: Forest,
    expected: list[tuple[Phrase, ...]],
) -> None:
    """The forest has these derivations of the whole sentence, with their features."""
    weights = random_weights(1, model)
    found = kbest(forest, weights, 2 * MOST)
    assert sorted(phrases_of(d) for d in found) == sorted(expected)
    for derivation in found:
        features = named(derivation.features, decoder)
        replayed = named(decoder.score_derivation(words, phrases_of(derivation)), decoder)
        assert replayed == pytest.approx(features, rel=1e-5, abs=1e-5)


@settings(max_examples=80)
@given(
    seeds,
    st.lists(st.sampled_from("defuv"), max_size=5),
    st.sampled_from((0, 3, 6)),
    limits,
    st.integers(1, 3),
)
def test_all_derivations_of_the_references(
    seed: int, words: list[str], reordering: int, limit: int, references: int
) -> None:
    model = random_model(seed, reordering, templates=(TargetBigrams(), RuleBigrams()))
    decoder = model.decoder(exact(limit))
    everything = derivations(model, words, limit)
    rng = random.Random(seed)
    # Strings that are derived, one that is perhaps not.
    targets = [text(rng.choice(everything)) for _ in range(references)]
    targets[-1] = rng.choice((targets[-1], (*targets[-1], "a"), targets[-1][:-1]))
    gold = force(decoder, words, *targets)
    expected = [d for d in everything if text(d) in targets]
    assert gold.reachable == bool(expected)
    assert not gold.limit_hit
    assert gold.source_words == (len(words) if expected else 0)
    assert gold.target_words == max((len(text(d)) for d in expected), default=0)
    check(model, decoder, words, gold.forest, expected)
    assert bool(gold.forest.nodes) == gold.reachable
    if len(set(targets)) == 1:
        alone = decoder.forest(words, Weights(), targets[0])
        assert (alone.nodes, alone.edges) == (gold.forest.nodes, gold.forest.edges)


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from("deu"), min_size=1, max_size=6), limits)
def test_forced_forest_is_the_intersection_with_the_reference(
    seed: int, words: list[str], limit: int
) -> None:
    model = random_model(seed, templates=(TargetBigrams(), RuleBigrams()))
    decoder = model.decoder(exact(limit))
    weights = random_weights(seed, model)
    everything = decoder.forest(words, weights)
    assume(everything.edges < 50_000)
    for derivation in kbest(everything, weights, 3, distinct=True):
        target = derivation.words
        gold = decoder.forest(words, weights, target)
        part = intersect(everything, target)
        assert count(gold) == count(part.forest, roots=part.roots) > 0
        a = kbest(gold, weights, 20)
        b = kbest(part.forest, weights, 20, roots=part.roots)
        assert [d.score for d in a] == pytest.approx([d.score for d in b], abs=1e-4)
        # Every node is good: of a derivation of the reference.
        assert all(n > 0 for n in gold.node_edges[1:] - gold.node_edges[:-1])


@settings(max_examples=100)
@given(seeds, st.lists(st.sampled_from("defu"), min_size=1, max_size=6), limits, st.integers(1, 3))
def test_the_longest_prefix(seed: int, words: list[str], limit: int, shortest: int) -> None:
    model = random_model(seed, templates=(TargetBigrams(), RuleBigrams()))
    decoder = model.decoder(exact(limit))
    rng = random.Random(seed)
    target = text(rng.choice(derivations(model, words, limit)))
    cut = rng.randint(0, len(target))
    target = (*target[:cut], *(rng.choice("abcz") for _ in range(3)), *target[cut:])
    gold = force(decoder, words, target, prefix=True, shortest_prefix=shortest)
    if any(text(d) == target for d in derivations(model, words, limit)):
        assert gold.reachable
        assert gold.source_words == len(words)
        return
    assert not gold.reachable
    for length in range(len(words), shortest - 1, -1):
        # A derivation of a prefix is one of the sentence that begins with it.
        expected = [
            d
            for d in derivations(model, words[:length], limit)
            if text(d) == target[: len(text(d))]
        ]
        if expected:
            break
    else:
        assert not gold
        assert gold.forest.nodes == gold.source_words == gold.target_words == 0
        return
    assert gold.source_words == length
    assert gold.target_words == max(len(text(d)) for d in expected)
    weights = random_weights(seed, model)
    found = kbest(gold.forest, weights, 2 * MOST)
    assert sorted(phrases_of(d) for d in found) == sorted(expected)
    assert set(gold.forest.covered[gold.forest.nodes - 1 :].tolist()) == {length}
    for derivation in found:  # without the end of the sentence
        features = named(derivation.features, decoder)
        lm = model.lm.score(derivation.words, eos=False)
        assert features["lm"] == pytest.approx(lm * 2.302585093, rel=1e-5, abs=1e-5)
        assert not any(name.endswith("</s>") for name in features)


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from("defu"), min_size=1, max_size=5), limits)
def test_leaving_out_is_decoding_with_a_smaller_table(
    seed: int, words: list[str], limit: int
) -> None:
    """All rules of these models were seen once: those that the pair has are its own."""
    model = random_model(seed)
    rng = random.Random(seed)
    target = [rng.choice("abczu") for _ in range(rng.randint(1, 4))]
    decoder = model.decoder(exact(limit))
    parts = {tuple(target[i:j]) for i in range(len(target)) for j in range(i + 1, len(target) + 1)}
    pairs = {s: {t: x for t, x in ts.items() if t not in parts} for s, ts in model.pairs.items()}
    pairs = {s: ts for s, ts in pairs.items() if ts} or {("x",): {("a",): (0.5,) * 10}}
    smaller = SmallModel(pairs)
    weights = random_weights(seed, model)
    expected = derivations(smaller, words, limit)
    found = kbest(decoder.forest(leaving_out(words, target), weights), weights, 2 * MOST)
    assert sorted(phrases_of(d) for d in found) == sorted(expected)
    gold = force(decoder, words, target, leave_out=True)
    assert count(gold.forest) == sum(text(d) == tuple(target) for d in expected)
