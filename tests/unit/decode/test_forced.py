"""force(): gold forests, limits, several references, leaving out the rules of the pair."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from phrase_small import EXACT, SmallModel, named, phrases_of, random_weights

from hopefear.analysis.reachability import derivations
from hopefear.base.errors import InputError, OptionError
from hopefear.base.weights import Weights
from hopefear.decode import (
    ForcedOption,
    PhraseDecoder,
    PhraseOptions,
    Sentence,
    TrainingPair,
    force,
    leaving_out,
)
from hopefear.decode.contract import Request
from hopefear.features.sparse.rule_id import RuleId
from hopefear.features.sparse.target_bigrams import TargetBigrams
from hopefear.forest import bin_nodes, count, kbest, viterbi
from hopefear.rules.extract import extract
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.rules.table import RuleTable

pytestmark = pytest.mark.engine

HALF = (0.5,) * 10
BUSH = {  # the example of Yu et al. 2013
    ("Bushi",): {("Bush",): HALF},
    ("yu", "Shalong"): {("with", "Sharon"): HALF, ("and", "Sharon"): HALF},
    ("yu",): {("with",): HALF, ("and",): HALF},
    ("Shalong",): {("Sharon",): HALF},
    ("juxing", "le", "huitan"): {("held", "talks"): HALF, ("held", "a", "meeting"): HALF},
    ("juxing", "le"): {("held",): HALF},
    ("huitan",): {("talks",): HALF, ("a", "meeting"): HALF},
}
SOURCE, TARGET = "Bushi yu Shalong juxing le huitan", "Bush held talks with Sharon"


@pytest.fixture(scope="module")
def bush() -> SmallModel:
    return SmallModel(BUSH)


def limited(limit: int) -> PhraseOptions:
    return PhraseOptions(distortion_limit=limit, long_sentence=0)


def test_the_papers_example(bush: SmallModel) -> None:
    decoder = bush.decoder(limited(5))
    gold = force(decoder, Sentence(tuple(SOURCE.split()), "7"), TARGET)
    assert (gold.reachable, gold.source_words, gold.target_words) == (True, 6, 5)
    assert gold.forest.id == "7"
    # "held talks" is one phrase or two, "with Sharon" too.
    derivations = kbest(gold.forest, random_weights(1, bush), 10)
    assert len(derivations) == 4
    held, sharon = (3, 6, ("held", "talks")), (1, 3, ("with", "Sharon"))
    assert ((0, 1, ("Bush",)), held, sharon) in [phrases_of(d) for d in derivations]
    for derivation in derivations:
        # Errata 2.1: from the end of a phrase to the start of the next one.
        assert named(derivation.features, decoder)["distortion"] == -(2 + 5)


def test_the_distortion_limit(bush: SmallModel) -> None:
    short = bush.decoder(limited(4))
    gold = force(short, SOURCE, TARGET)
    assert not gold.reachable
    assert not gold.limit_hit
    assert not gold
    assert (gold.forest.nodes, gold.forest.goal) == (0, None)
    # Figure 3: the first words remain.
    part = force(short, SOURCE, TARGET, prefix=True, shortest_prefix=1)
    assert (part.reachable, part.source_words, part.target_words) == (False, 1, 1)
    assert part
    assert not force(short, SOURCE, TARGET, prefix=True)
    monotone = "Bush and Sharon held a meeting"
    assert force(bush.decoder(limited(0)), SOURCE, monotone).reachable


def test_bins_have_correct_nodes_only(bush: SmallModel) -> None:
    forest = force(bush.decoder(limited(5)), SOURCE, TARGET).forest
    assert forest.goal == forest.nodes - 1
    covered = [set(forest.covered[bin_nodes(forest, i)].tolist()) for i in range(7)]
    assert covered == [{0}, {1}, set(), {3}, {4}, {5}, {6}]  # nothing stops after two words
    assert all(np.diff(forest.node_edges) > 0)


def test_it_does_not_depend_on_weights(bush: SmallModel) -> None:
    decoder = bush.decoder(limited(5))
    first = decoder.forest(SOURCE, random_weights(1, bush), TARGET)
    second = decoder.forest(SOURCE, random_weights(2, bush), TARGET)
    for name in ("heads", "tails", "edge_dense", "own_values", "row_dense", "rules"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    for seed in (1, 2):
        weights = random_weights(seed, bush)
        best = viterbi(first, weights)
        assert best is not None
        assert best.score == pytest.approx(weights.dot(best.features), abs=1e-4)


def test_repeated_words_are_distinguished_by_position() -> None:
    model = SmallModel({("d",): {("a",): HALF, ("a", "a"): HALF}, ("e",): {("b",): HALF}})
    decoder = model.decoder()
    # d d e d -> three or more a, in any order, one b among them.
    assert count(force(decoder, "d d", "a a a").forest) == 4  # which d is first, which has two
    assert force(decoder, "d d e", "a a b").reachable
    assert not force(decoder, "d d", "a").reachable  # the target is too short
    assert not force(decoder, "d d", "a a a a a").reachable
    assert not force(decoder, "d", "a b").reachable


def test_copied_words(bush: SmallModel) -> None:
    decoder = bush.decoder(limited(5))
    gold = force(decoder, "Bushi neu yu", "Bush neu with")
    derivation = viterbi(gold.forest, Weights())
    assert derivation is not None
    assert named(derivation.features, decoder)["unknown"] == 1
    assert not force(decoder, "Bushi neu", "Bush new").reachable
    # A known word is not copied.
    assert not force(decoder, "Bushi", "Bushi").reachable


def test_empty_sides(bush: SmallModel) -> None:
    decoder = bush.decoder()
    gold = force(decoder, "", "", prefix=True)
    assert (gold.reachable, gold.source_words, bool(gold)) == (True, 0, True)
    best = viterbi(gold.forest, Weights())
    assert best is not None
    assert best.words == []
    assert not force(decoder, "", "Bush", prefix=True, shortest_prefix=1)
    assert not force(decoder, "Bushi", "", prefix=True, shortest_prefix=1)
    assert not force(decoder, "Bushi").reachable  # no target at all


def test_several_references(bush: SmallModel) -> None:
    decoder = bush.decoder(limited(5))
    targets = [TARGET, "Bush and Sharon held a meeting", "Bush held a meeting", TARGET]
    gold = force(decoder, SOURCE, *targets)
    each = [count(force(decoder, SOURCE, t).forest) for t in targets[:3]]
    assert each[2] == 0
    assert count(gold.forest) == sum(each)
    strings = {d.text for d in kbest(gold.forest, Weights(), 100)}
    assert strings == set(targets[:2])
    assert gold.target_words == 6


def test_translations_from_markup(bush: SmallModel) -> None:
    decoder = bush.decoder(limited(5))
    marked = Sentence(("Bushi", "yu"), options=(ForcedOption(1, 2, ("x", "y"), -1.0),))
    assert force(decoder, marked, "Bush x y").reachable
    assert not force(decoder, marked, "Bush with").reachable


def test_sixty_words_at_limit_six() -> None:
    """Every word may become one or two copies of a word: the worst case of repeated words."""
    model = SmallModel({("d",): {("a",): HALF, ("a", "a"): HALF}, ("d", "d"): {("a",): HALF}})
    decoder = model.decoder(limited(6))
    gold = force(decoder, ["d"] * 60, ["a"] * 60)
    assert gold.reachable
    assert not gold.limit_hit
    assert gold.states < 1_000_000
    assert derivations(gold.forest) > 10**20


def test_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SmallModel({("d",): {("a",): HALF}})
    decoder = model.decoder(limited(-1))
    sentence = Sentence(("d",) * 40, "5")
    gold = force(decoder, sentence, ["a"] * 40, prefix=True, max_states=5000)
    assert gold.limit_hit
    assert not gold
    assert gold.states > 5000
    monkeypatch.setattr("hopefear.decode.phrase.force", partial(force, max_states=5000))
    with pytest.raises(InputError, match=r"sentence '5': forced decoding made .* lower the dist"):
        decoder.forest(sentence, Weights(), ["a"] * 40)


def test_the_table_limit_on_demand() -> None:
    pairs = {("d",): {(w,): ((i + 1) / 9,) * 10 for i, w in enumerate("abc")}}
    model = SmallModel(pairs)
    decoder = model.decoder(PhraseOptions(table_limit=1))
    weights = Weights({"p(f|e)": 1.0})
    assert force(decoder, "d", "a").reachable  # the decoder's table limit does not apply
    reached = [t for t in "abc" if force(decoder, "d", t, table_limit=2, weights=weights).reachable]
    assert reached == ["b", "c"]
    with pytest.raises(OptionError, match="give weights"):
        force(decoder, "d", "a", table_limit=2)


def test_the_number_of_threads_changes_nothing(bush: SmallModel) -> None:
    model = SmallModel(BUSH, templates=(TargetBigrams(), RuleId()))
    pairs = [(SOURCE, TARGET), ("Bushi yu", "Bush with"), (SOURCE, "Bush"), ("neu", "neu")] * 10

    def arrays(threads: int) -> list[list[bytes]]:
        decoder = model.decoder(limited(5))
        requests = [Request(source, Weights(), target) for source, target in pairs]
        forests = [one.forest for one in decoder.decode_all(requests, threads=threads)]
        names = ("node_edges", "coverage", "heads", "tails", "rules", "own_values", "feature_ids")
        return [[getattr(f, name).tobytes() for name in names] for f in forests]

    assert arrays(1) == arrays(4)


# -- leaving out rules --


def test_own_rules_by_counts(bush: SmallModel) -> None:
    """In a table without pair numbers, singleton rules contained in the pair belong to it."""
    decoder = bush.decoder(limited(5))
    assert not force(decoder, SOURCE, TARGET, leave_out=True).reachable
    sentence = leaving_out("Bushi Shalong", "Bush held talks")
    texts = {d.text for d in kbest(decoder.forest(sentence, Weights()), Weights(), 50)}
    assert texts == {"Bushi Sharon", "Sharon Bushi"}  # "Bush" is the pair's, so its word is unknown
    best = decoder.score_derivation(sentence, [(0, 1, "Bushi"), (1, 2, "Sharon")])
    assert named(best, decoder)["unknown"] == 1
    with pytest.raises(InputError, match="no phrase pair"):
        decoder.score_derivation(sentence, [(0, 1, "Bush"), (1, 2, "Sharon")])


@pytest.fixture(scope="module")
def extracted(tmp_path_factory: pytest.TempPathFactory) -> RuleTable:
    folder = tmp_path_factory.mktemp("extracted")
    lines = {"s": "d e\nd f\nd e\ng e\n", "t": "a b\na c\na z\nx b\n", "a": "0-0 1-1\n" * 4}
    for name, text in lines.items():
        (folder / name).write_text(text)
    files = [folder / name for name in lines]
    extract(*files, folder / "rules.bin", PhraseExtractOptions(threads=1, limit=0))
    return RuleTable.open(folder / "rules.bin")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (None, {"d": {"a"}, "e": {"b"}, "d e": set(), "f": {"c"}}),
        (0, {"d": {"a"}, "e": {"b", "z"}, "d e": {"a z"}, "f": {"c"}}),
        (2, {"d": {"a"}, "e": {"b"}, "d e": {"a b"}, "f": {"c"}}),
        (1, {"d": {"a"}, "e": {"b", "z"}, "d e": {"a b", "a z"}, "f": {"f"}}),
    ],
)
def test_own_rules_by_the_number_of_the_pair(
    extracted: RuleTable, bush: SmallModel, number: int | None, expected: dict[str, set[str]]
) -> None:
    """Without a number, rules belong to every pair that contains them ("a b z" has a b and z)."""
    decoder = PhraseDecoder(extracted, {"lm": bush.lm}, options=EXACT)
    for source, targets in expected.items():
        sentence = Sentence(
            tuple(source.split()), leave_out=TrainingPair(("a", "b", "a", "z"), number)
        )
        forest = decoder.forest(sentence, Weights())
        strings = {
            target
            for derivation in kbest(forest, Weights(), 100)
            for begin, end, words in phrases_of(derivation)
            if (begin, end) == (0, len(source.split()))
            for target in [" ".join(words)]
        }
        assert strings == targets


def test_other_rules_replace_those_left_out_within_the_limit() -> None:
    pairs = {("d",): {(w,): ((i + 1) / 9,) * 10 for i, w in enumerate("abc")}}
    model = SmallModel(pairs)
    decoder = model.decoder(PhraseOptions(table_limit=1))
    weights = Weights({"p(f|e)": 1.0})
    for _ in range(2):  # the cached ranking is that of all rules
        assert [d.text for d in kbest(decoder.forest("d", weights), weights, 5)] == ["c"]
        sentence = leaving_out("d", "c d")
        assert [d.text for d in kbest(decoder.forest(sentence, weights), weights, 5)] == ["b"]
