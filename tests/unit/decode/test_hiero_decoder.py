"""The hierarchical decoder on small grammars."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hiero_toy import ToyRule, all_of, derivations, table_of
from lm_arpa import SMALL, write_arpa

from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.decode.chart import ChartOptions, HieroDecoder
from hopefear.decode.contract import FeatureSpec, ForcedOption, ModelParts, Sentence
from hopefear.decode.systems.base import get_system
from hopefear.features.dense import CDEC_FEATURES
from hopefear.features.feature import make_feature
from hopefear.forest import Derivation, count, kbest, viterbi
from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine

RULES = [
    ToyRule.of("X ||| u ||| a", -0.5),
    ToyRule.of("X ||| u ||| b a", -0.75),
    ToyRule.of("X ||| v ||| b", -0.25),
    ToyRule.of("X ||| u v ||| a b", -1),
    ToyRule.of("X ||| [X,1] v ||| b [X,1]", -0.5),
    ToyRule.of("X ||| u [X,1] ||| [X,1] c", -0.125),
    ToyRule.of("X ||| [X,1] u [X,2] ||| [X,2] a [X,1]", -0.25),
    ToyRule.of("X ||| [X,1] [X,2] ||| [X,2] [X,1]", -2),
]
WEIGHTS = {"tm": 1.0, "lm": 0.5, "words": 0.25, "glue": -0.5, "pass-through": -3, "arity2": 0.1}


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    path = tmp_path_factory.mktemp("lm") / "small.arpa"
    return LanguageModel.load(write_arpa(path, SMALL))


def decoder(
    tmp_path: Path, rules: list[ToyRule] = RULES, lm: LanguageModel | None = None, **options: object
) -> HieroDecoder:
    table = table_of(rules, tmp_path / "grammar")
    chosen = ChartOptions(**{"rule_limit": 0, **options})  # type: ignore[arg-type]
    return HieroDecoder(table, {} if lm is None else {"lm": lm}, options=chosen)


@pytest.mark.parametrize("text", ["", "u", "z", "u v", "u v u", "z u v z", "v u u v u"])
def test_the_forest_before_the_language_model_has_all_derivations(
    tmp_path: Path, text: str
) -> None:
    made = decoder(tmp_path)
    forest = made.parse(text, Weights(), target_features=True)
    assert all_of(forest, made.names) == derivations(RULES, text.split())


def test_target_words_are_counted_with_the_language_model(tmp_path: Path) -> None:
    made = decoder(tmp_path)
    plain = made.parse("u v", Weights())
    expected = [
        (words, tuple(f for f in features if f[0] != "words"))
        for words, features in derivations(RULES, ["u", "v"])
    ]
    assert all_of(plain, made.names) == sorted(expected)


def test_glue_joins_constituents_beyond_the_span_limit(tmp_path: Path) -> None:
    made = decoder(tmp_path, span_limit=2)
    words = ["u", "v", "u", "v"]
    forest = made.parse(words, Weights(), target_features=True)
    assert all_of(forest, made.names) == derivations(RULES, words, span_limit=2)
    widths = {
        symbol: max(
            int(end - begin)
            for begin, end, other in zip(
                forest.spans[::2], forest.spans[1::2], forest.symbols, strict=True
            )
            if forest.vocabulary.word(int(other)) == symbol
        )
        for symbol in ("X", "S", "Goal")
    }
    assert widths == {"X": 2, "S": 4, "Goal": 4}


def test_all_words_may_be_copied_on_request(tmp_path: Path) -> None:
    made = decoder(tmp_path, pass_through_all=True)
    forest = made.parse("u v u", Weights(), target_features=True)
    expected = derivations(RULES, ["u", "v", "u"], pass_through_all=True)
    assert all_of(forest, made.names) == expected


def test_arity0_minus_arity2_is_one(tmp_path: Path, lm: LanguageModel) -> None:
    made = decoder(tmp_path, lm=lm)
    ids = [made.names.intern(name) for name in ("arity0", "arity1", "arity2", "rules")]
    for derivation in kbest(made.forest("u v z u v u", Weights(WEIGHTS)), Weights(WEIGHTS), k=200):
        zero, one, two, rules = (derivation.features.get(id) for id in ids)
        assert zero - two == 1
        assert zero + one + two == rules


def test_exhaustive_search_equals_enumeration(tmp_path: Path, lm: LanguageModel) -> None:
    made = decoder(tmp_path, lm=lm, search="full")
    weights = Weights(WEIGHTS)
    words = ["u", "v", "u", "z"]
    forest = made.forest(words, weights)
    assert all_of(forest, made.names, drop=["lm"]) == derivations(RULES, words)
    for derivation in kbest(forest, weights, k=10_000):
        expected = lm.score(derivation.words) * math.log(10)
        assert derivation.features.get(made.names.intern("lm")) == pytest.approx(expected, abs=1e-5)
        assert weights.dot(derivation.features) == pytest.approx(derivation.score, abs=1e-5)


def test_cube_pruning_without_a_bound_is_exhaustive(tmp_path: Path, lm: LanguageModel) -> None:
    weights = Weights(WEIGHTS)
    for text in ("u", "u v", "v u u v", "z u v u"):
        full = decoder(tmp_path, lm=lm, search="full").forest(text, weights)
        cube = decoder(tmp_path, lm=lm, pop_limit=10**9).forest(text, weights)
        assert cube.nodes == full.nodes
        expected = [(d.text, d.score) for d in kbest(full, weights, k=50)]
        translations = [(d.text, d.score) for d in kbest(cube, weights, k=50)]
        assert [s for _, s in translations] == pytest.approx([s for _, s in expected])
        assert sorted(t for t, _ in translations) == sorted(t for t, _ in expected)


def test_cube_pruning_finds_derivations_of_exhaustive_search_only(
    tmp_path: Path, lm: LanguageModel
) -> None:
    weights = Weights(WEIGHTS)
    best = viterbi(decoder(tmp_path, lm=lm, search="full").forest("v u u v u", weights), weights)
    assert best is not None
    last = -math.inf
    for limit in (1, 5, 1000):
        made = decoder(tmp_path, lm=lm, pop_limit=limit)
        derivation = viterbi(made.forest("v u u v u", weights), weights)
        assert derivation is not None
        assert last <= derivation.score + 1e-9
        assert derivation.score <= best.score + 1e-9
        last = derivation.score
    assert last == pytest.approx(best.score)


def test_several_labels(tmp_path: Path) -> None:
    rules = [
        ToyRule.of("N ||| u ||| a"),
        ToyRule.of("V ||| u ||| b"),
        ToyRule.of("V ||| v ||| b"),
        ToyRule.of("X ||| [N,1] [V,2] ||| [V,2] [N,1]"),
        ToyRule.of("P ||| [N,1] ||| [N,1] c"),
        ToyRule.of("Q ||| [P,1] ||| d [P,1]"),
        ToyRule.of("N ||| v [Q,1] ||| [Q,1]"),
    ]
    made = decoder(tmp_path, rules)
    for words in (["u", "u"], ["v", "u", "v"], ["v", "v", "u", "z"]):
        forest = made.parse(words, Weights(), target_features=True)
        assert all_of(forest, made.names) == derivations(rules, words)


def test_unary_rules_that_close_a_cycle_are_dropped(tmp_path: Path) -> None:
    acyclic = [ToyRule.of("A ||| u ||| a"), ToyRule.of("B ||| [A,1] ||| [A,1] b")]
    cyclic = [ToyRule.of("A ||| [B,1] ||| [B,1]"), ToyRule.of("A ||| [A,1] ||| [A,1]")]
    messages: list[str] = []
    table = table_of([*acyclic, *cyclic], tmp_path / "grammar")
    made = HieroDecoder(table, options=ChartOptions(rule_limit=0), warn=messages.append)
    for _ in range(2):
        forest = made.parse("u u", Weights(), target_features=True)
        assert all_of(forest, made.names) == derivations(acyclic, ["u", "u"])
    assert len(messages) == 2  # once each
    assert all("cycle" in message for message in messages)


def test_without_glue_the_grammar_must_reach_s(tmp_path: Path) -> None:
    rules = [*RULES, ToyRule.of("S ||| u [X,1] ||| [X,1] a")]
    made = decoder(tmp_path, rules, glue=False)
    for text in ("u v", "u v u"):
        forest = made.parse(text, Weights(), target_features=True)
        assert all_of(forest, made.names) == derivations(rules, text.split(), glue=False)
    assert made.parse("v", Weights()).goal is None
    assert made.forest("v", Weights()).goal is None


@pytest.mark.parametrize("labels", ["all", "default"])
def test_labels_that_glue_joins(tmp_path: Path, labels: str) -> None:
    rules = [*RULES, ToyRule.of("NP ||| w ||| d"), ToyRule.of("X ||| [NP,1] u ||| e [NP,1]")]
    made = decoder(tmp_path, rules, glue_labels=labels)
    for text in ("u w", "w u v", "u v"):
        forest = made.parse(text, Weights(), target_features=True)
        expected = derivations(rules, text.split(), glue_labels=labels)
        assert all_of(forest, made.names) == expected
    assert (made.parse("w", Weights()).goal is None) == (labels == "default")


def test_the_rule_limit_keeps_the_best_by_weights(tmp_path: Path, lm: LanguageModel) -> None:
    rules = [ToyRule.of(f"X ||| u ||| {word}", score) for word, score in (("c", -1), ("a", -2))]
    weights = Weights({"tm": 1.0})
    assert all_of(
        (made := decoder(tmp_path, rules, rule_limit=1)).parse("u", weights), made.names, ["tm"]
    )[0][0] == ("c",)
    # The language model prefers "a".
    weights["lm"] = 5.0
    made = decoder(tmp_path, rules, lm=lm, rule_limit=1)
    assert {words for words, _ in all_of(made.parse("u", weights), made.names)} == {("a",)}
    assert count(made.parse("u u", weights)) == 1  # S X


def test_a_grammar_of_the_sentence_adds_rules(tmp_path: Path) -> None:
    made = decoder(tmp_path)
    (tmp_path / "own").write_text("[X] ||| z ||| new word ||| fresh=2 tm=-1\n")
    sentence = Sentence(("u", "z"), "7\udcff", tmp_path / "own")
    forest = made.parse(sentence, Weights())
    assert forest.id == "7\udcff"  # bytes that are not UTF-8 are kept
    best = viterbi(forest, Weights({"fresh": 1.0, "tm": 1.0}))
    assert best is not None
    assert "new word" in best.text
    assert best.features.get(made.names.intern("fresh")) == 2
    assert max(forest.rules) >= 1 << 32  # of the second table
    assert "new" not in " ".join(d.text for d in kbest(made.parse("u z", Weights()), Weights(), 9))


def test_a_grammar_per_sentence_replaces_the_table(tmp_path: Path, lm: LanguageModel) -> None:
    table_of(RULES, tmp_path / "own")
    alone = HieroDecoder(None, {"lm": lm}, options=ChartOptions(rule_limit=0))
    shared = decoder(tmp_path, lm=lm)
    weights = Weights(WEIGHTS)
    one = viterbi(alone.forest(Sentence(("u", "v", "u"), "", tmp_path / "own"), weights), weights)
    two = viterbi(shared.forest("u v u", weights), weights)
    assert one is not None
    assert two is not None
    assert (one.text, one.score) == (two.text, two.score)
    nothing = viterbi(alone.forest("u v", weights), weights)
    assert nothing is not None
    assert nothing.text == "u v"


def test_units_of_cdec(tmp_path: Path, lm: LanguageModel) -> None:
    table = table_of(RULES, tmp_path / "grammar")
    features = {k.replace("LanguageModel", "LM"): spec for k, spec in CDEC_FEATURES.items()}
    options = ChartOptions(rule_limit=0, pass_through_all=True)
    made = HieroDecoder(table, {"LM": lm}, options=options, features=features)
    weights = Weights({"PassThrough": 10.0, "Glue": 1.0})
    best = viterbi(made.forest("u z", weights), weights)
    assert best is not None
    assert best.text == "u z"

    def value(name: str) -> float:
        return best.features.get(made.names.intern(name))

    assert value("LM") == pytest.approx(lm.score("u z"), abs=1e-5)
    assert made.language_weight(Weights({"LM": 2.0})) == pytest.approx(2 / math.log(10))
    assert value("LanguageModel_OOV") == 2
    assert value("WordPenalty") == pytest.approx(-2 / math.log(10))
    assert (value("Glue"), value("PassThrough"), value("rules")) == (1, 2, 0)
    assert made.dense == ["LM", "tm", "LanguageModel_OOV", "WordPenalty", "Glue", "PassThrough"]


def test_constrained_decoding_returns_all_derivations_of_the_target(
    tmp_path: Path, lm: LanguageModel
) -> None:
    made = decoder(tmp_path, lm=lm, pop_limit=1)
    weights = Weights(WEIGHTS)
    words = ["u", "v", "u", "z"]
    by_target: dict[tuple[str, ...], list[object]] = {}
    for target, features in derivations(RULES, words):
        by_target.setdefault(target, []).append((target, features))
    assert len(by_target) > 20
    for target, expected in by_target.items():
        forest = made.forest(words, weights, target)
        assert all_of(forest, made.names, drop=["lm"]) == expected
        best = viterbi(forest, weights)
        assert best is not None
        score = lm.score(target) * math.log(10)
        assert best.features.get(made.names.intern("lm")) == pytest.approx(score, abs=1e-5)
    for other in ("", "a", "q r", "z z"):
        assert made.forest(words, weights, other).goal is None


def test_constrained_decoding_has_no_rule_limit(tmp_path: Path) -> None:
    made = decoder(tmp_path, rule_limit=1)
    weights = Weights({"tm": 1.0})
    assert viterbi(made.forest("u", weights, "b a"), weights) is not None
    assert [d.text for d in kbest(made.forest("u", weights), weights, k=9)] == ["a"]


def test_too_many_edges_halve_the_span_limit(tmp_path: Path) -> None:
    messages: list[str] = []
    table = table_of(RULES, tmp_path / "grammar")
    options = ChartOptions(rule_limit=0, span_limit=12, edge_limit=200)
    made = HieroDecoder(table, options=options, warn=messages.append)
    forest = made.parse(Sentence(("u", "v") * 6, "long"), Weights())
    assert forest.goal is not None
    assert forest.edges <= 200
    assert len(messages) == 1
    assert "'long' of 12 words" in messages[0]
    tiny = HieroDecoder(table, options=ChartOptions(edge_limit=3))
    with pytest.raises(InputError, match="edge limit"):
        tiny.parse("u v u v", Weights())


def test_too_many_edges_with_the_language_model(tmp_path: Path, lm: LanguageModel) -> None:
    """Cube pruning lowers its pop limit; full search fails."""
    table, words = table_of(RULES, tmp_path / "grammar"), Sentence(("u", "v") * 4, "long")
    before = HieroDecoder(table, {"lm": lm}, options=ChartOptions(rule_limit=0))
    limit = before.parse(words, Weights(WEIGHTS)).edges + 1
    messages: list[str] = []
    options = ChartOptions(rule_limit=0, edge_limit=limit, pop_limit=1000)
    made = HieroDecoder(table, {"lm": lm}, options=options, warn=messages.append)
    forest = made.forest(words, Weights(WEIGHTS))
    assert forest.edges <= limit
    assert viterbi(forest, Weights(WEIGHTS)) is not None
    assert len(messages) == 1
    assert "'long' of 8 words" in messages[0]
    assert "its pop limit is" in messages[0]
    full = ChartOptions(rule_limit=0, edge_limit=limit, search="full")
    with pytest.raises(InputError, match=r"of 8 words.*search with cube pruning"):
        HieroDecoder(table, {"lm": lm}, options=full).forest(words, Weights(WEIGHTS))


def test_a_sentence_of_150_words(tmp_path: Path, lm: LanguageModel) -> None:
    made = decoder(tmp_path, lm=lm, span_limit=6, pop_limit=10)
    words = ["u", "v", "z"] * 50
    best = viterbi(made.forest(words, Weights(WEIGHTS)), Weights(WEIGHTS))
    assert best is not None
    assert best.features.get(made.names.intern("source-words")) == 150


def test_the_number_of_threads_changes_nothing(tmp_path: Path, lm: LanguageModel) -> None:
    made = decoder(tmp_path, lm=lm, pop_limit=5)
    weights = Weights(WEIGHTS)
    sentences = [("u v " * n + "z").split() for n in range(6)] * 3
    one = [f.heads.tobytes() for f in made.forests(sentences, weights)]
    two = [f.heads.tobytes() for f in made.forests(sentences, weights, threads=3)]
    assert one == two


def test_empty_sentences(tmp_path: Path, lm: LanguageModel) -> None:
    made = decoder(tmp_path, lm=lm)
    best = viterbi(made.forest("", Weights(WEIGHTS)), Weights(WEIGHTS))
    assert best is not None
    assert best.text == ""
    score = best.features.get(made.names.intern("lm"))
    assert score == pytest.approx(lm.score("") * math.log(10), abs=1e-6)


def test_it_is_the_decoder_of_its_system_and_loads_from_parts(
    tmp_path: Path, lm: LanguageModel
) -> None:
    cls = get_system("hiero").decoder_class
    assert cls is HieroDecoder
    table = table_of(RULES, tmp_path / "grammar")
    made = HieroDecoder.load(ModelParts(table, {"lm": lm}), ChartOptions())
    assert made.dense[:2] == ["lm", "tm"]
    assert {"arity0", "arity1", "arity2", "rules", "glue"} <= set(made.dense)


def test_refused_input(tmp_path: Path, lm: LanguageModel) -> None:
    table = table_of(RULES, tmp_path / "grammar")
    with pytest.raises(OptionError, match=r"features.distortion: .* no such feature"):
        HieroDecoder(table, features={"distortion": FeatureSpec("d")})
    made = HieroDecoder(table)
    forced = Sentence(("u",), "3", options=(ForcedOption(0, 1, ("a",)),))
    with pytest.raises(InputError, match="'3': needs translations given by markup"):
        made.forest(forced, Weights())
    with pytest.raises(FileNotFoundError):
        made.forest(Sentence(("u",), "", tmp_path / "absent"), Weights())


def test_no_warning_without_reason(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decoder(tmp_path).forest("u v u z", Weights())


# ---- templates ----


def templated(tmp_path: Path, lm: LanguageModel, *names: str, **options: object) -> HieroDecoder:
    table = table_of(RULES, tmp_path / "grammar")
    chosen = ChartOptions(**{"rule_limit": 0, **options})  # type: ignore[arg-type]
    templates = [make_feature(name) for name in names]
    return HieroDecoder(table, {"lm": lm}, options=chosen, templates=templates)


def fired(made: HieroDecoder, derivation: Derivation, label: str) -> dict[str, float]:
    vector = derivation.features
    named = {made.names.name(i): v for i, v in zip(vector.ids, vector.values, strict=True)}
    return {name: v for name, v in named.items() if name and name.startswith(label + ":")}


@pytest.mark.parametrize("search", ["cube", "full"])
def test_templates_with_a_state_follow_the_target(
    tmp_path: Path, lm: LanguageModel, search: str
) -> None:
    made = templated(tmp_path, lm, "target-bigrams", search=search)
    weights = Weights({**WEIGHTS, "target-bigrams:b|a": 2.0, "target-bigrams:c|</s>": 1.0})
    forest = made.forest("u v u z", weights)
    derivations = kbest(forest, weights, k=300)
    assert len(derivations) > 100
    for derivation in derivations:
        words = ["<s>", *derivation.words, "</s>"]
        expected = Counter(f"target-bigrams:{a}|{b}" for a, b in itertools.pairwise(words))
        assert fired(made, derivation, "target-bigrams") == expected
        assert weights.dot(derivation.features) == pytest.approx(derivation.score, abs=1e-4)


def test_templates_with_a_state_change_the_best_derivation(
    tmp_path: Path, lm: LanguageModel
) -> None:
    made = templated(tmp_path, lm, "target-bigrams", search="full")
    weights = Weights({**WEIGHTS, "target-bigrams:c|</s>": 10.0, "target-bigrams:a|a": 4.0})
    best = viterbi(made.forest("u u u v", weights), weights)
    assert best is not None
    scores = []
    for words, features in derivations(RULES, ["u", "u", "u", "v"]):
        pairs = Counter(itertools.pairwise(["<s>", *words, "</s>"]))
        score = 10 * pairs["c", "</s>"] + 4 * pairs["a", "a"] + lm.score(words) * math.log(10) / 2
        scores.append(score + sum(WEIGHTS.get(name, 0) * value for name, value in features))
    assert best.score == pytest.approx(max(scores), abs=1e-4)


@pytest.mark.parametrize("feature", ["phrase-length:1x1", "structural-distortion:reordered|1"])
def test_features_of_the_place_count_in_a_narrow_beam(
    tmp_path: Path, lm: LanguageModel, feature: str
) -> None:
    name = feature.partition(":")[0]
    made = templated(tmp_path, lm, name, pop_limit=1)
    counts = []
    for weight in (-50.0, 50.0):
        weights = Weights({**WEIGHTS, feature: weight})
        best = viterbi(made.forest("u v u z", weights), weights)
        assert best is not None
        assert weights.dot(best.features) == pytest.approx(best.score, abs=1e-4)
        counts.append(fired(made, best, name).get(feature, 0.0))
    assert counts[0] < counts[1]


def test_templates_without_a_state_fire_once_per_rule(tmp_path: Path, lm: LanguageModel) -> None:
    made = templated(tmp_path, lm, "phrase-length")
    weights = Weights({**WEIGHTS, "phrase-length:2x2": 3.0})
    shapes = {len(r.source) - sum(s[0] == "[" for s in r.source) for r in RULES}
    assert shapes == {0, 1, 2}
    for forest in (made.forest("u v u z", weights), made.forest("u v", weights, "a b")):
        for derivation in kbest(forest, weights, k=50):
            shapes = fired(made, derivation, "phrase-length")
            rules = derivation.features.get(made.names.intern("rules"))
            glue = derivation.features.get(made.names.intern("glue"))
            assert sum(shapes.values()) == rules - glue - 1  # no glue, not even S -> X
            source = sum(int(name[-3]) * n for name, n in shapes.items())
            target = sum(int(name[-1]) * n for name, n in shapes.items())
            assert source == derivation.features.get(made.names.intern("source-words"))
            assert target == len(derivation.words)
