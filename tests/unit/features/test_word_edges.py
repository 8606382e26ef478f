"""WordEdges: the built-in list, malformed combinations, word classes, and types of words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hopefear._engine import word_type

from hopefear.base.errors import InputError, OptionError
from hopefear.features.feature import make_feature, parse_templates
from hopefear.features.sparse.word_edges import (
    BUDGETS,
    EDGES,
    WordEdges,
    combinations,
    parse_combination,
)
from hopefear.features.word_classes import SideClasses, WordClasses, read_lexicon
from hopefear.features.word_lists import WordLists

CLUSTERED = SideClasses({"a": "01"}, {})


def test_the_built_in_list_is_within_the_budget() -> None:
    given = list(combinations())
    assert len(set(given)) == len(given)
    assert 50 <= len(given) <= 150
    for text in given:
        parse_combination(text)
        spent = [BUDGETS[part.split(".")[1]] for part in text.split("+") if part != "len"]
        assert sum(spent) <= 10
    # Every edge at each of its levels.
    used = {part for text in given for part in text.split("+")}
    assert {f"{edge}.{level}" for edge in EDGES[:-1] for level in "wb6t"} <= used
    assert {"s0.c", "s0.y", "s0.4", "t0.4", "len"} <= used


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s2.w", "'s2.w' is not an edge"),
        ("s0", "'s0' is not an edge with a level"),
        ("len.w", "'len.w' is not an edge"),
        ("t0.c", "source words only"),
        ("s0.w+s0.b", "an edge twice"),
        ("", "is not an edge"),
    ],
)
def test_malformed_combinations(text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_combination(text)
    assert message in str(caught.value)


def test_a_list_in_the_options(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("# mine\ns0.w+t0.w\n\nlen+s1.b\ns0.w+t0.w\n", encoding="utf-8")
    feature = make_feature("word-edges", {"file": str(path)})
    assert isinstance(feature, WordEdges)
    assert feature.combinations() == ["s0.w+t0.w", "len+s1.b"]
    assert make_feature("word-edges", {"file": str(path), "levels": "b"}).combinations() == [  # type: ignore[attr-defined]
        "len+s1.b"
    ]
    path.write_text("s0.w+t0.w+t1.b\n", encoding="utf-8")
    with pytest.raises(OptionError, match="costs 13"):
        feature.combinations()
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="mine: no combinations"):
        feature.combinations()
    with pytest.raises(OptionError, match="levels=q"):
        WordEdges(levels="q").combinations()


def test_the_content_of_a_file_replaces_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("s0.w+t0.w\n", encoding="utf-8")
    given = {"file": "mine", "levels": "wb"}
    expected = {"list": ["s0.w+t0.w"], "levels": "wb"}
    assert WordEdges.inline_files(given, tmp_path) == expected
    text = f"word-edges:file={tmp_path / 'mine'}:levels=wb"
    assert parse_templates([text], {"word-edges": {"budget": 8}}) == {
        "word-edges": {**expected, "budget": 8}
    }
    (in_place,) = parse_templates(["word-edges:list=s0.w+t0.w,len+s1.b"], {}).values()
    assert make_feature("word-edges", in_place).combinations() == ["s0.w+t0.w", "len+s1.b"]  # type: ignore[attr-defined]
    with pytest.raises(OptionError, match="file and list are both given"):
        parse_templates([text + ":list=len+s1.b"], {})


def test_a_smaller_budget_selects_fewer_combinations() -> None:
    cheap = WordEdges(budget=4).combinations()
    assert cheap
    assert "s0.6+t0.6" in cheap
    assert "s0.w" not in cheap
    assert len(cheap) < len(WordEdges(budget=9).combinations()) < len(list(combinations()))
    assert WordEdges(levels="64", budget=8).combinations()
    with pytest.raises(OptionError, match="costs 10, more than the budget of 9"):
        WordEdges(list_=["s0.w+t0.w"], budget=9).combinations()
    with pytest.raises(OptionError, match="levels w only and costs at most 4"):
        WordEdges(levels="w", budget=4).combinations()


def test_a_model_without_clusters_is_an_error() -> None:
    lists = WordLists(classes=WordClasses(CLUSTERED, place="model"))
    with pytest.raises(InputError, match=r"model: has no target clusters.*--clusters 200"):
        WordEdges().make(lists)
    WordEdges(levels="wcy").make(lists)
    # Combinations with tags do not fire in a model without tags.
    lists = WordLists(classes=WordClasses(CLUSTERED, CLUSTERED, place="model"))
    WordEdges().make(lists)
    # They are an error if tags were requested.
    for asking in (WordEdges(levels="t"), WordEdges(list_=["s0.w+t0.w", "t0.t"])):
        with pytest.raises(InputError, match=r"^model: has no (source|target) tags"):
            asking.make(lists)
    tagger = WordClasses(CLUSTERED, CLUSTERED, tagger=True)
    WordEdges(levels="t").make(WordLists(classes=tagger))


def test_classes_are_saved_and_loaded(tmp_path: Path) -> None:
    classes = WordClasses(
        SideClasses({"a": "01", "č": "1"}, {"b": "N"}), SideClasses({"x": "0"}, {"x": "V"})
    )
    classes.save(tmp_path / "classes")
    loaded = WordClasses.load(tmp_path / "classes")
    assert (loaded.source, loaded.target) == (classes.source, classes.target)
    (tmp_path / "classes").write_text("source\ta\t01\n", encoding="utf-8")
    with pytest.raises(InputError, match="classes:1: found"):
        WordClasses.load(tmp_path / "classes")


@pytest.mark.parametrize("text", ["a N\n", "a\t\n", "a\tN M\n", "a\tN\na\tV\n", ""])
def test_malformed_lexicons(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lexicon"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="lexicon"):
        read_lexicon(path)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("3", "digits"),
        ("1,000.5", "digits"),
        ("１２", "digits"),
        ("ok", "letters"),
        ("far-away", "letters"),
        (".", "punctuation"),
        ("《", "punctuation"),
        ("。", "punctuation"),
        ("房子", "other"),
        ("b2", "other"),
        ("é", "other"),
    ],
)
def test_types(word: str, expected: str) -> None:
    assert word_type(word) == expected
