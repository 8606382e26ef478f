"""Candidates of bins equal a slow definition on small random models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phrase_small import (
    EXACT,
    SmallModel,
    best_spans,
    phrases_of,
    random_model,
    random_weights,
    uncovered,
)

from hopefear.base.config import to_mapping
from hopefear.base.weights import Weights
from hopefear.decode.contract import ForcedOption, Request, Sentence
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.sparse.word_pairs import WordPairs
from hopefear.forest import bin_nodes, viterbi_each
from hopefear.learn.pool.search_aware import BinRows, Bins, pool_metric, words_of
from hopefear.metrics import create

pytestmark = pytest.mark.engine

REFERENCES = [["x y z x", "y x"]]
# u and v are in no table; d, e, f are.
sentences = st.lists(st.sampled_from("defuv"), min_size=1, max_size=5)
seeds = st.integers(0, 10_000)


def decoder_of(model: SmallModel, **changes: object) -> PhraseDecoder:
    return model.decoder(PhraseOptions(**{**to_mapping(EXACT), **changes}))  # type: ignore[arg-type]


def rows_of(
    decoder: PhraseDecoder, sentence: object, weights: Weights, how: str, future: bool = False
) -> tuple[BinRows, object]:
    decoded = decoder.decode(Request(sentence, weights, spans=True))
    forest, spans = decoded.forest, decoded.spans
    metric = pool_metric(create("bleu"), how)
    prepared = metric.prepare(REFERENCES)
    bins = Bins(how, future, decoder.names)
    return bins.counted(forest, weights, spans, prepared, 0), forest


@settings(max_examples=40)
@given(seeds, sentences, st.sampled_from((0, 6)), st.integers(-1, 3), st.booleans())
def test_potential_strings(
    seed: int, words: list[str], reordering: int, limit: int, marked: bool
) -> None:
    model = random_model(seed, reordering)
    weights = random_weights(seed, model)
    decoder = decoder_of(model, distortion_limit=limit)
    sentence = Sentence(tuple(words))
    if marked:
        forced = ForcedOption(len(words) - 1, len(words), ("y", "x"))
        sentence = Sentence(tuple(words), options=(forced,))
    found, forest = rows_of(decoder, sentence, weights, "potential")
    texts = []
    spans = best_spans(decoder, sentence, weights)
    prepared = create("bleu").prepare(REFERENCES)
    for bin in range(1, len(words)):
        nodes = bin_nodes(forest, bin)
        here = [d for d in viterbi_each(forest, weights, nodes=nodes) if d is not None]
        here.sort(key=lambda d: -d.score)
        at = slice(found.begin[bin - 1], found.begin[bin])
        assert found.scores[at] == pytest.approx([d.score for d in here])
        for derivation in here:
            covered = {i for b, e, _ in phrases_of(derivation) for i in range(b, e)}
            assert len(covered) == bin
            more = [w for b, e in uncovered(len(words), covered) for w in spans.words(b, e)]
            texts.append(" ".join([*derivation.words, *more]))
    # Parts that cover other words may have equal strings and features, and so equal keys.
    assert len(texts) == len(found.keys) >= len(set(found.keys.tolist()))
    expected = prepared.statistics(texts, np.zeros(len(texts), np.int32))
    # Rows of equal scores may stand in another order.
    assert sorted(map(tuple, found.statistics)) == sorted(map(tuple, expected))
    assert words_of(forest) == len(words)


@settings(max_examples=25)
@given(seeds, sentences, st.integers(-1, 3))
def test_partial_statistics(seed: int, words: list[str], limit: int) -> None:
    model = random_model(seed)
    weights = random_weights(seed, model)
    decoder = decoder_of(model, distortion_limit=limit)
    found, forest = rows_of(decoder, words, weights, "partial")
    for bin in range(1, len(words)):
        nodes = bin_nodes(forest, bin)
        here = [d for d in viterbi_each(forest, weights, nodes=nodes) if d is not None]
        rows = found.statistics[found.begin[bin - 1] : found.begin[bin]]
        assert sorted(rows[:, 1]) == sorted(len(d.words) for d in here)
        # 840 parts of a word; the references have 4 and 2 words.
        assert set(rows[:, -1]) <= {round(840 * 3 * bin / len(words))}


@settings(max_examples=25)
@given(seeds, sentences, st.integers(-1, 3), st.booleans())
def test_future_features_are_future_costs(
    seed: int, words: list[str], limit: int, templates: bool
) -> None:
    more = {"templates": (WordPairs(),)} if templates else {}
    model = random_model(seed, **more)
    weights = random_weights(seed, model)
    decoder = decoder_of(model, distortion_limit=limit)
    decoded = decoder.decode(Request(words, weights, spans=True))
    forest, spans = decoded.forest, decoded.spans
    plain = Bins("potential", False, decoder.names)
    unknown = decoder.names.intern("unknown")
    without = Bins("potential", False, decoder.names, frozenset({unknown}))
    with_future = Bins("potential", True, decoder.names)
    for bin in range(1, len(words)):
        nodes = bin_nodes(forest, bin)
        wanted = []
        for derivation in viterbi_each(forest, weights, nodes=nodes):
            covered = {i for b, e, _ in phrases_of(derivation) for i in range(b, e)}
            costs = [spans.score(b, e) for b, e in uncovered(len(words), covered)]
            wanted.append(derivation.score + sum(costs))
        found = with_future.strings(forest, weights, spans, bin)
        assert found.scores == pytest.approx(sorted(wanted, reverse=True), abs=1e-4)
        sums = [
            sum(
                weights[int(id)] * value
                for id, value in zip(found.ids[b:e], found.values[b:e], strict=True)
            )
            for b, e in zip(found.features[:-1], found.features[1:], strict=True)
        ]
        assert sums == pytest.approx(found.scores, abs=1e-4)
        assert all(decoder.names.name(int(id)) for id in found.ids)
        same = plain.strings(forest, weights, spans, bin)
        assert sorted(same.texts) == sorted(found.texts)
        known = without.strings(forest, weights, spans, bin)
        assert known.texts == same.texts
        for row in range(len(same.scores)):
            first, second = (
                dict(zip(some.ids[b:e].tolist(), some.values[b:e].tolist(), strict=True))
                for some in (same, known)
                for b, e in [some.features[row : row + 2]]
            )
            number = first.pop(unknown, 0.0)
            assert first == second
            assert known.scores[row] == pytest.approx(
                same.scores[row] - number * weights["unknown"], abs=1e-6
            )
