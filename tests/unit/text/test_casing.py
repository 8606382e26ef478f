"""Usual forms of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.text.casing import Casing, capitalize, lower

TEXT = """
The man saw the dog in Paris .
The dog said : The end . The cat saw Paris and the McDonald .
Paris is where I saw him , and I the dog .
He said , " Let it be " and left .
""".strip()


@pytest.fixture
def casing() -> Casing:
    return Casing.learn([line.split() for line in TEXT.split("\n")], "en")


def test_only_informative_positions_count(casing: Casing) -> None:
    assert casing.forms["the"] == "the"
    assert casing.forms["paris"] == "Paris"
    assert casing.forms["i"] == "I"
    assert casing.forms["mcdonald"] == "McDonald"
    assert "let" not in casing.forms  # seen after a quotation mark only
    assert "." not in casing.forms
    assert casing.counts["paris"] == (2, 2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The dog . Paris : The X", "the dog . Paris : the X"),
        ("Unknown is The", "Unknown is The"),
        ("THE DOG IN PARIS", "the dog in Paris"),
        ("", ""),
    ],
)
def test_truecase(casing: Casing, words: str, expected: str) -> None:
    assert " ".join(casing.truecase(words.split())) == expected


def test_restore(casing: Casing) -> None:
    recased = casing.recase(['"', "the", "dog", "saw", "paris", ".", "i", "do"])
    assert " ".join(casing.capitalize_sentences(recased)) == '" The dog saw Paris . I do'
    assert casing.capitalize_sentences(["3", "dogs"]) == ["3", "dogs"]
    assert casing.capitalize_sentences(["...", "dogs"]) == ["...", "Dogs"]


def test_text_without_capitals_stays_so() -> None:
    casing = Casing.learn([["sí", "claro"], ["no", "sé"]], "es")
    assert casing.capitalize_sentences(["sí", "."]) == ["sí", "."]


def test_ties_are_decided_the_same_way() -> None:
    sentences = [["x", "US", "us"], ["x", "b", "Bb", "BB"]]
    for order in (sentences, sentences[::-1]):
        forms = Casing.learn(order, "en").forms
        assert (forms["us"], forms["bb"]) == ("us", "BB")


def test_turkish_and_odd_letters() -> None:
    assert lower("IĞDIR İL", "tr") == "ığdır il"
    assert lower("IL", "en") == "il"
    assert capitalize("istanbul", "tr") == "İstanbul"
    assert capitalize("'tis", "en") == "'Tis"
    assert capitalize("l'", "fr") == "L'"
    assert capitalize("ßx", "de") == "ßx"
    assert capitalize("µm", "de") == "µm"  # its capital is that of another letter
    assert capitalize("ǆep", "hr") == "ǅep"
    assert capitalize("3rd", "en") == "3rd"


def test_save_and_load(casing: Casing, tmp_path: Path) -> None:
    path = tmp_path / "casing.tsv"
    casing.save(path)
    first = path.read_bytes()
    loaded = Casing.load(path)
    assert loaded == casing
    loaded.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ":1: expected '# hopefear casing 1'"),
        ("the\tthe\t1\t1\n", ":1: expected"),
        ("# hopefear casing 2\tlanguage=en\tstarts=upper\n", ":1: expected"),
        ("# hopefear casing 1\tlanguage=en\tstarts=upper\nthe\tThe\t1\n", ":2: expected word"),
        ("# hopefear casing 1\tlanguage=en\tstarts=upper\na\tA\tx\t1\n", ":2: expected word"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "c.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match="c.tsv" + place):
        Casing.load(path)


def test_addresses_get_no_capital() -> None:
    casing = Casing("en", True)
    for words in (["https://a.org", "is", "down"], ["me@a.org", "is", "mine"]):
        assert casing.capitalize_sentences(words) == words
