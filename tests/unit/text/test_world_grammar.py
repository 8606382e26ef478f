"""The grammar of the world is data: it can be extended in one place, and faults are named."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from hopefear.base.errors import HopefearError
from hopefear.text.world_grammar.constructions import Grammar, default_grammar
from hopefear.text.world_grammar.derive import SentenceMaker
from hopefear.text.world_grammar.english import English, articles, verb_group
from hopefear.text.world_grammar.lexicon import Lexicon, read_data
from hopefear.text.world_grammar.words import Table, expand, number_words, numeral

FILES = ("lexicon.toml", "english.toml", "topics.toml", "grammar.toml")
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def pristine() -> dict[str, dict[str, Any]]:
    return {name.removesuffix(".toml"): read_data(name) for name in FILES}


@pytest.fixture
def data(pristine: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return copy.deepcopy(pristine)


def build(data: dict[str, dict[str, Any]]) -> Grammar:
    lexicon = Lexicon(data["lexicon"], data["english"], data["topics"])
    return Grammar(data["grammar"], lexicon)


def construction(data: dict[str, Any], category: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(r for r in data["grammar"][category] if r["name"] == name)
    return found


def sentences(grammar: Grammar, topic: str, count: int = 300) -> list[tuple[str, str]]:
    maker, draw = SentenceMaker(grammar), random.Random(1).random
    made = []
    for _ in range(count // 10):
        scene = maker.new_scene(draw, topic)
        for _ in range(10):
            derivation = maker.sentence(scene)
            made.append((derivation.source, maker.english(derivation, draw)))
    return made


# -- extending ---------------------------------------------------------------------------------


def test_a_topic_is_added_by_its_words(data: dict[str, dict[str, Any]]) -> None:
    data["topics"]["music"] = {"is": "concerts", "weight": 1.0, "cast": ["folk", "folk"]}
    data["lexicon"]["nouns"]["music"] = {"folk": {"geshou": "singer", "guyou": "drummer"}}
    data["lexicon"]["verbs"]["music"] = {"chang": "geshou > book & gei person: sing ... for"}
    made = sentences(build(data), "music")
    singers = [(zh, en) for zh, en in made if " geshou" in f" {zh}"]
    assert singers
    assert all("singer" in en or "Singer" in en for _, en in singers)


def test_a_word_is_one_line(data: dict[str, dict[str, Any]]) -> None:
    leaders = data["lexicon"]["nouns"]["politics"]["leader"]
    data["lexicon"]["nouns"]["politics"]["leader"] = {"huangdi": "emperor", **leaders}
    made = [(zh, en) for zh, en in sentences(build(data), "politics") if "huangdi" in zh]
    assert len(made) > 5
    assert all("emperor" in en for _, en in made)


def test_a_topic_without_sentences_is_an_error_and_no_endless_loop(
    data: dict[str, dict[str, Any]],
) -> None:
    for sentence in data["grammar"]["sentence"]:
        sentence["weight"] = float(sentence["name"] == "question-what")
    for verbs in data["lexicon"]["verbs"].values():
        verbs.clear()
    with pytest.raises(HopefearError, match=r"topic 'food': .* give it more verbs"):
        sentences(build(data), "food")


def test_a_construction_is_one_entry(data: dict[str, dict[str, Any]]) -> None:
    data["grammar"]["sentence"].append(
        {"name": "luckily", "weight": 400, "zh": ["xinghao {a} ."], "en": ["luckily , {a} ."]}
    )
    grammar = build(data)
    made = sentences(grammar, "food")
    lucky = [(zh, en) for zh, en in made if zh.startswith("xinghao ")]
    assert len(lucky) > len(made) / 2
    assert all(en.startswith("luckily , ") for _, en in lucky)
    assert "luckily" in grammar.bits


def test_a_topics_sense_hides_the_general_one() -> None:
    lexicon = default_grammar().lexicon
    assert [n.english for n in lexicon.nouns("yu", "food").items] == [("fish",)]
    assert [n.english for n in lexicon.nouns("yu", "travel").items] == [("rain",)]


def test_the_lexicon_is_large_and_ambiguous() -> None:
    lexicon = default_grammar().lexicon
    nouns = [n for nouns in lexicon.by_topic.values() for n in nouns]
    verbs = [v for verbs in lexicon.verbs.values() for v in verbs]
    assert len({w.zh for w in [*nouns, *verbs]}) > 700
    assert len({n.zh for n in nouns if n.senses == "topic"}) >= 12
    assert len({v.zh for v in verbs if v.senses == "neighbour"}) >= 8
    assert len(lexicon.topics) >= 4


# -- faults ------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[Edit, str]] = {
    "unknown class in a verb": (
        lambda d: d["lexicon"]["verbs"]["food"].update(qie="cook > zzz: cut"),
        r"lexicon.toml: \[verbs.food\] qie: 'zzz' is neither a class nor a noun; add it to",
    ),
    "a verb nobody can read": (
        lambda d: d["lexicon"]["verbs"]["food"].update(qie="cook cut"),
        r"\[verbs.food\] qie: cannot read 'cook cut'; expected 'subject > object",
    ),
    "unknown flag": (
        lambda d: d["lexicon"]["verbs"]["food"].update(qie="cook +fast: cut"),
        r"qie: unknown flag \+fast; use one of \+activity, \+ba",
    ),
    "partner without preposition": (
        lambda d: d["lexicon"]["verbs"]["food"].update(qie="cook > dish & gei person: cut"),
        r"qie: 'cut': write 'verb ... preposition' exactly for verbs with '&'",
    ),
    "unknown mark of a noun": (
        lambda d: d["lexicon"]["nouns"]["food"]["dish"].update(x="rice (masss)"),
        r"x = 'rice \(masss\)': unknown mark 'masss'; use one of bare",
    ),
    "unknown topic": (
        lambda d: d["lexicon"]["nouns"].update(sprots={}),
        r"\[nouns.sprots\]: no such topic; use politics, food",
    ),
    "unknown noun class": (
        lambda d: d["lexicon"]["nouns"]["food"].update(dihs={}),
        r"\[nouns.food.dihs\]: no such class; add it to \[classes\]",
    ),
    "parent class below": (
        lambda d: d["lexicon"]["classes"].update(pet={"is": "animal"}),
        r"\[classes\] pet: is 'animal', which is no class above; define it first",
    ),
    "unknown key of a class": (
        lambda d: d["lexicon"]["classes"].update(pet={"classifier": "zhi"}),
        r"\[classes\] pet: unknown key 'classifier'; use one of about, at, cl",
    ),
    "adjective without class": (
        lambda d: d["lexicon"]["adjectives"]["food"].update(xiang="fragrant"),
        r"\[adjectives.food\] xiang: 'fragrant': expected 'class: english'",
    ),
    "a topic without words": (
        lambda d: d["topics"].update(art={"is": "", "weight": 1, "cast": ["folk"]}),
        r"topics.toml: \[art\] has no words; add \[nouns.art",
    ),
    "a cast of things": (
        lambda d: d["topics"]["food"].update(cast=["dish"]),
        r"topics.toml: \[food\] cast: 'dish' is not a class of agents",
    ),
    "a slot only in English": (
        lambda d: construction(d, "clause", "ba").update(en=["{subject} {verb} {objekt}"]),
        r"grammar.toml: \[\[clause\]\] \d+ \(ba\): \{objekt\} is in 'en' but not in 'zh'",
    ),
    "a slot lost in English": (
        lambda d: construction(d, "clause", "ba").update(en=["{subject} {verb} {time} {place}"]),
        r"\(ba\): \{object\} is in 'zh' but not in every 'en'; write the slot in each",
    ),
    "a slot nobody can read": (
        lambda d: construction(d, "np", "all").update(zh=["{n:}"]),
        r"cannot read the slot '\{n:\}'; write",
    ),
    "an unknown verb form": (
        lambda d: construction(d, "clause", "go-to-do").update(
            en=["{subject} {go} to {goal} to {verb:doen} {object} {time}"]
        ),
        r"\{verb:doen\}: use one of do, does, did, done, doing",
    ),
    "a clause that cannot be asked": (
        lambda d: construction(d, "clause", "moved-pp").update(
            en=["{time} {subject} {verb} {object} {prep} {partner} {place}"]
        ),
        r"\(moved-pp\): no paraphrase begins with \{subject\} and its verb",
    ),
    "a gap that English cannot have": (
        lambda d: construction(d, "clause", "existence").update(gaps=["object"]),
        r"\(existence\): no paraphrase begins with \{object\} and its verb",
    ),
    "an unknown gap": (
        lambda d: construction(d, "clause", "ba").update(gaps=["partner"]),
        r"\(ba\): gap 'partner'; use subject or object",
    ),
    "an unknown aspect": (
        lambda d: construction(d, "clause", "ba").update(aspects=["lee"]),
        r"\(ba\): no aspect 'lee'; use le, plain",
    ),
    "an unknown tense": (
        lambda d: construction(d, "aspect", "le").update(en=["has gone"]),
        r"\[\[aspect\]\] le: tense 'has gone' must end in one of do, does",
    ),
    "an unknown table of times": (
        lambda d: construction(d, "aspect", "le").update(time="passed"),
        r"\[\[aspect\]\] le: time 'passed' is not in lexicon.toml; use past",
    ),
    "an unknown key of a construction": (
        lambda d: construction(d, "np", "all").update(heavvy=True),
        r"\[\[np\]\] \d+ \(all\): unknown key 'heavvy'; use one of",
    ),
    "a construction without English": (
        lambda d: construction(d, "np", "all").pop("en"),
        r"\(all\): needs the key 'en'",
    ),
    "a described phenomenon that is none": (
        lambda d: d["grammar"]["phenomena"].update(realtive="x"),
        r"\[phenomena\] realtive: no construction has this name; did you mean 'relative'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named(data: dict[str, dict[str, Any]], fault: str) -> None:
    edit, message = FAULTS[fault]
    edit(data)
    with pytest.raises(HopefearError, match=message):
        build(data)


# -- English and numbers -----------------------------------------------------------------------

ENGLISH = default_grammar().lexicon.english


@pytest.mark.parametrize(
    "forms",
    [
        "hold holds held held holding",
        "stop stops stopped stopped stopping",
        "visit visits visited visited visiting",
        "try tries tried tried trying",
        "play plays played played playing",
        "see sees saw seen seeing",
        "bake bakes baked baked baking",
        "fix fixes fixed fixed fixing",
        "go goes went gone going",
        "have has had had having",
    ],
)
def test_verb_forms(forms: str) -> None:
    assert " ".join(ENGLISH.verb(forms.split()[0])) == forms


def test_phrases_inflect_their_head() -> None:
    assert ENGLISH.verb("carry out").did == "carried out"
    assert ENGLISH.plural("head of state") == "heads of state"
    assert ENGLISH.plural("plane ticket") == "plane tickets"
    assert ENGLISH.plural("chairman") == "chairmen"
    assert [ENGLISH.plural(w) for w in ("city", "day", "match", "child")] == [
        "cities",
        "days",
        "matches",
        "children",
    ]


def test_comparatives() -> None:
    expected = {"big": "bigger", "large": "larger", "busy": "busier", "good": "better"}
    assert {word: ENGLISH.comparative(word) for word in expected} == expected
    assert ENGLISH.comparative("useful") == "more useful"
    assert English({}, {}, {}).comparative("good") == "gooder"  # the table makes the difference


@pytest.mark.parametrize(
    ("tense", "be", "agreement", "question", "expected"),
    [
        ("did", False, "s", False, ("", "", "did")),
        ("did", False, "s", True, ("did", "", "do")),
        ("did", True, "p", True, ("were", "", "")),
        ("did", True, "i", False, ("was", "", "")),
        ("does", False, "s", False, ("", "", "does")),
        ("does", False, "p", False, ("", "", "do")),
        ("does", False, "p", True, ("do", "", "do")),
        ("does", True, "i", False, ("am", "", "")),
        ("does not do", False, "s", False, ("does", "not", "do")),
        ("does not do", True, "p", False, ("are", "not", "")),
        ("has already done", False, "p", False, ("have", "already", "done")),
        ("is doing", False, "i", False, ("am", "", "doing")),
        ("is going to do", True, "p", True, ("are", "going to", "do")),
        ("will do", True, "s", False, ("will", "", "do")),
        ("wants to do", False, "s", False, ("", "wants to", "do")),
        ("wants to do", False, "p", False, ("", "want to", "do")),
        ("wants to do", False, "s", True, ("does", "want to", "do")),
        ("has to do", False, "s", True, ("does", "have to", "do")),
        ("has to do", False, "p", False, ("", "have to", "do")),
    ],
)
def test_verb_groups(
    tense: str, be: bool, agreement: str, question: bool, expected: tuple[str, str, str]
) -> None:
    assert verb_group(tense, be, agreement, question) == expected


def test_articles() -> None:
    text = "a apple , a useful hour , a hour , a one-way ticket , a European , a American , a user"
    assert articles(text) == (
        "an apple , a useful hour , an hour , a one-way ticket , a European , an American , a user"
    )


def test_numerals() -> None:
    numbers = {
        3: "san", 10: "shi", 12: "shier", 20: "ershi", 105: "yibailingwu", 350: "sanbaiwushi",
        1001: "yiqianlingyi", 20_000: "erwan", 3_000_000: "sanbaiwan", 10_005: "yiwanlingwu",
    }  # fmt: skip
    assert {n: numeral(n) for n in numbers} == numbers
    assert len({numeral(n) for n in range(100_000)}) == 100_000
    assert number_words(3) == ["three", "3"]
    assert number_words(45_000) == ["45,000"]
    assert number_words(2_300_000)[0] == "2.3 million"
    assert expand("{2..3} tian qian", "{} days ago") == [
        ("liang tian qian", "two days ago"),
        ("san tian qian", "three days ago"),
    ]


def test_tables_pick_by_weight() -> None:
    table = Table([("a", 3.0), ("never", 0.0), ("b", 1.0)])
    assert [table.pick(u) for u in (0.0, 0.7, 0.76, 0.999999999)] == ["a", "a", "b", "b"]
