"""Byte-pair encoding: merges, words to pieces and back, the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopefear.base.errors import InputError
from hopefear.text.subwords import Subwords

# The example of the paper.
COUNTS = Counter({"low": 5, "lower": 2, "newest": 6, "widest": 3})


def test_the_example_of_the_paper() -> None:
    merges = Subwords.learn(COUNTS, 4).merges
    # "es" and "est" of the paper, where the end of the word is a symbol of its own.
    assert merges[:2] == [("s", "t</w>"), ("e", "st</w>")]
    assert ("l", "o") in merges


def test_split_and_join() -> None:
    subwords = Subwords.learn(COUNTS, 10)
    pieces = subwords.split(["lowest", "low", "ñ"])
    assert pieces == ["lo@@", "west", "low", "ñ"]
    assert subwords.join(pieces) == ["lowest", "low", "ñ"]


def test_frequent_words_stay_whole_and_rare_ones_are_split() -> None:
    subwords = Subwords.learn(COUNTS, 1000)
    assert subwords.split(["newest", "low"]) == ["newest", "low"]
    assert len(subwords.merges) < 1000  # pairs that occur once are not merged


def test_an_unfinished_word_at_the_end_is_a_word() -> None:
    assert Subwords.join(["a", "b@@"]) == ["a", "b"]
    assert Subwords.join(["a@@", "b@@", "c", "d"]) == ["abc", "d"]


@given(st.lists(st.text(st.characters(exclude_characters="@ "), min_size=1)), st.integers(0, 50))
def test_round_trip(words: list[str], merges: int) -> None:
    subwords = Subwords.learn(Counter(words), merges)
    assert subwords.join(subwords.split(words)) == words
    assert len(subwords.merges) <= merges


def test_the_order_of_the_words_does_not_matter() -> None:
    counts = Counter(["the", "cat", "sat", "on", "the", "mat", "with", "that", "hat"])
    backwards = Counter(dict(reversed(list(counts.items()))))
    assert Subwords.learn(counts, 20) == Subwords.learn(backwards, 20)


def test_the_file_is_that_of_subword_nmt(tmp_path: Path) -> None:
    subwords = Subwords.learn(COUNTS, 4)
    subwords.save(tmp_path / "codes")
    lines = (tmp_path / "codes").read_text().splitlines()
    assert lines[:2] == ["#version: 0.2", "s t</w>"]
    assert Subwords.load(tmp_path / "codes") == subwords


@pytest.mark.parametrize(
    ("text", "place"), [("", "codes:1"), ("a b\n", "codes:1"), ("#version: 0.2\na\n", "codes:2")]
)
def test_a_damaged_file(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "codes").write_text(text)
    with pytest.raises(InputError, match=f"{place}.*hopefear train"):
        Subwords.load(tmp_path / "codes")
