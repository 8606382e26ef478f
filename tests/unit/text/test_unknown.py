"""Unknown words: similar words, and which words are dropped."""

from __future__ import annotations

import pytest

from hopefear.text.unknown import Unknown, UnknownWords, is_name_or_number

KNOWN = ["pes", "psovi", "hrají", "hrajeme", "Karel", "Karlovi", "kniha", "كتاب", "30", ".", "x"]


def replaced(
    treatment: Unknown, sentence: list[str], known: dict[str, float] | None = None
) -> list[str]:
    known = known or dict.fromkeys(KNOWN, 1.0)
    covered = {at for at, word in enumerate(sentence) if word in known}
    return UnknownWords(known, treatment).replace(sentence, covered)


def test_another_form_of_a_known_word() -> None:
    assert replaced("similar", ["knihami", "kniha", "."]) == ["kniha", "kniha", "."]


def test_prefixes_as_well_as_suffixes() -> None:
    assert replaced("similar", ["والكتاب"]) == ["كتاب"]


@pytest.mark.parametrize("word", ["auto", "kn", "knedlík", "31", "v5", "?", "", "😀", "kn-iha"])
def test_words_without_a_similar_one_stay(word: str) -> None:
    assert replaced("similar", [word]) == [word]


def test_a_name_is_replaced_only_by_a_form_of_itself() -> None:
    assert replaced("similar", ["Karlovic"]) == ["Karlovi"]
    assert replaced("similar", ["Karolína"]) == ["Karolína"]  # of others half is enough
    assert replaced("similar", ["Kniha"]) == ["Kniha"]


def test_equally_similar_words_go_by_count_then_by_spelling() -> None:
    counts = {"domem": 1.0, "domek": 1.0}
    assert replaced("similar", ["domeš"], counts) == ["domek"]
    assert replaced("similar", ["domeš"], {**counts, "domem": 2.0}) == ["domem"]


def test_the_order_of_the_known_words_does_not_matter() -> None:
    unknown = [word[:-1] + "ou" for word in KNOWN if len(word) > 3]
    results = [
        replaced("similar", unknown, dict.fromkeys(order, 1.0)) for order in (KNOWN, KNOWN[::-1])
    ]
    assert results[0] == results[1]


def test_drop_keeps_names_and_numbers() -> None:
    source = ["pes", "zvíře", "Brno", "1999", "3b", "!", "x", ".", ""]
    assert replaced("drop", source) == ["pes", "Brno", "1999", "3b", "!", "x", ".", ""]


def test_copy_changes_nothing() -> None:
    assert replaced("copy", ["zvíře"]) == ["zvíře"]


def test_names_and_numbers() -> None:
    assert all(map(is_name_or_number, ["Brno", "B2", "2", "-", "'Tis", "IBM"]))
    assert not any(map(is_name_or_number, ["iPhone", "بيت", "word"]))


def test_parts_of_known_phrases_stay() -> None:
    unknown = UnknownWords(dict.fromkeys(KNOWN, 1.0), "drop")
    assert unknown.replace(["a", "b", "c"], {1}) == ["b"]
