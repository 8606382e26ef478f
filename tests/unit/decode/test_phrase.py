"""PhraseDecoder: forests, limits, markup, long sentences, refused input."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from phrase_small import EXACT, SmallModel, named, phrases_of, random_model, random_weights

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import SparseVector, Weights
from hopefear.decode.contract import FeatureSpec, ForcedOption, ModelParts, Request, Sentence
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.features.feature import make_feature
from hopefear.features.sparse.phrase_length import PhraseLength
from hopefear.features.sparse.target_bigrams import TargetBigrams
from hopefear.forest import ForestFile, bin_nodes, kbest, save_pool, viterbi

pytestmark = pytest.mark.engine

HALF = (0.5,) * 10
PAIRS = {
    ("d",): {("a",): HALF, ("b",): (0.25,) * 10},
    ("e",): {("b",): HALF, ("c", "a"): HALF},
    ("d", "e"): {("a", "b"): (0.1,) * 10},
    ("u", "d"): {("c",): HALF},
}


@pytest.fixture(scope="module")
def model() -> SmallModel:
    return SmallModel(PAIRS)


@pytest.fixture(scope="module")
def weights(model: SmallModel) -> Weights:
    return random_weights(3, model)


def best(decoder: PhraseDecoder, sentence: Sentence | str, weights: Weights):
    derivation = viterbi(decoder.forest(sentence, weights), weights)
    assert derivation is not None
    return derivation


def test_dense_features_and_their_order(model: SmallModel) -> None:
    decoder = model.decoder()
    assert decoder.dense[:5] == ["lm", "p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)"]
    assert decoder.dense[5:9] == ["words", "phrases", "distortion", "unknown"]
    assert decoder.dense[9:] == list(model.rules.reordering_columns)
    assert len(decoder.dense) == 15


def test_an_empty_sentence_has_the_empty_translation(model: SmallModel, weights: Weights) -> None:
    forest = model.decoder().forest("", weights)
    derivations = kbest(forest, weights, 5)
    assert [d.text for d in derivations] == [""]
    assert named(derivations[0].features, model.decoder()) == pytest.approx(
        {"lm": model.lm.score("") * math.log(10)}
    )


def test_a_word_is_copied_only_if_the_table_has_no_phrase_of_that_word(
    model: SmallModel, weights: Weights
) -> None:
    decoder = model.decoder()
    strings = {d.text for d in kbest(decoder.forest("u d", weights), weights, 100)}
    assert strings == {"u a", "a u", "u b", "b u", "c"}
    unknown = viterbi(decoder.forest("neu", weights), weights)
    assert unknown is not None
    assert unknown.words == ["neu"]
    features = named(unknown.features, decoder)
    assert features["unknown"] == 1
    assert features["lm"] == pytest.approx(model.lm.score("neu") * math.log(10))
    assert "p(f|e)" not in features


def test_nodes_and_edges(model: SmallModel, weights: Weights) -> None:
    forest = model.decoder().forest(Sentence(("d", "e", "neu"), "17"), weights)
    assert forest.id == "17"
    assert forest.goal == forest.nodes - 1
    assert np.diff(forest.node_edges)[0] == 1
    assert len(bin_nodes(forest, 0)) == 1
    assert sorted(set(forest.covered.tolist())) == [0, 1, 2, 3]
    rules = model.rules
    for derivation in kbest(forest, weights, 1000):
        for edge in derivation.edges.tolist():
            target = forest.target[forest.target_begin[edge] : forest.target_begin[edge + 1]]
            words = [forest.vocabulary.word(int(w)) for w in target if w >= 0]
            if forest.rules[edge] >= 0:
                assert list(rules.engine.rule(int(forest.rules[edge]))[0]) == words
            else:
                assert words in ([], ["neu"])
    # One row for each option, shared by its edges.
    with_row = forest.edge_rows[forest.edge_rows != 0xFFFFFFFF]
    assert len(set(with_row.tolist())) == forest.rows < len(with_row)


def test_spans_of_nodes_are_those_of_the_last_phrase(model: SmallModel, weights: Weights) -> None:
    forest = model.decoder().forest("d e d", weights)
    spans = forest.spans.reshape(-1, 2)
    for derivation in kbest(forest, weights, 200):
        last = phrases_of(derivation)[-1]
        final = int(forest.tails[forest.tail_begin[derivation.edges[0]]])
        assert tuple(spans[final]) == last[:2]


@pytest.mark.parametrize("reordering", [0, 3, 6])
@pytest.mark.parametrize("limit", [-1, 4])
def test_more_than_64_words(reordering: int, limit: int) -> None:
    model = random_model(11, reordering)
    weights = random_weights(5, model)
    words = [("d", "e", "f", "u", "v")[i * i % 5] for i in range(150)]
    scores = []
    for search in ("cube", "stack"):
        options = PhraseOptions(search=search, beam=20, pop_limit=200, distortion_limit=limit)
        decoder = model.decoder(options)
        derivation = best(decoder, " ".join(words), weights)
        phrases = phrases_of(derivation)
        covered = sorted(w for begin, end, _ in phrases for w in range(begin, end))
        assert covered == list(range(150))
        expected = named(decoder.score_derivation(words, phrases), decoder)
        features = named(derivation.features, decoder)
        assert features == pytest.approx(expected, rel=1e-4, abs=1e-3)
        scores.append(derivation.score)
    assert scores[1] >= scores[0] - abs(scores[0]) / 10


def test_jumps_across_the_64th_word() -> None:
    """A far jump allows the use of the only phrase pair of a rare word."""
    pairs = {("d",): {("a",): HALF}, ("e",): {("b",): HALF}}
    model = SmallModel(pairs)
    weights = Weights({"reorder.bwd.other": -5.0, "p(f|e)": 1.0, "lm": 1.0})
    words = ["d"] * 70 + ["e"]
    decoder = model.decoder(PhraseOptions(beam=50, pop_limit=500, distortion_limit=-1))
    derivation = best(decoder, " ".join(words), weights)
    jumps = named(derivation.features, decoder).get("distortion", 0)
    assert jumps < -100
    assert "reorder.bwd.other" in named(derivation.features, decoder)


def test_threads_and_repetition_change_nothing(model: SmallModel) -> None:
    model = SmallModel(PAIRS, templates=(TargetBigrams(), PhraseLength()))
    weights = random_weights(4, model)
    weights["target-bigrams:a|b"] = 1.0
    sentences = [" ".join("deuvf"[(i * j) % 5] for j in range(1, 12)) for i in range(40)]
    options = PhraseOptions(beam=20, pop_limit=60)

    def arrays(threads: int) -> list[list[bytes]]:
        decoder = model.decoder(options)
        forests = decoder.forests(sentences, weights, threads=threads)
        names = ("node_edges", "covered", "spans", "coverage", "heads", "tails", "target")
        names += ("edge_rows", "rules", "edge_dense", "own_features", "own_values", "row_dense")
        names += ("row_features", "row_values", "feature_ids")
        return [[getattr(f, name).tobytes() for name in names] for f in forests]

    assert arrays(1) == arrays(4)


def test_stateful_and_stateless_templates(weights: Weights) -> None:
    model = SmallModel(PAIRS, templates=(TargetBigrams(), PhraseLength(longest=1)))
    decoder = model.decoder()
    weights = weights.copy()
    weights["target-bigrams:a|<x>"] = 1.0
    weights["target-bigrams:<s>|c"] = 2.5
    weights["phrase-length:1x1"] = -0.5
    forest = decoder.forest("d e", weights)
    derivations = kbest(forest, weights, 100)
    assert len(derivations) == 9
    for derivation in derivations:
        text = ["<s>", *derivation.words, "</s>"]
        pairs = [f"target-bigrams:{a}|{b}" for a, b in itertools.pairwise(text)]
        features = named(derivation.features, decoder)
        bigrams = {k: v for k, v in features.items() if k.startswith("target-bigrams")}
        assert bigrams == {pair: pairs.count(pair) for pair in pairs}
        shapes = {k: v for k, v in features.items() if k.startswith("phrase-length")}
        assert shapes == {"phrase-length:1x1": len(phrases_of(derivation))}
        assert derivation.score == pytest.approx(weights.dot(derivation.features), abs=1e-4)
        replayed = decoder.score_derivation("d e", phrases_of(derivation))
        assert named(replayed, decoder) == pytest.approx(features, abs=1e-5)
    scores = [d.score for d in derivations]
    assert scores == sorted(scores, reverse=True)


def test_several_language_models(weights: Weights) -> None:
    one, two = SmallModel(PAIRS), SmallModel(PAIRS, lms=("lm", "other"))
    split = weights.copy()
    split["lm"] = weights["lm"] / 4
    split["other"] = weights["lm"] * 3 / 4
    a = best(one.decoder(), "d e u d", weights)
    b = best(two.decoder(), "d e u d", split)
    assert a.words == b.words
    assert a.score == pytest.approx(b.score, abs=1e-5)
    features = named(b.features, two.decoder())
    assert features["lm"] == features["other"]


def test_names_and_units_of_an_imported_model(model: SmallModel) -> None:
    features = {
        "words": FeatureSpec("WordPenalty0", -1.0),
        "phrases": FeatureSpec("PhrasePenalty0"),
        "unknown": FeatureSpec("UnknownWordPenalty0", -100.0),
        "lm": FeatureSpec("lm", 1 / math.log(10)),
    }
    parts = ModelParts(model.rules, {"LM0": model.lm}, features)
    decoder = PhraseDecoder.load(parts, EXACT)
    vector = named(decoder.score_derivation("neu d", [(1, 2, "a"), (0, 1, "neu")]), decoder)
    assert vector["LM0"] == pytest.approx(model.lm.score("a neu"))
    assert (vector["WordPenalty0"], vector["PhrasePenalty0"]) == (-2, 2)
    assert vector["UnknownWordPenalty0"] == -100
    assert "distortion" not in decoder.dense
    weights = Weights({"LM0": 1.0, "UnknownWordPenalty0": 1.0})
    derivation = best(decoder, "neu d", weights)
    assert derivation.score == pytest.approx(weights.dot(derivation.features))


# -- translations from markup --


def test_forced_options(model: SmallModel, weights: Weights) -> None:
    option = ForcedOption(1, 3, ("x", "y"), math.log(0.5))
    decoder = model.decoder()
    only = Sentence(("d", "e", "d"), options=(option,))
    strings = {d.text for d in kbest(decoder.forest(only, weights), weights, 100)}
    assert strings == {"a x y", "x y a", "b x y", "x y b"}
    derivation = best(decoder, only, weights)
    features = named(derivation.features, decoder)
    forced = phrases_of(derivation)
    assert named(decoder.score_derivation(only, forced), decoder) == pytest.approx(features)
    (other,) = [p for p in forced if p[2] != ("x", "y")]
    table = math.log(model.pairs[("d",)][other[2]][0])
    assert features["p(f|e)"] == pytest.approx(math.log(0.5) / 4 + table)
    assert "unknown" not in features
    inclusive = replace(only, exclusive=False)
    more = {d.text for d in kbest(decoder.forest(inclusive, weights), weights, 10_000)}
    assert strings < more
    assert {d.text for d in kbest(decoder.forest("d e d", weights), weights, 10_000)} < more


def test_several_options_for_a_span(model: SmallModel, weights: Weights) -> None:
    options = (ForcedOption(0, 1, ("x",), -1.0), ForcedOption(0, 1, ("y",), -0.5))
    sentence = Sentence(("d",), options=options)
    forest = model.decoder().forest(sentence, Weights({"p(f|e)": 1.0}))
    assert [d.text for d in kbest(forest, Weights({"p(f|e)": 1.0}), 5)] == ["y", "x"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((ForcedOption(0, 4, ("x",)),), "outside of its 3 words"),
        ((ForcedOption(1, 1, ("x",)),), "outside of its 3 words"),
        ((ForcedOption(0, 2, ("x",)), ForcedOption(1, 3, ("y",))), "overlaps another"),
        ((ForcedOption(0, 2, ("x",), -math.inf),), "probability"),
    ],
)
def test_wrong_options(
    model: SmallModel, weights: Weights, options: tuple[ForcedOption, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        model.decoder().forest(Sentence(("d", "e", "d"), "3", options=options), weights)


# -- limits --


def test_a_long_sentence_is_searched_with_smaller_limits(
    model: SmallModel, weights: Weights
) -> None:
    decoder = model.decoder(PhraseOptions(beam=100, pop_limit=400, long_sentence=100))
    words = ["d", "e", "u", "d", "neu"] * 100
    assert decoder.note("d e") is None
    assert decoder.note(words) == "500 words: searched with beam 20, pop limit 80"
    free = model.decoder(PhraseOptions(search="stack", distortion_limit=-1, beam=10))
    assert free.note(words) == "500 words: searched with distortion limit 250"
    forest = decoder.forest(words, weights)
    assert forest.nodes <= 2 + 500 * 20
    assert forest.bytes < 20_000_000
    assert viterbi(forest, weights) is not None


def test_a_sentence_that_is_too_long_is_refused(model: SmallModel, weights: Weights) -> None:
    with pytest.raises(InputError, match=r"sentence 9: 10001 words.*at most 10000; split"):
        model.decoder(PhraseOptions()).forest(Sentence(("d",) * 10_001, "9"), weights)
    with pytest.raises(InputError, match=r"^2001 words.*without a distortion limit"):
        model.decoder().forest(["d"] * 2001, weights)


def test_the_threshold_drops_worse_hypotheses(model: SmallModel, weights: Weights) -> None:
    wide = model.decoder().forest("d e u d e", weights)
    narrow = model.decoder(replace(EXACT, threshold=0.01)).forest("d e u d e", weights)
    assert narrow.nodes < wide.nodes
    assert viterbi(narrow, weights) is not None


# -- refused input --


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ([(0, 1, "a")], "leaves word 1 untranslated"),
        ([(0, 1, "a"), (0, 2, "a b")], "translates word 0 twice"),
        ([(0, 3, "a")], "words 0 to 3 of 2"),
        ([(0, 1, "a"), (1, 2, "zz")], "no phrase pair 'e' -> 'zz'"),
        ([(0, 1, "d"), (1, 2, "b")], "no phrase pair 'd' -> 'd'"),
    ],
)
def test_malformed_derivations_are_refused(model: SmallModel, phrases: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.decoder().score_derivation("d e", phrases)


def test_features_need_distinct_names(model: SmallModel) -> None:
    with pytest.raises(InputError, match=r"two features of the model are called 'p\(f\|e\)'"):
        PhraseDecoder(model.rules, {"p(f|e)": model.lm})
    with pytest.raises(OptionError, match="wrods"):
        PhraseDecoder(model.rules, {"lm": model.lm}, features={"wrods": FeatureSpec("w")})
    with pytest.raises(OptionError, match="factor 2"):
        PhraseDecoder(model.rules, {}, features={"rules": FeatureSpec("r", 2.0)})


def test_weights_must_be_finite(model: SmallModel) -> None:
    with pytest.raises(InputError, match="lm"):
        model.decoder().forest("d", Weights({"lm": math.nan}))


def test_a_model_without_language_model(model: SmallModel) -> None:
    decoder = PhraseDecoder(model.rules, {}, options=EXACT)
    weights = Weights({"p(f|e)": 1.0})
    derivation = best(decoder, "d e", weights)
    assert derivation.score == pytest.approx(weights.dot(derivation.features))
    assert derivation.score == pytest.approx(2 * math.log(0.5))


def test_words_of_any_bytes(model: SmallModel, weights: Weights) -> None:
    words = ["d", "\udcff\udcfe", "é", "a" * 5000]
    assert sorted(best(model.decoder(), words, weights).words)[-1] == "\udcff\udcfe"
    with pytest.raises(InputError, match="white space"):
        model.decoder().forest(["d", "two words"], weights)


def test_forests_are_sound_and_can_be_saved(weights: Weights, tmp_path: Path) -> None:
    model = SmallModel(PAIRS, templates=(TargetBigrams(), PhraseLength()))
    decoder = model.decoder(PhraseOptions(beam=20, pop_limit=50))
    sentences = ["", "d", "neu", "d e u d neu e d", "e " * 80]
    forests = [decoder.forest(sentence, weights) for sentence in sentences]
    save_pool(tmp_path / "pool", forests)
    read = ForestFile(tmp_path / "pool")  # checks every array
    for ours, theirs in zip(forests, read, strict=True):
        assert (ours.nodes, ours.edges, ours.goal) == (theirs.nodes, theirs.edges, theirs.goal)
        best = [viterbi(forest, weights) for forest in (ours, theirs)]
        assert best[0] is not None
        assert best[1] is not None
        assert best[0].text == best[1].text
        assert best[0].features == best[1].features


def test_features_are_named_on_demand() -> None:
    templates = tuple(make_feature(name) for name in ("rule-id", "target-bigrams", "word-pairs"))
    model = random_model(4, templates=templates)
    named, later = model.decoder(EXACT), model.decoder(EXACT)
    weights = random_weights(1, model)
    for sentence in ("d e f", "u neu f d e d"):
        forest = later.decode(Request(sentence, weights, named=False)).forest
        every = kbest(forest, weights, 20)
        for derivation, other in zip(
            every, kbest(named.forest(sentence, weights), weights, 20), strict=True
        ):
            ids = derivation.features.ids.tolist()
            assert ids == other.features.ids.tolist()
            half = SparseVector(np.array(ids[::2], np.uint64), np.ones(len(ids[::2]), np.float32))
            later.name_features(sentence, derivation, half)
            for id in ids[::2]:
                assert later.names.name(id) == named.names.name(id) is not None
    # Also parts of derivations.
    forest = later.decode(Request("e d f u d", weights, named=False)).forest
    for node in range(1, forest.nodes):
        part = viterbi(forest, weights, roots=[node])
        assert part is not None
        later.name_features("e d f u d", part, part.features)
        assert all(later.names.name(id) is not None for id in part.features.ids.tolist())
