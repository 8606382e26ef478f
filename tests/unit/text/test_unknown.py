"""Unknown words: similar words, and which words are dropped."""

from __future__ import annotations

import pytest

from hopefear.text.unknown import UnknownWords, is_name_or_number

KNOWN = ["pes", "psovi", "hrají", "hrajeme", "Karel", "Karlovi", "kniha", "كتاب", "30", ".", "x"]


def words(treatment: str, counts: dict[str, float] | None = None) -> UnknownWords:
    return UnknownWords(KNOWN, lambda word: (counts or {}).get(word, 1.0), treatment)  # type: ignore[arg-type]


def test_another_form_of_a_known_word() -> None:
    assert words("similar").replace(["knihami", "kniha", "."]) == ["kniha", "kniha", "."]


def test_prefixes_as_well_as_suffixes() -> None:
    assert words("similar").replace(["والكتاب"]) == ["كتاب"]


@pytest.mark.parametrize("word", ["auto", "kn", "nihaoma", "31", "v5", "?", "", "😀", "kn-iha"])
def test_words_without_a_similar_one_stay(word: str) -> None:
    assert words("similar").replace([word]) == [word]


def test_a_name_is_replaced_only_by_a_form_of_itself() -> None:
    similar = words("similar")
    assert similar.replace(["Karlovic"]) == ["Karlovi"]
    assert similar.replace(["Karolína"]) == ["Karolína"]  # half of it would be enough for others
    assert similar.replace(["Kniha"]) == ["Kniha"]


def test_equally_similar_words_go_by_count_then_by_spelling() -> None:
    known = ["domem", "domek"]
    assert UnknownWords(known, lambda word: 1.0, "similar").replace(["domeš"]) == ["domek"]
    counts = {"domem": 2.0, "domek": 1.0}
    assert UnknownWords(known, counts.__getitem__, "similar").replace(["domeš"]) == ["domem"]


def test_the_order_of_the_known_words_does_not_matter() -> None:
    unknown = [a[:-1] + "ou" for a in KNOWN if len(a) > 3]
    results = {
        tuple(UnknownWords(order, lambda word: 1.0, "similar").replace(unknown))
        for order in (KNOWN, KNOWN[::-1])
    }
    assert len(results) == 1


def test_drop_keeps_names_and_numbers() -> None:
    source = ["pes", "zvíře", "Brno", "1999", "3b", "!", "x", ".", ""]
    assert words("drop").replace(source) == ["pes", "Brno", "1999", "3b", "!", "x", ".", ""]


def test_copy_changes_nothing() -> None:
    assert words("copy").replace(["zvíře"]) == ["zvíře"]


def test_names_and_numbers() -> None:
    assert all(map(is_name_or_number, ["Brno", "B2", "2", "-", "'Tis", "IBM"]))
    assert not any(map(is_name_or_number, ["iPhone", "بيت", "word"]))
