"""The engine's templates against their definitions in Python, in phrase and hierarchical search."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from features_small import (
    BITEXT,
    DEFINITIONS,
    Defined,
    Definition,
    SmallHiero,
    bigrams,
    fired_by,
    word_lists,
)
from features_small import named as named_by
from phrase_small import SmallModel, named, random_model, random_weights

from hopefear.base.errors import InputError, OptionError
from hopefear.decode.contract import Sentence
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.feature import make_feature, parse_templates
from hopefear.features.word_lists import LISTS, WordLists
from hopefear.forest import kbest

pytestmark = pytest.mark.engine

# Tags of words in this sentence.
TAGGED = Sentence(tuple("dedufd"), tags=("N1", "V1", "N2", "X", "F", "N3"))
SENTENCES = ["d", "neu", "d e f", "e d f u d", "u neu f d e d", TAGGED]
OPTIONS = PhraseOptions(beam=20, pop_limit=100, distortion_limit=3)
IDS = ["-".join([name, *map(str, options.values())]) for name, options, _ in DEFINITIONS]


@pytest.fixture(scope="module")
def hiero() -> SmallHiero:
    return SmallHiero()


@pytest.mark.parametrize(("name", "options", "definition"), DEFINITIONS, ids=IDS)
def test_hierarchical_search(
    name: str, options: dict[str, object], definition: Definition, hiero: SmallHiero
) -> None:
    templates = [make_feature(name, options), Defined(definition, hiero.lists)]
    decoder, weights = hiero.decoder(templates), hiero.weights()
    seen: Counter[str] = Counter()
    for sentence in SENTENCES:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 50):
            features = named_by(derivation.features, decoder)
            assert fired_by(features, name) == pytest.approx(fired_by(features, "defined"))
            seen.update(fired_by(features, name).keys())
    assert len(seen) >= 2 or name in ("insertion", "deletion")
    assert seen


@pytest.mark.parametrize(("name", "options", "definition"), DEFINITIONS, ids=IDS)
def test_phrase_search(
    name: str, options: dict[str, object], definition: Definition, hiero: SmallHiero
) -> None:
    templates = (make_feature(name, options), Defined(definition, hiero.lists))
    fired: set[str] = set()
    for seed in range(5):
        model = random_model(seed, templates=templates, lists=hiero.lists)
        decoder, weights = model.decoder(OPTIONS), random_weights(seed, model)
        for sentence in SENTENCES:
            for derivation in kbest(decoder.forest(sentence, weights), weights, 20):
                features = named(derivation.features, decoder)
                assert fired_by(features, name) == pytest.approx(fired_by(features, "defined"))
                fired |= fired_by(features, name).keys()
    assert bool(fired) == (name != "structural-distortion") or name in ("insertion", "deletion")


@pytest.mark.parametrize("size", [0, 2])
def test_target_bigrams(size: int, hiero: SmallHiero) -> None:
    feature = make_feature("target-bigrams", {"size": size})
    known = hiero.lists.words("target", size, "test") if size else None
    decoder, weights = hiero.decoder([feature]), hiero.weights()
    model = random_model(4, templates=(feature,), lists=hiero.lists)
    phrase, phrase_weights = model.decoder(OPTIONS), random_weights(1, model)
    for sentence in ["", *SENTENCES]:
        for derivation in kbest(decoder.forest(sentence, weights), weights, 30):
            fired = fired_by(named_by(derivation.features, decoder), "target-bigrams")
            assert fired == bigrams(derivation, known)
        for derivation in kbest(phrase.forest(sentence, phrase_weights), phrase_weights, 30):
            fired = fired_by(named(derivation.features, phrase), "target-bigrams")
            assert fired == bigrams(derivation, known)


def test_templates_do_not_influence_each_other(hiero: SmallHiero) -> None:
    names = [*dict.fromkeys(name for name, _, _ in DEFINITIONS), "target-bigrams"]
    features = [make_feature(name, {"size": 0} if name in SIZED else {}) for name in names]
    weights = hiero.weights()
    together = hiero.decoder(features)
    all_of = {
        tuple(d.edges.tolist()): named_by(d.features, together)
        for d in kbest(together.forest("e d f u d", weights), weights, 20)
    }
    assert all(fired_by(values, "rule-id") for values in all_of.values())
    for name, feature in zip(names, features, strict=True):
        if name == "target-bigrams":  # splits states
            continue
        alone = hiero.decoder([feature, features[-1]])
        for derivation in kbest(alone.forest("e d f u d", weights), weights, 20):
            values = named_by(derivation.features, alone)
            other = all_of[tuple(derivation.edges.tolist())]
            assert fired_by(values, name) == fired_by(other, name)


SIZED = ("word-context", "insertion", "deletion")


def test_a_readable_name() -> None:
    pairs = {("de", "la"): {("of", "the", "big"): (0.5,) * 10}}
    templates = tuple(
        make_feature(name, {"size": 0} if name in SIZED else {})
        for name in ("word-pairs", "word-context", "insertion", "deletion", "rule-id", "rule-shape")
    )
    model = SmallModel(pairs, templates=templates)
    decoder = model.decoder()
    vector = named(
        decoder.score_derivation("x de la", [(0, 1, "x"), (1, 3, "of the big")]), decoder
    )
    assert {name for name in vector if ":" in name} == {
        "word-pairs:de|big",
        "word-context:left|x|de|big",
        "word-context:right|de|la|big",
        *(f"insertion:{e}|{f}" for e in ("of", "the") for f in ("de", "la")),
        "deletion:la",
        "rule-id:de_la|of_the_big",
        "rule-shape:11|111",
    }


# -- word lists --


def test_lists_are_counted(tmp_path: Path) -> None:
    counts: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in LISTS}
    for source, target, alignment in BITEXT:
        f, e = source.split(), target.split()
        points = [tuple(map(int, point.split("-"))) for point in alignment.split()]
        counts["pairs"].update((f[i], e[j]) for i, j in points)
        counts["source"].update((word, "") for word in f)
        counts["target"].update((word, "") for word in e)
        counts["deleted"].update((f[i], "") for i in set(range(len(f))) - {i for i, _ in points})
        counts["inserted"].update((e[j], "") for j in set(range(len(e))) - {j for _, j in points})
    lists = word_lists(tmp_path, limit=3).lists
    assert lists is not None
    assert len(lists["pairs"]) == 3 < len(counts["pairs"])
    for name in LISTS:
        expected = sorted(counts[name].items(), key=lambda item: (-item[1], item[0]))[:3]
        assert lists[name] == [(*words, count) for words, count in expected], name


def test_lists_are_written_and_read(tmp_path: Path) -> None:
    lists = word_lists(tmp_path)
    lists.save(tmp_path / "lists")
    loaded = WordLists.load(tmp_path / "lists")
    assert (loaded.lists, loaded.limit) == (lists.lists, lists.limit)
    assert set(loaded.lists or {}) == set(LISTS)
    assert loaded.words("deleted", 150, "test") == ["f", "u"], "the text has no more"


@pytest.mark.parametrize(
    "line", ["pairs\t1\ta", "source\tx\ta", "words\t1\ta", "", "source\t1\ta\tb"]
)
def test_a_malformed_file_of_lists(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lists"
    path.write_text(f"limit\t5\nsource\t1\ta\n{line}\n")
    with pytest.raises(InputError, match=r"lists:3: .*hopefear train"):
        WordLists.load(path)


@pytest.mark.parametrize("name", SIZED)
def test_templates_without_their_lists_are_an_error(name: str, hiero: SmallHiero) -> None:
    with pytest.raises(InputError, match=rf"no word lists.*{name}"):
        make_feature(name).make(WordLists())
    with pytest.raises(InputError, match=r"2 entries.*--list-size"):
        make_feature(name, {"size": 9}).make(
            replace(hiero.lists, limit=2, lists={key: [("a", "b", 1)] * 2 for key in LISTS})
        )


# -- options --


def test_bins_must_ascend() -> None:
    with pytest.raises(OptionError, match="ascend"):
        make_feature("count-discount", {"bins": [1, 3, 2]})


def test_templates_by_name() -> None:
    chosen = parse_templates(
        ["insertion:size=20:with_source=false", "count-discount:bins=1,4", "deletion"],
        {"deletion": {"size": 7}, "insertion": {"size": 9}},
    )
    assert chosen == {
        "insertion": {"size": 20, "with_source": False},
        "count-discount": {"bins": [1, 4]},
        "deletion": {"size": 7},
    }
    for wrong, message in {
        "insertion:zize=3": "--templates insertion.*zize",
        "insertion:size=x": "size.*'x'",
        "insertion:size": "expected key=value",
        "insretion": "insertion",
    }.items():
        with pytest.raises(OptionError, match=message):
            parse_templates([wrong], {})
    with pytest.raises(OptionError, match="twice"):
        parse_templates(chain(["deletion"], ["deletion"]), {})
